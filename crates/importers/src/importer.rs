//! Trait of all importers.

use std::fmt::Debug;
use std::path::PathBuf;

use message_trace::{DataDir, Progress};

use crate::error::Error;
use crate::summary::ImportSummary;

/// Imports files of one kind into a data directory. The user's choices are in the importer itself.
pub trait Importer: Debug {
    /// Noun for the input, singular and plural: `["row", "rows"]`.
    fn input_nouns(&self) -> [&'static str; 2];

    /// Noun for the output, singular and plural: `["message", "messages"]`.
    fn output_nouns(&self) -> [&'static str; 2];

    /// Command that shows the result.
    fn next_command(&self) -> &'static str {
        "report"
    }

    /// Imports `files` together into `data`. `progress` receives one step for each file, in bytes
    /// of the file on disk.
    ///
    /// Unusable parts are skipped and counted ([`SkipCounts`](crate::SkipCounts)), and the rest is
    /// kept; repeating an import replaces its earlier result.
    ///
    /// # Errors
    /// When a file cannot be read or is of another kind, when nothing in the files can be used, or
    /// when the data directory cannot be written; an earlier import of the same name is then still
    /// present.
    fn import_files(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<ImportSummary, Error>;
}
