//! Event format: how the files of one kind of events are read.

use std::fmt::Debug;

use super::sink::EventSink;
use super::source::EventSource;
use crate::error::Error;
use crate::summary::ImportSummary;

/// Format of event files.
pub(super) trait EventFormat: Debug {
    /// Error text for files without an event: which content was expected.
    const NONE: &str;

    /// Reads one file. Unusable parts are counted as skipped, with their places.
    ///
    /// # Errors
    /// When the file is of another kind, or its events cannot be written.
    fn read_source(
        &self,
        source: &EventSource<'_>,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error>;

    /// Whether all files have to be read again and the events so far discarded, as one file turned
    /// out to need another way of reading. Called after all files were read.
    fn begins_anew(&self) -> bool {
        false
    }
}
