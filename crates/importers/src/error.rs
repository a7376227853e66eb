//! Errors of a whole import. A faulty row is not an error: it is skipped and counted.

use std::io;
use std::path::Path;

use message_trace::PathError;

use crate::summary::{FilePlace, FilePosition};

/// Error of an [`Importer`](crate::Importer).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written, or a table of the data directory is damaged.
    #[error(transparent)]
    File(#[from] PathError),
    /// A file has invalid content.
    #[error("{place}: {why}{}", indent_lines(.more))]
    Malformed {
        /// Place in the file.
        place: FilePlace,
        /// The fault and its remedy.
        why: String,
        /// Further lines: the skipped parts, a command to paste into a shell.
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

    /// Error for the place `at` in `file` with the fault `why`.
    pub fn malformed_at(file: &Path, at: FilePosition, why: impl Into<String>) -> Error {
        Error::Malformed { place: FilePlace::new(file, at), why: why.into(), more: Vec::new() }
    }

    /// Adds further lines to the error's text.
    pub(crate) fn with_lines(self, lines: impl IntoIterator<Item = String>) -> Error {
        match self {
            Error::Malformed { place, why, mut more } => {
                more.extend(lines);
                Error::Malformed { place, why, more }
            }
            other => other,
        }
    }

    /// Lines for the user: the fault and further lines; any may contain text from files.
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
