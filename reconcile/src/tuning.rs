//! The tuned figures of this crate.

/// Number of imported messages that are handed on at once.
pub(crate) const IMPORTED_BLOCK_ROWS: usize = 64 << 10;
