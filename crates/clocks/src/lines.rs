//! One line for each piece of each clock, from the differences of all pairs.
//!
//! `attribution` says which clock of a pair was set, `pieces` what that makes of its times, `graph`
//! gives each piece a first line along a tree, `refine` makes it explain all messages, and
//! `uncertainty` says how far it may be off. `solve` does these in order.

mod attribution;
mod graph;
pub(crate) mod pieces;
mod refine;
pub(crate) mod solve;
mod uncertainty;
