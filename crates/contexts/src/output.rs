//! Outputs for other programs: tables of contexts and of instrumentations, and the calling-context
//! tree as a graph.

mod dot;
mod instrumentations;
mod table;

pub use dot::write_dot_tree as write_dot;
pub use instrumentations::instrumentation_batch as instrumentations;
pub use table::context_batch as contexts;
