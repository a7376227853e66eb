#![doc = include_str!("../README.md")]

mod analysis;
mod batches;
mod call_evidence;
pub mod calls;
mod evidence;
mod evidence_tally;
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
pub mod system_map;
mod tuning;
mod warnings;

pub use analysis::{AnalysisSummary, AnalysisTotals, analyze, analyze_by};
pub use batches::attach_operations;
pub use call_evidence::{CallEvidence, EvidenceCounts, ServiceEvidence};
pub use evidence::Evidence;
pub use handoffs::Handoff;
pub use infer::ALGORITHMS;
pub use one_sided::{MissingEnd, OneSided, one_sided};
#[doc(hidden)]
pub use options::WorkDivision;
pub use options::{Algorithm, AnalysisResources, ConvolutionOptions, NestingOptions, Options};
pub use warnings::{PathWarning, WarningCause};
