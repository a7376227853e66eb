//! Traces as dynamic call trees (trace-context profiling, section 3.1), and their classes: traces
//! with equal trees.
//!
//! ```text
//! Request --call_tree--> CallNode of each step --canonical--> place of each step in its class
//! ```
//!
//! The paper omits concurrent calls (6.2). Here the calls of one step that overlap in time form a
//! group. Groups are ordered; within a group the order of calls does not matter, and equal calls
//! become one node, with the number of times they are made. [`concurrency`] finds calls that are
//! concurrent although they do not overlap in every request.

mod call_tree;
mod canonical;
mod classes;
mod concurrency;
mod shapes;

pub use call_tree::{CallNode, DynamicCallTree, TreePlace};
pub use canonical::TreeCanonicalizer;
pub use classes::{PositionId, TraceClass, TraceClasses};
pub use concurrency::ConcurrencyByKind;
pub use shapes::ShapeId;
