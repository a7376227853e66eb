//! The traces that a user wants, and writing them by any format.

use analyze::calls::windows::in_windows;
use analyze::paths::pattern_roots;

use super::selection::{Selection, TraceExport};
use super::writer::SpanWriter;
use crate::error::{Error, no_pattern};
use crate::exporter::{Source, TraceCount};

/// The traces that are wanted: all, unless one of these says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceChoice {
    /// The number of a pattern: only traces that begin as its instances do.
    pub pattern: Option<i64>,
    /// Maximum number of traces; the first ones are written.
    pub limit: Option<usize>,
}

/// Writes the traces of `source` that are wanted by `writer`.
///
/// # Errors
/// When the pattern is not there, a table cannot be read, and those of the writer.
pub(crate) fn write_traces(
    source: &Source<'_>,
    choice: TraceChoice,
    writer: &mut dyn SpanWriter,
) -> Result<TraceCount, Error> {
    let (data, analysis) = (source.data, source.analysis()?);
    let roots = choice.pattern.map(|pattern| pattern_roots(&data.paths(), pattern)).transpose()?;
    if let (Some(pattern), true) = (choice.pattern, roots.as_ref().is_some_and(|r| r.is_empty())) {
        return Err(no_pattern(data.path(), pattern, analysis.totals.patterns));
    }
    source.progress.step("writing spans", analysis.totals.messages);
    let limit = choice.limit.map(|limit| limit as u64);
    let mut export = TraceExport::new(writer, Selection { roots, limit });
    in_windows::<Error>(data, &analysis.options, |window| {
        let goes_on = export.window(window)?;
        source.progress.advance(window.messages() as u64);
        Ok(goes_on)
    })?;
    export.finish()
}
