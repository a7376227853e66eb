#![doc = include_str!("../README.md")]

pub mod analysis;
pub mod category;
mod collect;
mod comparison;
pub mod conditions;
mod critical_path;
mod exclusive_times;
pub mod explanation;
pub mod mutations;
mod observations;
mod options;
pub mod output;
mod overall;
mod period;
mod period_windows;
pub mod request_kinds;
pub mod shares;
pub mod sites;
pub mod statistics;
pub mod suspects;
mod tuning;
mod warnings;
mod wording;

pub use collect::PeriodTotals;
pub use comparison::{Comparison, compare_periods};
pub use options::{Ablation, Options};
pub use overall::{OverallChange, QUANTILES};
pub use period::{Period, PeriodSide};
