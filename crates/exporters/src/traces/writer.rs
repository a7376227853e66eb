//! The trait of the formats of traces: a format takes spans window by window.

use analyze::calls::windows::Party;

use super::spans::Span;
use crate::error::Error;

/// A format of traces.
pub(crate) trait SpanWriter {
    /// Writes the spans of a window, in the order of their beginnings. The nodes of a span are
    /// indices of `parties`.
    ///
    /// # Errors
    /// When the output cannot be written or sent.
    fn write(&mut self, spans: &[Span<'_>], parties: &[Party]) -> Result<(), Error>;

    /// Writes what a file needs after the last window, and flushes the output.
    ///
    /// # Errors
    /// As for [`SpanWriter::write`].
    fn finish(&mut self) -> Result<(), Error>;
}
