//! What the formats of patterns share: which patterns are written, and a pattern seen as calls.

pub(crate) mod call_tree;
mod choice;

pub(crate) use choice::{one_pattern, patterns};
