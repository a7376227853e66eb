//! Outputs for other programs: tables of contexts and of instrumentations, and the calling-context
//! tree as a graph.

mod dot;
mod instrumentations;
mod table;

pub use dot::write as write_dot;
pub use instrumentations::batch as instrumentations;
pub use table::batch as contexts;
