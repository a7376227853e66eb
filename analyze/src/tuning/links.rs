//! Tuned figures of links and their table.

/// The table of links.
pub(crate) mod writer {
    /// Number of children with rows that are encoded together.
    pub(crate) const CHILDREN_AT_ONCE: usize = 32 * 1024;
    /// Number of rows that are put into columns at a time: few enough to stay in the processor's
    /// cache.
    pub(crate) const ROWS_AT_ONCE: usize = 4096;
}

/// Links from the requests of calls.
pub(crate) mod call_links {
    /// Smallest probability that makes a link.
    pub(crate) const MIN_PROBABILITY: f64 = 0.005;
    /// Maximum number of possible parents of a message; the least likely are dropped.
    pub(crate) const MAX_PARENTS: usize = 5;
    /// Number of last calls of a request among which the last response is sought.
    pub(crate) const CALLS_BACK: usize = 64;
}
