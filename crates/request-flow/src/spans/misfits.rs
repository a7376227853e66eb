//! Misfits: counts of spans that could not be used as they were written.

/// Counts of spans that do not fit into their traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpanMisfits {
    /// Exact duplicates of earlier spans.
    pub(super) duplicates: u64,
    /// Reports of spans that were merged with others of the same span.
    pub(super) parts: u64,
    /// Spans that were each other's parents, or have a depth that skips one.
    pub(super) broken: u64,
    /// Spans that were left out because their trace has too many.
    pub(super) crowded_out: u64,
}
