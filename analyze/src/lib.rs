#![doc = include_str!("../README.md")]

mod analysis;
pub mod calls;
mod doubts;
mod evidence;
#[cfg(test)]
mod fixture;
mod handoffs;
pub mod infer;
mod links;
pub mod naming;
mod one_sided;
mod options;
pub mod paths;
mod receipt;
mod stretches;
pub mod system_map;
mod tuning;

pub use analysis::{AnalysisSummary, Totals, analyze, analyze_by};
pub use doubts::{Doubt, DoubtCause};
pub use evidence::Evidence;
pub use handoffs::Handoff;
pub use infer::ALGORITHMS;
pub use one_sided::{MissingEnd, OneSided, one_sided};
#[doc(hidden)]
pub use options::Pieces;
pub use options::{Algorithm, ConvolutionOptions, NestingOptions, Options, Resources};
pub use stretches::tell;
