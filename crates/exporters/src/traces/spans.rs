//! Spans: a call as one of its two nodes sees it. A call has a span at the node that makes it and
//! one at the node that serves it, so that the time on the network between the two is visible. A
//! node at which nothing of the call was seen has no span.
//!
//! The ids of spans depend on the numbers and times of messages alone: the same trace has the same
//! spans in every format and in every run.

use std::ops::Range;

use analyze::calls::windows::TracedCall;
use message_trace::mix_bits;

/// One of the two nodes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SpanSide {
    /// The node that makes the call.
    Caller,
    /// The node that serves the call.
    Callee,
}

/// A call at one of its nodes. Times are nanoseconds since the Unix epoch on the common clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExportedSpan<'call> {
    /// The call that the span is a view of.
    pub(crate) call: &'call TracedCall<'call>,
    /// The side of the call at which the span was seen.
    pub(crate) side: SpanSide,
    /// The number of the span, unique in the trace; never 0.
    pub(crate) id: u64,
    /// The number of the parent span.
    pub(crate) parent: Option<u64>,
    /// Whether the other span of the call, if any, is a part of this one.
    pub(crate) is_outer: bool,
    /// The time at which the span begins.
    pub(crate) start: i64,
    /// The time at which the span ends, never before it begins.
    pub(crate) end: i64,
}

impl ExportedSpan<'_> {
    /// The node: an index of the parties.
    pub(crate) fn party_index(&self) -> usize {
        match self.side {
            SpanSide::Caller => self.call.caller,
            SpanSide::Callee => self.call.callee,
        }
    }

    /// The other node of the call: an index of the parties.
    pub(crate) fn peer_index(&self) -> usize {
        match self.side {
            SpanSide::Caller => self.call.callee,
            SpanSide::Callee => self.call.caller,
        }
    }

    /// The thread at this node, if it is known.
    pub(crate) fn thread(&self) -> Option<i32> {
        self.call.threads[self.side as usize]
    }

    /// The number of the trace, unique over all traces of all recordings; never 0.
    pub(crate) fn trace_number(&self) -> u128 {
        let root = self.call.root;
        u128::from(mix_bits(root.time as u64)) << 64
            | u128::from(span_id(root.call, SpanSide::Caller))
    }
}

/// Returns the spans of `calls`, in the order of their beginnings.
pub(crate) fn spans_of_calls<'calls>(
    calls: &'calls [TracedCall<'calls>],
) -> Vec<ExportedSpan<'calls>> {
    let mut spans = Vec::with_capacity(2 * calls.len());
    for call in calls {
        let above = call.parent.and_then(|parent| {
            let side = if parent.at_callee { Some(SpanSide::Callee) } else { None };
            side.or(parent.at_caller.then_some(SpanSide::Caller))
                .map(|side| span_id(parent.call, side))
        });
        let at_caller = at_caller(call);
        let of_caller = at_caller.clone().map(|_| span_id(call.number, SpanSide::Caller));
        let sides = [
            (SpanSide::Caller, at_caller, above, true),
            (SpanSide::Callee, at_callee(call), of_caller.or(above), of_caller.is_none()),
        ];
        for (side, times, parent, is_outer) in sides {
            let Some(Range { start, end }) = times else { continue };
            let id = span_id(call.number, side);
            spans.push(ExportedSpan { call, side, id, parent, is_outer, start, end });
        }
    }
    spans.sort_by_key(|span| (span.start, span.call.number, span.side));
    spans
}

/// The time at the caller: from the sending of the request to the receipt of the response. A
/// message without a response lasts as long as it is on the network.
fn at_caller(call: &TracedCall<'_>) -> Option<Range<i64>> {
    let end = match (call.request, call.response) {
        (_, Some(response)) => response.received,
        (Some(request), None) => request.sent.and(request.received),
        (None, None) => None,
    };
    time_range(call.request.and_then(|request| request.sent), end)
}

