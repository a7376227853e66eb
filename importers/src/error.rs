//! Why an import could not be made at all. What is merely wrong with a row is no error: it is
//! skipped and counted.

use std::io;
use std::path::Path;

use message_trace::PathError;

use crate::summary::{At, Place};

/// An error of an [`Importer`](crate::Importer).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written, or a table of the data directory is damaged.
    #[error(transparent)]
    File(#[from] PathError),
    /// A file is not what it should be.
    #[error("{place}: {why}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong, and what to do.
        why: String,
    },
}

impl Error {
    /// An error of the operating system on `file`.
    pub fn io(file: impl AsRef<Path>, source: io::Error) -> Error {
        Error::File(PathError::io(file, source))
    }

    /// `why` the place `at` in `file` is not what it should be.
    pub fn malformed(file: &Path, at: At, why: impl Into<String>) -> Error {
        Error::Malformed { place: Place::new(file, at), why: why.into() }
    }
}
