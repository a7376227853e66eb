//! What each kind of spans has of its own: how its files are read.

use std::path::PathBuf;

use super::span_import::SpanImport;
use crate::error::Error;
use crate::import_input::ImportInput;

/// A way to write spans down.
pub(crate) trait SpanFormat: Sync {
    /// What is said of files in which there is no span: what was looked for.
    const NONE: &str;

    /// Reads one file into spans. What cannot be used is counted as skipped, with its place.
    ///
    /// # Errors
    /// When the file is of another kind, or what was read cannot be kept.
    fn read_file(
        &self,
        input: ImportInput<'_>,
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error>;

    /// Reads what the user names. A format whose files belong together in folders reads folders
    /// here; for all others, each name is a file.
    ///
    /// # Errors
    /// When a file cannot be opened, and as for [`SpanFormat::read_file`].
    fn read_all_files(
        &self,
        files: &[PathBuf],
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error> {
        for file in files {
            let input = reading.open(file)?;
            self.read_file(input, reading)?;
        }
        Ok(())
    }
}
