//! The calling-context tree (trace-context profiling, section 4), from which the timing model is
//! pruned.
//!
//! ```text
//! root: all executions
//!   operation
//!     caller-context
//!       stack-context
//!         trace-context
//! ```
//!
//! Three operators, one per file, make the tree smaller (4.3) until none applies:
//!
//! | operator | a leaf that |
//! |---|---|
//! | [`remove`] | has no siblings is removed |
//! | [`merge`] | has a distribution similar to a sibling's is merged with it |
//! | [`link`] | has too few response times is linked to an ancestor that has enough |
//!
//! The remaining leaves are the timing model ([`build_model()`]). The model does not depend on the
//! order in which the operators are applied (docs/decisions/0701).

mod context_tree;
mod fixpoint;
mod link;
mod merge;
mod model;
mod remove;
mod similarity;
mod timing_model;

pub use model::build_model;
pub use timing_model::{LeafKind, ModelLeaf, ModelOptions, TimingModel};
