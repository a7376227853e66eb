//! Traces with ids from tracers of the system: if a request carries the ids of a trace and of the
//! span that made it (`traceparent`, `b3`), our spans become parts of that trace, below that span.
//! They fill the gaps between the system's own spans.
//!
//! A call without ids belongs to the trace of its parent. Calls above the first ids belong to the
//! trace that comes first below them.

use std::mem;

use rustc_hash::FxHashMap;

use crate::traces::{ExportedSpan, OperationLookup, TracerContext};

/// Assigns spans to traces, window by window.
pub(super) struct TracerContexts<'a> {
    operations: &'a OperationLookup,
    /// The contexts of the calls of this window and of the previous one, by their numbers. The
    /// parent of a call is in one of these windows.
    calls: [FxHashMap<u64, CallContext>; 2],
    /// The traces of roots without ids of their own, for the same two windows.
    roots: [FxHashMap<u64, u128>; 2],
}

/// The known context of a call.
#[derive(Clone, Copy, Debug)]
struct CallContext {
    /// The context that the call's own request carries.
    own: Option<TracerContext>,
    /// Number of the parent call.
    parent: Option<u64>,
    /// Number of the root call of the trace.
    root: u64,
    /// Trace of the call, once known; `Some(None)` is a trace that sockcap numbers.
    trace: Option<Option<u128>>,
}

/// The ids of a span's trace and parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanPlace {
    pub(super) trace: u128,
    pub(super) parent: Option<u64>,
}

