//! Tally of the spans that were read. Each thread has its own, and they are added in the order of
//! the files.

use crate::summary::{ImportSummary, SkipCounts, SkippedItem};

/// Counts of some spans.
#[derive(Debug, Default)]
pub(crate) struct SpanTally {
    /// Number of spans that were read, including skipped ones.
    pub(super) read: u64,
    /// Number of spans that are kept.
    pub(super) kept: u64,
    skipped: SkipCounts,
}

impl SpanTally {
    /// Counts a skipped span.
    pub(crate) fn count_skip(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.read += 1;
        self.skipped.add(cause, skip);
    }

    /// Counts a skipped part with an unknown number of spans, such as the rest of a damaged file.
    pub(crate) fn count_damage(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.skipped.add(cause, skip);
    }

    /// Counts a span that is kept.
    pub(super) fn count_kept(&mut self) {
        self.read += 1;
        self.kept += 1;
    }

    /// Adds these counts to `summary`.
    pub(super) fn add_to_summary(self, summary: &mut ImportSummary) {
        summary.read += self.read;
        summary.skipped.append(self.skipped);
    }
}
