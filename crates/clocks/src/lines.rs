//! One line for each piece of each clock, from the differences of all pairs.
//!
//! `attribution` decides which clock of a pair was set, `pieces` maps its times to pieces, `graph`
//! gives each piece a first line along a tree, `refine` makes it explain all messages, and
//! `uncertainty` bounds its error. `solve` does these in order.

mod attribution;
mod graph;
pub(crate) mod pieces;
mod refine;
pub(crate) mod solve;
mod uncertainty;
