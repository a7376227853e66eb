//! Options and skip counts that `perf.data` and the text of `perf script` share.

use crate::summary::{FilePlace, ImportSummary, SkippedItem};

/// Import of `perf.data` or of the text of `perf script`.
#[derive(Clone, Debug)]
pub(super) struct PerfImport {
    /// Host of the events, as given by the user.
    pub(super) host: Option<String>,
    /// Offset that is added to times, in nanoseconds, as given by the user.
    pub(super) offset: Option<i64>,
}

/// Counts a record as skipped, with its place.
pub(super) fn skip_record(
    summary: &mut ImportSummary,
    cause: &'static str,
    place: impl FnOnce() -> FilePlace,
    why: &str,
) {
    summary.skipped.add(cause, || SkippedItem { place: place(), why: why.to_owned() });
}
