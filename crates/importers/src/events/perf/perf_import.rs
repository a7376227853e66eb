//! Options and skip counts that both forms of perf share.

use crate::summary::{FilePlace, ImportSummary, SkippedItem};

/// Import of either form of perf.
#[derive(Clone, Debug)]
pub(super) struct PerfImport {
    pub(super) host: Option<String>,
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
