//! The trait of the formats of traces: a format receives spans window by window.

use analyze::calls::windows::Party;

use super::spans::ExportedSpan;
use crate::error::Error;

/// A format of traces.
pub(crate) trait SpanWriter {
    /// Writes the spans of a window, in the order of their beginnings. The nodes of a span are
    /// indices of `parties`.
    ///
    /// # Errors
    /// When the output cannot be written or sent.
    fn write_spans(&mut self, spans: &[ExportedSpan<'_>], parties: &[Party]) -> Result<(), Error>;

    /// Writes what a file needs after the last window, and flushes the output.
    ///
    /// # Errors
    /// As for [`SpanWriter::write_spans`].
    fn finish(&mut self) -> Result<(), Error>;
}
