//! Traces as dynamic call trees (section 3.1), and their classes: traces whose trees are equal.
//!
//! ```text
//! Request --call_tree--> CallNode of each step --canonical--> place of each step in its class
//! ```
//!
//! The paper leaves concurrent calls out (6.2). Here the calls of one step that overlap in time are
//! a group. Groups follow each other in their order; within a group it does not matter which call
//! came first, and equal calls have the same place, with the number of times they are made.
//! [`concurrency`] says which calls are concurrent although they do not overlap in every request.

mod call_tree;
mod canonical;
mod classes;
mod concurrency;
mod shapes;

pub use call_tree::{CallNode, DynamicCallTree, NO_PARENT};
pub use canonical::TreeCanonicalizer;
pub use classes::{PositionId, TraceClass, TraceClasses};
pub use concurrency::ConcurrencyByKind;
pub use shapes::ShapeId;