/// The time at the callee: from the receipt of the request to the sending of the response. Without
/// a response its length is zero.
fn at_callee(call: &TracedCall<'_>) -> Option<Range<i64>> {
    time_range(
        call.request.and_then(|request| request.received),
        call.response.and_then(|response| response.sent),
    )
}

/// The range between two times; an empty range at the known time if only one is known, and `None`
/// if neither is.
fn time_range(start: Option<i64>, end: Option<i64>) -> Option<Range<i64>> {
    let start = start.or(end)?;
    Some(start..end.unwrap_or(start).max(start))
}

/// The number of the span of a call at one side.
fn span_id(call: u64, side: SpanSide) -> u64 {
    // Back ends sample and shard by only some of the bits. Mixing is one-to-one, and leaves only 0
    // unchanged.
    mix_bits((call << 1 | side as u64).wrapping_add(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::testing;
    use analyze::calls::windows::{CallMessage, ParentCall};

    #[test]
    fn each_side_with_events_has_a_span_within_the_other_sides() {
        let calls = testing::calls();
        let spans = spans_of_calls(&calls);
        let of = |call: u64| {
            spans.iter().filter(move |span| span.call.number == call).collect::<Vec<_>>()
        };
        // The client was not traced: the server's span is the first.
        let [root] = of(0)[..] else { panic!("{spans:?}") };
        assert_eq!(
            (root.side, root.parent, root.start, root.end),
            (SpanSide::Callee, None, 1_000, 9_000)
        );
        let [client, server] = of(1)[..] else { panic!("{spans:?}") };
        assert_eq!((client.parent, client.start, client.end), (Some(root.id), 2_000, 7_000));
        assert_eq!((server.parent, server.start, server.end), (Some(client.id), 3_000, 6_000));
        assert_eq!((client.party_index(), client.peer_index(), server.party_index()), (1, 2, 2));
        assert!(root.is_outer && client.is_outer && !server.is_outer);
        assert_eq!(client.trace_number(), root.trace_number());
        // A message without a response: a span while on the network, of zero length at the
        // receiver.
        let [client, server] = of(3)[..] else { panic!("{spans:?}") };
        assert_eq!((client.parent, client.start, client.end), (Some(root.id), 7_500, 7_900));
        assert_eq!((server.start, server.end), (7_900, 7_900));
        // The server of this one was not traced.
        let [client] = of(4)[..] else { panic!("{spans:?}") };
        assert_eq!((client.side, client.start, client.end), (SpanSide::Caller, 20_000, 24_000));
        assert_ne!(client.trace_number(), root.trace_number());
        assert!(spans.is_sorted_by_key(|span| span.start));
    }

    #[test]
    fn incomplete_times_and_parents_are_used() {
        let [_, to_db, ..] = testing::calls()[..] else { panic!("there are calls") };
        let parent = |at_caller, at_callee| Some(ParentCall { call: 0, at_caller, at_callee });
        // The response is before the request, because clocks are off.
        let early =
            Some(CallMessage { number: 11, sent: Some(1_000), received: Some(1_500), bytes: 20 });
        let calls = [
            TracedCall { parent: parent(true, false), response: early, ..to_db },
            TracedCall { number: 7, parent: parent(false, false), ..to_db },
        ];
        let spans = spans_of_calls(&calls);
        assert!(spans.iter().all(|span| span.start <= span.end), "{spans:?}");
        let of_caller = |call: u64| {
            spans
                .iter()
                .find(|span| span.call.number == call && span.side == SpanSide::Caller)
                .unwrap()
                .parent
        };
        assert_eq!(of_caller(1), Some(span_id(0, SpanSide::Caller)));
        assert_eq!(of_caller(7), None);
    }

    #[test]
    fn span_ids_are_unique_and_never_zero() {
        let mut ids: Vec<u64> = (0..1000)
            .flat_map(|call| [SpanSide::Caller, SpanSide::Callee].map(|side| span_id(call, side)))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 2000);
        assert!(ids[0] > 0);
    }
}
