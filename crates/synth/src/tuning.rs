//! Tuned figures of this crate.

/// Maximum number of messages of a trace. All messages are in memory, and more of them are a
/// mistake in a configuration.
pub(crate) const MAX_MESSAGES: u64 = 1 << 27;

/// Number of the most probable trees of a root that are compared with the true one (top-5 trace
/// accuracy).
pub(crate) const LIKELY_TREES: usize = 5;

/// Greatest N of top-N omission.
pub(crate) const MAX_TOP_N: usize = 100;

/// Number of roots that a thread processes at a time. Chosen, not measured.
pub(crate) const ROOTS_AT_ONCE: usize = 64;

/// Maximum number of assignments that are tried for a root, as many may make the same tree. Chosen,
/// not measured.
pub(crate) const MAX_TRIED_ASSIGNMENTS: usize = 256;

/// Maximum number of alternatives of all calls around a root; the cheapest are used. Chosen, not
/// measured.
pub(crate) const MAX_ALTERNATIVES: usize = 64;

/// Maximum number of executions of generated operations. More are a mistake in a configuration.
pub(crate) const MAX_EXECUTIONS: u64 = 1 << 32;

/// Maximum depth of the stacks of generated operations.
pub(crate) const MAX_STACK: usize = 12;

/// Exponent of the frequencies of generated classes: the n-th most frequent class has n^-exponent
/// times as many requests as the most frequent one.
pub(crate) const CLASS_EXPONENT: f64 = 0.8;

/// Number of generated operations on one node.
pub(crate) const OPERATIONS_PER_NODE: usize = 8;
