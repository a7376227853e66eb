//! Selects the calls of the chosen traces in each window, and passes their spans to a
//! [`SpanWriter`].

use std::ops::ControlFlow;

use analyze::calls::windows::{CallWindow, TracedCall};
use rustc_hash::FxHashSet;

use super::spans;
use super::writer::SpanWriter;
use crate::error::Error;
use crate::exporter::TraceCount;

/// The traces to export.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceSelection {
    /// The first messages of the chosen traces; `None` for all traces.
    pub(super) roots: Option<FxHashSet<u64>>,
    /// Maximum number of traces; the first ones by the order of their roots are written.
    pub(super) limit: Option<u64>,
}

/// An export of traces that is being written.
pub(super) struct TraceExport<'writer> {
    writer: &'writer mut dyn SpanWriter,
    selection: TraceSelection,
    /// The roots of the traces that are being written: later calls may belong to them.
    chosen: FxHashSet<u64>,
    written: TraceCount,
}

impl TraceExport<'_> {
    /// An export of the traces of `selection` with `writer`.
    pub(super) fn new(writer: &mut dyn SpanWriter, selection: TraceSelection) -> TraceExport<'_> {
        TraceExport {
            writer,
            selection,
            chosen: FxHashSet::default(),
            written: TraceCount::default(),
        }
    }

    /// Writes the spans of the chosen traces in a window. Returns `Break` once no later window can
    /// have a call of a chosen trace.
    ///
    /// # Errors
    /// When the writer fails.
    pub(super) fn write_window(
        &mut self,
        window: &CallWindow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let all = self.selection.roots.is_none() && self.selection.limit.is_none();
        let calls: Vec<TracedCall<'_>> =
            window.calls().filter(|call| all || self.choose_call(call)).collect();
        if all {
            self.written.traces +=
                calls.iter().filter(|call| call.root.call == call.number).count() as u64;
        }
        let spans = spans::spans_of_calls(&calls);
        self.written.spans += spans.len() as u64;
        self.writer.write_spans(&spans, window.parties)?;
        // A trace that continues has a call in this window: only a call in the window can be the
        // parent of a later one.
        let none_continues = calls.is_empty() && !window.is_empty();
        let full = self.selection.limit.is_some_and(|limit| self.written.traces >= limit);
        Ok(if full && none_continues { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Whether a call belongs to a chosen trace. Chooses the trace if the call is its root and the
    /// selection includes it.
    fn choose_call(&mut self, call: &TracedCall<'_>) -> bool {
        if call.root.call != call.number {
            return self.chosen.contains(&call.root.call);
        }
        let is_chosen =
            self.selection.roots.as_ref().is_none_or(|roots| roots.contains(&call.number))
                && self.selection.limit.is_none_or(|limit| self.written.traces < limit);
        if is_chosen {
            self.chosen.insert(call.number);
            self.written.traces += 1;
        }
        is_chosen
    }

    /// Ends the output, and returns the number of traces and spans.
    ///
    /// # Errors
    /// When the writer fails.
    pub(super) fn finish(self) -> Result<TraceCount, Error> {
        self.writer.finish()?;
        Ok(self.written)
    }
}
