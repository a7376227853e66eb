//! What can go wrong with the files of a data directory, said so that the user knows which file and
//! what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing a table or a file beside it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("{path}: {why}; remove it, and the stage that makes it will be run again", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Error {
    /// An error of the operating system on `path`.
    pub fn io(path: &Path, source: io::Error) -> Error {
        Error::Io { path: path.to_owned(), source }
    }

    /// `path` holds something else than it should: `why`.
    pub fn malformed(path: &Path, why: impl ToString) -> Error {
        Error::Malformed { path: path.to_owned(), why: why.to_string() }
    }
}
