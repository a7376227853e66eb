//! Errors of traces and truths; each names the file and the line, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use message_trace::PathError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written, or a table of the data directory is damaged.
    #[error(transparent)]
    File(#[from] PathError),
    /// The file is malformed.
    #[error("{path}: {why}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Reason, place in the file, and what to do.
        why: String,
    },
    /// A thing that the user named does not exist.
    #[error("{0}")]
    Unknown(String),
}

impl Error {
    pub(crate) fn io(path: impl AsRef<Path>, source: io::Error) -> Error {
        Error::File(PathError::io(path, source))
    }

    pub(crate) fn malformed(path: impl AsRef<Path>, why: impl ToString) -> Error {
        Error::Malformed { path: path.as_ref().to_owned(), why: why.to_string() }
    }
}
