#![doc = include_str!("../README.md")]

mod analysis;
pub mod collect;
pub mod equivalence;
pub mod explain;
pub mod identity;
pub mod instrumentation;
pub mod output;
pub mod profile;
pub mod result;
pub mod statistics;
mod summarise;
pub mod traces;
pub mod tree;
mod tuning;

pub use analysis::{ContextAnalysis, Options, analyze_contexts};
