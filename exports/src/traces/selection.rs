//! The traces that are wanted of all that were inferred, handed window by window to a
//! [`SpanWriter`].

use std::ops::ControlFlow;

use analyze::calls::windows::{CallWindow, TracedCall};
use rustc_hash::FxHashSet;

use super::spans;
use super::writer::SpanWriter;
use crate::error::Error;
use crate::exporter::TraceCount;

/// Which traces are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// Those that begin with one of these messages only.
    pub(super) roots: Option<FxHashSet<u64>>,
    /// No more than so many, the first by the order of their roots.
    pub(super) limit: Option<u64>,
}

/// An export of traces in the making.
pub(super) struct TraceExport<'writer> {
    writer: &'writer mut dyn SpanWriter,
    selection: Selection,
    /// The traces that were chosen and may go on.
    chosen: FxHashSet<u64>,
    written: TraceCount,
}

impl TraceExport<'_> {
    /// Writes the traces of `selection` by `writer`.
    pub(super) fn new(writer: &mut dyn SpanWriter, selection: Selection) -> TraceExport<'_> {
        TraceExport {
            writer,
            selection,
            chosen: FxHashSet::default(),
            written: TraceCount::default(),
        }
    }

    /// Writes what is wanted of a window; it breaks off once nothing more can come.
    ///
    /// # Errors
    /// Those of the writer.
    pub(super) fn window(&mut self, window: &CallWindow<'_>) -> Result<ControlFlow<()>, Error> {
        let all = self.selection.roots.is_none() && self.selection.limit.is_none();
        let calls: Vec<TracedCall<'_>> =
            window.calls().filter(|call| all || self.is_wanted(call)).collect();
        if all {
            self.written.traces +=
                calls.iter().filter(|call| call.root.call == call.number).count() as u64;
        }
        let spans = spans::of_calls(&calls);
        self.written.spans += spans.len() as u64;
        self.writer.write(&spans, window.parties)?;
        // Whatever goes on has a call that is near enough to be the parent of another.
        let none_goes_on = calls.is_empty() && !window.is_empty();
        let full = self.selection.limit.is_some_and(|limit| self.written.traces >= limit);
        Ok(if full && none_goes_on { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn is_wanted(&mut self, call: &TracedCall<'_>) -> bool {
        if call.root.call != call.number {
            return self.chosen.contains(&call.root.call);
        }
        let wanted = self.selection.roots.as_ref().is_none_or(|roots| roots.contains(&call.number))
            && self.selection.limit.is_none_or(|limit| self.written.traces < limit);
        if wanted {
            self.chosen.insert(call.number);
            self.written.traces += 1;
        }
        wanted
    }

    /// Ends the output and says how much there was of it.
    ///
    /// # Errors
    /// Those of the writer.
    pub(super) fn finish(self) -> Result<TraceCount, Error> {
        self.writer.finish()?;
        Ok(self.written)
    }
}
