//! What both forms of perf are asked for, and what they count.

use crate::summary::{Place, Skip, Summary};

/// Import of either form of perf.
#[derive(Clone, Debug)]
pub(super) struct Perf {
    pub(super) host: Option<String>,
    pub(super) offset: Option<i64>,
}

/// A skip of a record at that place.
pub(super) fn skip(
    summary: &mut Summary,
    cause: &'static str,
    place: impl FnOnce() -> Place,
    why: &str,
) {
    summary.skipped.add(cause, || Skip { place: place(), why: why.to_owned() });
}
