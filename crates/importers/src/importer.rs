//! The trait that every importer implements.

use std::path::PathBuf;

use message_trace::{DataDir, Progress};

use crate::error::Error;
use crate::summary::ImportSummary;

/// Brings files of one kind into a data directory. What the user may choose is in the importer
/// itself.
pub trait Importer {
    /// What is read, for one and for several: `["row", "rows"]`.
    fn input_nouns(&self) -> [&'static str; 2];

    /// What is made of it, for one and for several: `["message", "messages"]`.
    fn output_nouns(&self) -> [&'static str; 2];

    /// The command that shows what was made.
    fn next_command(&self) -> &'static str {
        "report"
    }

    /// Imports `files` together into `data`. `progress` is told of one step for each file, whose
    /// units are bytes of the file as it is on disk.
    ///
    /// What cannot be used is skipped and counted ([`SkipCounts`](crate::SkipCounts)), and what can
    /// is kept; importing the same again replaces what was there.
    ///
    /// # Errors
    /// When a file cannot be read or is of another kind, when nothing in the files can be used, or
    /// when the data directory cannot be written; what was imported before under the same name is
    /// then still there.
    fn import_files(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<ImportSummary, Error>;
}
