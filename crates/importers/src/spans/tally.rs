//! Tally: what became of the spans that were read. Each thread has its own, and they are put
//! together in the order of the files.

use crate::summary::{ImportSummary, SkipCounts, SkippedItem};

/// What became of some spans.
#[derive(Debug, Default)]
pub(crate) struct SpanTally {
    /// Spans that were read, those that were skipped among them.
    pub(super) read: u64,
    /// Spans that are kept.
    pub(super) kept: u64,
    skipped: SkipCounts,
}

impl SpanTally {
    /// A span is passed over.
    pub(crate) fn count_skip(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.read += 1;
        self.skipped.add(cause, skip);
    }

    /// Counts something that is passed over, whose number of spans nobody knows, such as the rest
    /// of a damaged file.
    pub(crate) fn count_damage(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.skipped.add(cause, skip);
    }

    /// A span is kept.
    pub(super) fn count_kept(&mut self) {
        self.read += 1;
        self.kept += 1;
    }

    /// Counts in `summary` what is counted here.
    pub(super) fn add_to_summary(self, summary: &mut ImportSummary) {
        summary.read += self.read;
        summary.skipped.append(self.skipped);
    }
}
