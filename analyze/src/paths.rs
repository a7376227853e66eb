//! Path instances and path patterns: the trees that links make, and what they have in common (step 3 of WAP5
//! section 5.1). Links to parents are turned into links to children ([`children`]), each of which is taken, left out
//! or tried both ways ([`decision`]); the trees that follow ([`tree`]) are the [`instances`], and those of the same
//! shape are a pattern ([`mod@aggregate`]).

mod aggregate;
mod children;
mod decision;
mod instances;
mod pattern;
mod pattern_table;
mod tree;

pub use instances::{Instance, Instances};
pub use pattern::{Hop, PathPattern};

pub(crate) use aggregate::aggregate;
pub(crate) use tree::build;
