//! What the formats of patterns share: the choice of patterns ([`choice`]), and the calls of a
//! pattern ([`call_tree`]).

pub(crate) mod call_tree;
mod choice;

pub(crate) use choice::{one_pattern, patterns};
