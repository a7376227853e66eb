//! Why an import could not be made at all. What is merely wrong with a row is no error: it is
//! skipped and counted.

use std::io;
use std::path::{Path, PathBuf};

use crate::summary::{At, Place};

/// An error of an [`Importer`](crate::Importer).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{file}: {source}", file = file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{place}: {why}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A table of the data directory could not be written.
    #[error(transparent)]
    Table(#[from] message_trace::Error),
}

impl Error {
    /// An error of the operating system on `file`.
    pub fn io(file: &Path, source: io::Error) -> Error {
        Error::Io { file: file.to_owned(), source }
    }

    /// `why` the place `at` in `file` is not what it should be.
    pub fn malformed(file: &Path, at: At, why: impl Into<String>) -> Error {
        Error::Malformed { place: Place::new(file, at), why: why.into() }
    }
}
