//! Span format: how the files of one kind of spans are read.

use std::fmt::Debug;
use std::path::PathBuf;

use super::span_import::SpanImport;
use crate::error::Error;
use crate::import_input::ImportInput;

/// Format of span files.
pub(crate) trait SpanFormat: Debug + Sync {
    /// Error text for files without a span: which content was expected.
    const NONE: &str;

    /// Reads one file into spans. Unusable parts are counted as skipped, with their places.
    ///
    /// # Errors
    /// When the file is of another kind, or its spans cannot be written.
    fn read_file(
        &self,
        input: ImportInput<'_>,
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error>;

    /// Reads the paths that the user names. A format with files that belong together in folders
    /// reads folders here; for all others, each path is a file.
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
