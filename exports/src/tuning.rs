//! The tuned figures of this crate.

/// Maximum number of patterns in memory at once, unless the user asks for more: far more than
/// anybody looks at. Chosen, not measured.
pub(crate) const MAX_PATTERNS: usize = 10_000;

/// Maximum number of edges of a graph, unless the user asks for more: as many can still be drawn,
/// and seen. Chosen, not measured.
pub(crate) const MAX_EDGES: usize = 200;
