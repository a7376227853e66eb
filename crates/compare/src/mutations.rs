//! Mutations: categories with changed response times or frequencies (Spectroscope, 4.2), and which
//! of them contribute most.

mod new_kinds;
mod originators;
mod ranking;
mod response_time;
mod structural;

pub use new_kinds::{KindChange, kind_changes, kind_tests};
pub use originators::{Originator, find_originators, first_divergence};
pub use ranking::{Mutation, MutationKind, rank_mutations};
pub(crate) use response_time::is_large_change;
pub use response_time::{HopChange, TimeChange, time_changes, time_tests};
pub use structural::{RateChange, rate_changes, rate_tests};
