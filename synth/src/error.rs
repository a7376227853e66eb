//! What can go wrong with a truth, each with the file, the line and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A table of the data directory.
    #[error(transparent)]
    Table(#[from] message_trace::PathError),
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("{path}: {why}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, where, and what to do.
        why: String,
    },
    /// Something that the user named is not there.
    #[error("{0}")]
    Unknown(String),
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Error {
        Error::Io { path: path.to_owned(), source }
    }

    pub(crate) fn malformed(path: &Path, why: impl ToString) -> Error {
        Error::Malformed { path: path.to_owned(), why: why.to_string() }
    }
}
