//! What the formats of patterns share: the choice of patterns.

mod choice;

pub(crate) use choice::{one_pattern, read_patterns};
