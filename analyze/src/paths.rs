//! Path instances and path patterns: the trees that links make, and what they have in common.

mod pattern;

pub use pattern::{Hop, PathPattern};
