//! Traces and patterns for the tools that people already have: one file for each format.
//!
//! What is shown of single requests goes through a [`SpanWriter`]: [`TraceExport`] turns the calls
//! of a window into spans, chooses those that are wanted and hands them on, so that a trace larger
//! than memory is written as it is read. What is shown of patterns is a [`PatternWriter`]. Neither
//! opens a file or asks for options of its own; only [`otlp::Collector`] talks to somebody, as it
//! is told to.

mod call_tree;
pub mod chrome;
pub mod dot;
pub mod folded;
mod lanes;
pub mod map;
pub mod mermaid;
pub mod otlp;
pub mod perfetto;
mod spans;
#[cfg(test)]
mod testing;

use std::io;
use std::ops::ControlFlow;

use analyze::calls::windows::{CallWindow, Party, TracedCall};
use analyze::paths::PathPattern;
use rustc_hash::FxHashSet;

pub use otlp::SendError;
pub use spans::{Side, Span};

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A collector did not take the spans.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// One format of traces.
pub trait SpanWriter {
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

/// One format of patterns.
pub trait PatternWriter {
    /// Writes all of `patterns` to `out`.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn write(&self, patterns: &[PathPattern], out: &mut dyn io::Write) -> io::Result<()>;
}

/// Which traces are wanted.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Those that begin with one of these messages only.
    pub roots: Option<FxHashSet<u64>>,
    /// No more than so many, the first by the order of their roots.
    pub limit: Option<u64>,
}

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Traces of which a span was written.
    pub traces: u64,
    /// Spans.
    pub spans: u64,
}

/// An export of traces in the making.
pub struct TraceExport<'writer> {
    writer: &'writer mut dyn SpanWriter,
    selection: Selection,
    /// The traces that were chosen and may go on.
    chosen: FxHashSet<u64>,
    written: Written,
}

impl TraceExport<'_> {
    /// Writes the traces of `selection` by `writer`.
    pub fn new(writer: &mut dyn SpanWriter, selection: Selection) -> TraceExport<'_> {
        TraceExport { writer, selection, chosen: FxHashSet::default(), written: Written::default() }
    }

    /// Writes what is wanted of a window; it breaks off once nothing more can come.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn window(&mut self, window: &CallWindow<'_>) -> Result<ControlFlow<()>, Error> {
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
    pub fn finish(self) -> Result<Written, Error> {
        self.writer.finish()?;
        Ok(self.written)
    }
}

/// What a call is called: the callee and, where it is a server's, its port or other endpoint. There
/// are few of these, however many calls there are.
fn operation(call: &TracedCall<'_>, parties: &[Party]) -> String {
    let name = parties.get(call.callee).map_or("", |party| party.name.as_str());
    let Some(endpoint) = call.dst_endpoint.filter(|_| call.from_connecting) else {
        return name.to_owned();
    };
    match endpoint.parse::<std::net::SocketAddr>() {
        // A node that is known by its endpoint alone has the port in its name.
        Ok(_) if name == endpoint => name.to_owned(),
        Ok(address) => format!("{name}:{}", address.port()),
        // A socket without a name of its own is another one each time.
        Err(_) if name == endpoint || endpoint.starts_with("unix:#") => name.to_owned(),
        Err(_) => format!("{name} {endpoint}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_goes_by_the_callee_and_a_name_that_others_share() {
        let parties = testing::parties("web");
        let [call, .., lookup] = testing::calls()[..] else { panic!("there are calls") };
        let name = |dst_endpoint: Option<&'static str>, from_connecting| {
            operation(&TracedCall { dst_endpoint, from_connecting, ..call }, &parties)
        };
        assert_eq!(name(Some("[::1]:80"), true), "web:80");
        assert_eq!(name(Some("[::1]:80"), false), "web");
        assert_eq!(name(Some("unix:/run/web"), true), "web unix:/run/web");
        assert_eq!(name(Some("unix:#17"), true), "web");
        assert_eq!(name(None, true), "web");
        assert_eq!(operation(&lookup, &parties), "10.0.0.2:53");
    }
}
