//! Ambiguous links: their caller had more than one request open when it made the call. Any sensible
//! algorithm gets all other links right, so the accuracy of ambiguous links is more informative.
//!
//! A request is open from its receipt until it is answered, or until the last call that was really
//! made for it, if that is later or there is no response.

use message_trace::NodeId;
use rustc_hash::FxHashMap;

use super::scored_calls::ScoredCalls;

/// Event at a node; events of equal times come in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OpenRequestEvent {
    Open,
    Call(usize),
    Close,
}

/// For each call, whether it is ambiguous.
pub(super) fn find_ambiguous(scored: &ScoredCalls) -> Vec<bool> {
    let mut last_child: FxHashMap<u32, i64> = FxHashMap::default();
    for (_, call, parent) in scored.scored_links() {
        if let Some(sent) = call.sent {
            last_child.entry(parent).and_modify(|last| *last = sent.max(*last)).or_insert(sent);
        }
    }
    let mut events: Vec<(NodeId, i64, OpenRequestEvent)> = Vec::new();
    for (number, call) in scored.calls.iter().enumerate() {
        events.extend(call.sent.map(|sent| (call.nodes[0], sent, OpenRequestEvent::Call(number))));
        if let Some(received) = call.received {
            let until = call.answered.max(last_child.get(&(number as u32)).copied());
            events.push((call.nodes[1], received, OpenRequestEvent::Open));
            events.push((
                call.nodes[1],
                until.map_or(received, |until| until.max(received)),
                OpenRequestEvent::Close,
            ));
        }
    }
    events.sort_unstable();
    let mut ambiguous = vec![false; scored.calls.len()];
    for node in events.chunk_by(|one, other| one.0 == other.0) {
        let mut open = 0usize;
        for (_, _, event) in node {
            match event {
                OpenRequestEvent::Open => open += 1,
                OpenRequestEvent::Call(number) => ambiguous[*number] = open > 1,
                OpenRequestEvent::Close => open = open.saturating_sub(1),
            }
        }
    }
    ambiguous
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_open_requests_make_a_call_ambiguous() {
        // a receives at 0 and 20, and calls at 10, 30 and 40. The first is answered at 35.
        let mut scored = ScoredCalls::from_rows(&[
            ("c", "a", None, None, 1.0),
            ("a", "b", Some(0), None, 1.0),
            ("c", "a", None, None, 1.0),
            ("a", "b", Some(2), None, 1.0),
            ("a", "b", Some(2), None, 1.0),
        ]);
        scored.calls[0].answered = Some(35);
        assert_eq!(find_ambiguous(&scored), [false, false, false, true, false]);
        // Without a response the first is open until its last call, at 10.
        scored.calls[0].answered = None;
        assert_eq!(find_ambiguous(&scored), [false; 5]);
    }
}
