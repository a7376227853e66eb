//! The choice of traces by the user, and their export in any format.

use analyze::calls::windows::for_each_window;
use analyze::paths::pattern_roots;

use super::selection::{TraceExport, TraceSelection};
use super::writer::SpanWriter;
use crate::error::{Error, no_pattern};
use crate::exporter::{ExportSource, TraceCount};
use crate::flags::SelectionFlags;

/// The traces to export. The default is all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceChoice {
    /// The number of a pattern. Only traces that begin with the root message of one of its
    /// instances are exported.
    pub pattern: Option<i64>,
    /// Maximum number of traces; the first ones are written.
    pub limit: Option<usize>,
}

impl From<SelectionFlags> for TraceChoice {
    fn from(flags: SelectionFlags) -> TraceChoice {
        TraceChoice { pattern: flags.only.pattern, limit: flags.limit }
    }
}

/// Writes the chosen traces of `source` with `writer`.
///
/// # Errors
/// When the pattern does not exist, a table cannot be read, or the writer fails.
pub(crate) fn write_traces(
    source: &ExportSource<'_>,
    choice: TraceChoice,
    writer: &mut dyn SpanWriter,
) -> Result<TraceCount, Error> {
    let (data, analysis) = (source.data, source.read_analysis()?);
    let roots =
        choice.pattern.map(|pattern| pattern_roots(data.paths_path(), pattern)).transpose()?;
    if let (Some(pattern), true) = (choice.pattern, roots.as_ref().is_some_and(|r| r.is_empty())) {
        return Err(no_pattern(data.path(), pattern, analysis.totals.patterns));
    }
    source.progress.begin_step("writing spans", analysis.totals.messages);
    let limit = choice.limit.map(|limit| limit as u64);
    let mut export = TraceExport::new(writer, TraceSelection { roots, limit });
    for_each_window::<Error>(data, &analysis.options, |window| {
        let goes_on = export.write_window(window)?;
        source.progress.advance_step(window.message_count() as u64);
        Ok(goes_on)
    })?;
    export.finish()
}