impl<'a> TracerContexts<'a> {
    /// The contexts that the requests in `operations` carry.
    pub(super) fn new(operations: &'a OperationLookup) -> TracerContexts<'a> {
        TracerContexts { operations, calls: Default::default(), roots: Default::default() }
    }

    /// Begins a window of the export with the spans of its calls.
    pub(super) fn begin_window(&mut self, spans: &[ExportedSpan<'_>]) {
        if !self.operations.has_traces() {
            return;
        }
        self.calls = [FxHashMap::default(), mem::take(&mut self.calls[0])];
        self.roots = [FxHashMap::default(), mem::take(&mut self.roots[0])];
        for span in spans {
            let call = span.call;
            let root = call.root.call;
            let of = self.calls[0].entry(call.number).or_insert_with(|| CallContext {
                own: self.operations.operation_of_call(call).request_context(),
                parent: call.parent.map(|parent| parent.call),
                root,
                trace: None,
            });
            let [roots, before] = &mut self.roots;
            // The trace of a root stays the same from window to window.
            let trace = before.get(&root).copied().or(of.own.map(|own| own.trace));
            if let Some(trace) = trace {
                roots.entry(root).or_insert(trace);
            }
        }
        let mut walk = Vec::new();
        for span in spans {
            self.resolve_trace(span.call.number, &mut walk);
        }
    }

    /// Resolves the trace of a call by walking up to the first call with a known trace.
    fn resolve_trace(&mut self, call: u64, walk: &mut Vec<u64>) {
        walk.clear();
        let mut at = call;
        let mut root = None;
        let trace = loop {
            let Some(of) = self.context_of_call(at) else { break None };
            if let Some(trace) = of.trace.or_else(|| of.own.map(|own| Some(own.trace))) {
                break Some(trace);
            }
            walk.push(at);
            root = root.or(Some(of.root));
            match of.parent {
                Some(parent) if !walk.contains(&parent) => at = parent,
                _ => break None,
            }
        };
        let of_root = || {
            let root = root?;
            let own = self.operations.context_of_message(root).map(|context| context.trace);
            own.or_else(|| self.roots[0].get(&root).copied())
        };
        let trace = trace.unwrap_or_else(of_root);
        for call in walk.drain(..).chain([call]) {
            if let Some(of) = self.calls[0].get_mut(&call) {
                of.trace = Some(of.own.map_or(trace, |own| Some(own.trace)));
            }
        }
    }

    fn context_of_call(&self, call: u64) -> Option<&CallContext> {
        self.calls.iter().find_map(|calls| calls.get(&call))
    }

    /// The place of a span of the window.
    pub(super) fn place_of_span(&self, span: &ExportedSpan<'_>) -> SpanPlace {
        let inferred = SpanPlace { trace: span.trace_number(), parent: span.parent };
        let Some(of) = self.context_of_call(span.call.number) else { return inferred };
        let trace = of.trace.flatten().unwrap_or(inferred.trace);
        let above =
            of.parent.and_then(|parent| self.context_of_call(parent)).and_then(|above| above.own);
        let parent = match of.own {
            // A proxy passes on the ids that it received, and the proxy's call is a part of the
            // span that the ids name.
            Some(own) if span.is_outer && above != Some(own) => Some(own.span),
            _ => span.parent,
        };
        SpanPlace { trace, parent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{SpanSide, spans, testing};
    use analyze::calls::windows::TracedCall;

    /// The place of each span of the calls, by call and side. `numbered` has the messages with
    /// their trace and span ids.
    fn places(
        calls: &[TracedCall<'_>],
        numbered: &[(u64, u128, u64)],
    ) -> Vec<((u64, SpanSide), SpanPlace, SpanPlace)> {
        let operations =
            testing::operation_lookup(numbered.iter().map(|(message, trace, span)| {
                let own = (Some(*trace), Some(*span));
                testing::request(*message, "http", "GET /", own)
            }));
        let spans = spans::spans_of_calls(calls);
        let mut contexts = TracerContexts::new(&operations);
        contexts.begin_window(&spans);
        let inferred =
            |span: &ExportedSpan<'_>| SpanPlace { trace: span.trace_number(), parent: span.parent };
        spans
            .iter()
            .map(|span| {
                ((span.call.number, span.side), contexts.place_of_span(span), inferred(span))
            })
            .collect()
    }

    fn place_in(
        places: &[((u64, SpanSide), SpanPlace, SpanPlace)],
        call: u64,
        side: SpanSide,
    ) -> SpanPlace {
        places.iter().find(|(of, ..)| *of == (call, side)).unwrap().1
    }

    #[test]
    fn a_request_with_ids_is_below_the_span_that_made_it() {
        use SpanSide::{Callee, Caller};
        let calls = testing::calls();
        let places = places(&calls, &[(1, 0xaa, 0xbb)]);
        let client = place_in(&places, 1, Caller);
        assert_eq!(client, SpanPlace { trace: 0xaa, parent: Some(0xbb) });
        let inferred = |call, side| places.iter().find(|(of, ..)| *of == (call, side)).unwrap().2;
        // The server's span is a part of the client's, and the calls above and next to it have the
        // trace.
        for (call, side) in [(1, Callee), (0, Callee), (2, Caller), (2, Callee), (3, Caller)] {
            let expected = SpanPlace { trace: 0xaa, parent: inferred(call, side).parent };
            assert_eq!(place_in(&places, call, side), expected, "{call} {side:?}");
        }
        // A different trace is unaffected.
        assert_eq!(place_in(&places, 4, Caller), inferred(4, Caller));
    }

    #[test]
    fn the_server_is_below_an_unrecorded_client() {
        let places = places(&testing::calls(), &[(0, 0xaa, 0xbb), (2, 0xcc, 0xdd)]);
        let root = place_in(&places, 0, SpanSide::Callee);
        assert_eq!(root, SpanPlace { trace: 0xaa, parent: Some(0xbb) });
        assert_eq!(place_in(&places, 1, SpanSide::Caller).trace, 0xaa);
        let other = place_in(&places, 2, SpanSide::Caller);
        assert_eq!(other, SpanPlace { trace: 0xcc, parent: Some(0xdd) });
        assert_eq!(place_in(&places, 2, SpanSide::Callee).trace, 0xcc);
    }

    #[test]
    fn ids_that_a_proxy_passes_on_stay_below_the_proxy() {
        let all = places(&testing::calls(), &[(0, 0xaa, 0xbb), (1, 0xaa, 0xbb)]);
        let inferred = all.iter().find(|(of, ..)| *of == (1, SpanSide::Caller)).unwrap().2;
        assert_eq!(
            place_in(&all, 1, SpanSide::Caller),
            SpanPlace { trace: 0xaa, parent: inferred.parent }
        );
        assert!(
            places(&testing::calls(), &[]).iter().all(|(_, place, inferred)| place == inferred)
        );
    }

    #[test]
    fn a_later_window_knows_the_trace_of_its_parents() {
        let calls = testing::calls();
        let operations = testing::operation_lookup([testing::request(
            1,
            "http",
            "GET /",
            (Some(0xaa), Some(0xbb)),
        )]);
        let mut contexts = TracerContexts::new(&operations);
        contexts.begin_window(&spans::spans_of_calls(&calls[..2]));
        let later = spans::spans_of_calls(&calls[2..4]);
        contexts.begin_window(&later);
        assert!(later.iter().all(|span| contexts.place_of_span(span).trace == 0xaa));
    }
}
