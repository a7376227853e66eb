//! Tuned figures of the nesting algorithm.

/// Maximum number of open calls to a node; of more, the one that began first is given up.
pub(crate) const MAX_OPEN_CALLS: usize = 1024;
/// Maximum number of children that are counted; with more of them, a parent is as unlikely.
pub(crate) const MAX_CHILDREN: usize = 256;
/// Factor by which each bin is wider than the one before, as in Project 5.
pub(crate) const BIN_GROWTH: f64 = 1.05;
/// Width of the first bin, in nanoseconds.
pub(crate) const FIRST_BIN: i64 = 1000;
