#![doc = include_str!("../README.md")]

pub mod analysis;
pub mod category;
mod collect;
mod comparison;
pub mod conditions;
mod critical_path;
mod doubts;
mod exclusive_times;
pub mod explanation;
pub mod kinds;
pub mod mutations;
mod observations;
mod options;
pub mod output;
mod overall;
mod period;
pub mod shares;
pub mod sites;
pub mod statistics;
mod stretches;
pub mod suspects;
mod tuning;
mod wording;

pub use collect::PeriodTotals;
pub use comparison::{Comparison, compare};
pub use options::{Ablation, Options};
pub use overall::{Overall, QUANTILES};
pub use period::{Period, Side};
