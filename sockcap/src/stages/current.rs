//! Whether a result is as new as its inputs.

use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use message_trace::{DataDir, DataPath};

/// Whether the file at `path` was written after `than`.
pub(super) fn is_newer(path: &DataPath, than: Option<SystemTime>) -> bool {
    DataDir::modified_time(path).is_some_and(|written| than.is_none_or(|than| written > than))
}

/// Whether both paths are names of one file.
pub(super) fn same_file(one: &DataPath, other: &DataPath) -> bool {
    let file = |path: &DataPath| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    file(one).is_some_and(|one| file(other) == Some(one))
}
