//! Causal path analysis: from the message trace alone to the links between messages ([`infer`]),
//! the path instances they make, and the path patterns of which those are examples ([`paths`]).
//!
//! [`analyze`] is the whole of it: name the nodes at the chosen grain ([`naming`]), infer the links
//! by the chosen algorithm, build the trees, aggregate them. It leaves the result in the data
//! directory. All of it is done stretch by stretch ([`stretches`]), so that memory does not grow
//! with the trace.

mod analysis;
pub mod calls;
mod doubts;
mod evidence;
#[cfg(test)]
mod fixture;
pub mod infer;
pub mod naming;
mod one_sided;
mod options;
pub mod paths;
mod stretches;
pub mod system_map;

pub use analysis::{AnalysisSummary, Totals, analyze};
pub use doubts::{Doubt, DoubtCause};
pub use evidence::Evidence;
pub use one_sided::{MissingEnd, OneSided, one_sided};
#[doc(hidden)]
pub use options::Pieces;
pub use options::{Algorithm, ConvolutionOptions, NestingOptions, Options, Resources};
