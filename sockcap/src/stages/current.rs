//! Whether a result is as new as what it was made from.

use std::path::Path;
use std::time::SystemTime;

use message_trace::DataDir;

/// Whether the file at `path` was written after `than`.
pub(super) fn newer(path: &Path, than: Option<SystemTime>) -> bool {
    DataDir::written(path).is_some_and(|written| than.is_none_or(|than| written > than))
}
