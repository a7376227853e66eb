//! Tuned figures of batches, path instances and path patterns.

/// Batches of a trace (docs/decisions/0405).
pub(crate) mod batches {
    /// Length of a batch relative to the number of messages visible before and after it.
    pub(crate) const AROUND_DIVISOR: usize = 4;
}

/// Aggregation of patterns.
pub(crate) mod aggregate {
    /// Size of a block of patterns, in bytes.
    pub(crate) const BLOCK_BYTES: usize = 256 << 10;
}

/// Rows of patterns under construction.
pub(crate) mod rows {
    /// Number of rows that are put into columns at a time: few enough to stay in the processor's
    /// cache.
    pub(crate) const ROWS_AT_ONCE: usize = 4096;
}

/// Rows of paths under construction.
pub(crate) mod path_log {
    /// Size of a block of instances, in bytes.
    pub(crate) const BLOCK_BYTES: usize = 256 << 10;
    /// Number of rows that are put into columns at a time: few enough to stay in the processor's
    /// cache.
    pub(crate) const ROWS_AT_ONCE: usize = 4096;
}

/// Calls of paths.
pub(crate) mod call_tree {
    /// Maximum number of causes of a message that are searched for the request that it answers.
    pub(crate) const MAX_CAUSES: usize = 1024;
}

/// Path instances.
pub(crate) mod tree {
    /// Smallest probability of an instance that is kept, unless it is the likeliest of its root.
    /// Measured in docs/decisions/0425: 27,610 patterns remain of 76,172, with 34,527.7 of 34,535.6
    /// expected instances.
    pub(crate) const MIN_PROBABILITY: f64 = 0.001;
}

/// Names of operations in paths.
pub(crate) mod operations {
    /// The number of different names in a trace that are distinguished, including [`OTHER`], which
    /// stands for all further ones. With 60 bytes each they take 10 MB.
    pub(crate) const MAX_NAMES: usize = 65_536;
    /// The number of different operations of one hop (sender, receiver, ports) that are
    /// distinguished; the others are [`OTHER`]. Systems have some hundred routes; a scan of a
    /// server for files that it does not have asks for thousands, and each would be a separate
    /// pattern.
    pub(crate) const MAX_OF_HOP: usize = 1_000;
    /// The name of operations beyond the bounds. No operation has this name.
    pub(crate) const OTHER: &str = "(other)";
}
