#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod analysis;
pub mod category;
pub mod collect;
mod comparison;
pub mod conditions;
pub mod critical_path;
pub mod doubts;
pub mod exclusive_times;
pub mod explanation;
pub mod kinds;
pub mod mutations;
pub mod observations;
mod options;
pub mod output;
mod overall;
mod period;
pub mod shares;
pub mod sites;
pub mod statistics;
pub mod stretches;
pub mod suspects;
mod tuning;
mod wording;

pub use comparison::{Comparison, compare};
pub use options::{Ablation, Options};
pub use overall::{Overall, QUANTILES};
pub use period::{Period, Side};
