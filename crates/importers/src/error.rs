//! Why an import could not be made at all. What is merely wrong with a row is no error: it is
//! skipped and counted.

use std::io;
use std::path::Path;

use message_trace::PathError;

use crate::summary::{FilePlace, FilePosition};

/// An error of an [`Importer`](crate::Importer).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written, or a table of the data directory is damaged.
    #[error(transparent)]
    File(#[from] PathError),
    /// A file is not what it should be.
    #[error("{place}: {why}{}", indent_lines(.more))]
    Malformed {
        /// Where.
        place: FilePlace,
        /// What is wrong, and what to do.
        why: String,
        /// More of it, in lines: what was passed over, a command to paste into a shell.
        more: Vec<String>,
    },
}

fn indent_lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

impl Error {
    /// An error of the operating system on `file`.
    pub fn from_io(file: impl AsRef<Path>, source: io::Error) -> Error {
        Error::File(PathError::io(file, source))
    }

    /// `why` the place `at` in `file` is not what it should be.
    pub fn malformed_at(file: &Path, at: FilePosition, why: impl Into<String>) -> Error {
        Error::Malformed { place: FilePlace::new(file, at), why: why.into(), more: Vec::new() }
    }

    /// The same with more to know, in lines.
    pub(crate) fn with_lines(self, lines: impl IntoIterator<Item = String>) -> Error {
        match self {
            Error::Malformed { place, why, mut more } => {
                more.extend(lines);
                Error::Malformed { place, why, more }
            }
            other => other,
        }
    }

    /// What people read, in lines: what is wrong, and more of it. Text of files may be in any.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Error::Malformed { place, why, more } => {
                let first = format!("{place}: {why}");
                std::iter::once(first).chain(more.iter().cloned()).collect()
            }
            other => vec![other.to_string()],
        }
    }
}
