//! Error in a schema, and its location.

use std::path::{Path, PathBuf};

/// Error in a schema: file, line, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {why}", path = file.display())]
pub struct SchemaError {
    /// File of the schema.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong, and what to do.
    pub why: String,
}

impl SchemaError {
    /// An error in a line of the file.
    pub(crate) fn new(file: &Path, line: u32, why: impl Into<String>) -> SchemaError {
        SchemaError { file: file.to_owned(), line, why: why.into() }
    }
}
