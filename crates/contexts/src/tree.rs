//! The calling-context tree (section 4): what the timing model is made of.
//!
//! ```text
//! root: all executions
//!   operation
//!     caller-context
//!       stack-context
//!         trace-context
//! ```
//!
//! Three operators, a file each, make the tree smaller (4.3) until none applies:
//!
//! | operator | a leaf that |
//! |---|---|
//! | [`remove`] | has no siblings is removed |
//! | [`merge`] | is distributed much like a sibling is merged with it |
//! | [`link`] | has too few response times is linked to an ancestor that has enough |
//!
//! The leaves that are left are the timing model ([`build_model()`]). In whatever order the
//! operators are applied, the same model comes out (docs/decisions/0701).

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
