//! The choice of patterns, shared by the formats of patterns.

mod choice;

pub(crate) use choice::{one_pattern, read_patterns};
