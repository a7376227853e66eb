//! Error with the file that it concerns, worded so that the user knows what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing a file.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// The content of the file is invalid.
    #[error("{path}: {why}; remove it, and the stage that makes it runs again", path = path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Reason of the error, in words.
        why: String,
    },
}

impl PathError {
    /// An error of the operating system on `path`.
    pub fn io(path: impl AsRef<Path>, source: io::Error) -> PathError {
        let path = path.as_ref();
        PathError::Io { path: path.to_owned(), source }
    }

    /// The content of `path` is invalid: `why`.
    pub fn malformed(path: impl AsRef<Path>, why: impl ToString) -> PathError {
        let path = path.as_ref();
        PathError::Malformed { path: path.to_owned(), why: why.to_string() }
    }
}
