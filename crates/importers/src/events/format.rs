//! What each kind of events has of its own: how its files are read.

use super::sink::EventSink;
use super::source::EventSource;
use crate::error::Error;
use crate::summary::ImportSummary;

/// A way to write events down.
pub(super) trait EventFormat {
    /// What is said of files in which there is no event: what was looked for.
    const NONE: &str;

    /// Reads one file. What cannot be used is counted as skipped, with its place.
    ///
    /// # Errors
    /// When the file is of another kind, or what was read cannot be kept.
    fn read_source(
        &self,
        source: &EventSource<'_>,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error>;

    /// Whether all files have to be read once more, and what was read of them is of no use: it was
    /// found on the way that a file must be read in another way. Asked once they are read.
    fn begins_anew(&self) -> bool {
        false
    }
}
