//! Tuned figures of the nesting algorithm.

/// Maximum number of open calls to a node; beyond that, the one that began first is dropped.
pub(crate) const MAX_OPEN_CALLS: usize = 1024;
/// Maximum number of children that are counted; more of them do not make a parent less likely.
pub(crate) const MAX_CHILDREN: usize = 256;
/// Factor by which each bin is wider than the one before, as in Project 5.
pub(crate) const BIN_GROWTH: f64 = 1.05;
/// Width of the first bin, in nanoseconds.
pub(crate) const FIRST_BIN: i64 = 1000;
