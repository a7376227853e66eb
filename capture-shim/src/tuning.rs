//! Tuned figures.

/// x
pub(crate) const LEAVINGS: usize = 64;
/// x
pub(crate) const SEGMENTS: usize = 2048;
/// x
pub(crate) const RETIRED: usize = 4;

/// x
pub(crate) const SPARE_CHUNKS: usize = 4;
