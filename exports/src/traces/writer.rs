//! What a format of traces does: it takes spans window by window.

use analyze::calls::windows::Party;

use super::spans::Span;
use crate::error::Error;

/// One format of traces.
pub(crate) trait SpanWriter {
    /// Writes the spans of a window, which come by their beginnings; their nodes are places in
    /// `parties`.
    ///
    /// # Errors
    /// When the output cannot be written or sent.
    fn write(&mut self, spans: &[Span<'_>], parties: &[Party]) -> Result<(), Error>;

    /// Writes what comes after the last window.
    ///
    /// # Errors
    /// As for [`SpanWriter::write`].
    fn finish(&mut self) -> Result<(), Error>;
}
