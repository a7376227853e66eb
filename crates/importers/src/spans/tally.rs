//! Tally: what became of the spans that were read. Each thread has its own, and they are put
//! together in the order of the files.

use crate::summary::{Skip, Skipped, Summary};

/// What became of some spans.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Spans that were read, those that were skipped among them.
    pub(super) read: u64,
    /// Spans that are kept.
    pub(super) kept: u64,
    skipped: Skipped,
}

impl Tally {
    /// A span is passed over.
    pub(crate) fn skip(&mut self, cause: &'static str, skip: impl FnOnce() -> Skip) {
        self.read += 1;
        self.skipped.add(cause, skip);
    }

    /// Counts something that is passed over, whose number of spans nobody knows, such as the rest
    /// of a damaged file.
    pub(crate) fn damage(&mut self, cause: &'static str, skip: impl FnOnce() -> Skip) {
        self.skipped.add(cause, skip);
    }

    /// A span is kept.
    pub(super) fn keep(&mut self) {
        self.read += 1;
        self.kept += 1;
    }

    /// Counts in `summary` what is counted here.
    pub(super) fn tell(self, summary: &mut Summary) {
        summary.read += self.read;
        summary.skipped.append(self.skipped);
    }
}
