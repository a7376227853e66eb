//! Which messages are the request and the response of one call: those with one call id or, where the source knows none,
//! by the turns of their connection.
//!
//! An id pairs two messages of opposite directions. Which of them is the request is told by a clock that both were read
//! by: who sent a request receives the response later. On a connection without ids the k-th request of the connecting
//! side is answered by the k-th fat message back. Only where the two sides sent different numbers of messages, so that
//! something is not answered, or in several pieces, are requests that are still open forgotten when it is the
//! connecting side's turn again; else one such message would shift all pairs behind it.

use std::collections::VecDeque;

use message_trace::{FROM_CONNECTING, MessageTrace};
use rustc_hash::FxHashSet;

use super::NONE;

/// The rows of a request and its response; [`NONE`] is none, but not for both.
type Pair = (u32, u32);

/// All pairs of `trace`, in no particular order.
pub(super) fn pairs(trace: &MessageTrace) -> Vec<Pair> {
    let mut with_id: Vec<(i64, u32, u32)> = Vec::new();
    let mut without: Vec<(i64, u32)> = Vec::new();
    for row in 0..trace.len() {
        let flow = trace.message(row).flow;
        match trace.call_number(row) {
            Some(call) => with_id.push((flow, call, row as u32)),
            None => without.push((flow, row as u32)),
        }
    }
    let mut pairs = by_id(trace, with_id);
    without.sort_unstable();
    for flow in without.chunk_by(|one, other| one.0 == other.0) {
        by_turns(trace, flow.iter().map(|(_, row)| *row).collect(), &mut pairs);
    }
    pairs
}

/// The pairs of messages given as flow, number of the id, and row.
fn by_id(trace: &MessageTrace, mut messages: Vec<(i64, u32, u32)>) -> Vec<Pair> {
    messages.sort_unstable();
    let (mut pairs, mut alone) = (Vec::with_capacity(messages.len().div_ceil(2)), Vec::new());
    // Flows on which both sides call.
    let mut both_call: FxHashSet<i64> = FxHashSet::default();
    for call in messages.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let mut open: Option<u32> = None;
        for (flow, _, row) in call {
            match open {
                Some(before) if direction(trace, before) != direction(trace, *row) => {
                    let pair = ordered(trace, before, *row);
                    if direction(trace, pair.0) != FROM_CONNECTING {
                        both_call.insert(*flow);
                    }
                    pairs.push(pair);
                    open = None;
                }
                before => {
                    alone.extend(before.map(|before| (*flow, before)));
                    open = Some(*row);
                }
            }
        }
        alone.extend(open.map(|open| (call[0].0, open)));
    }
    // Of a single message its direction says what it is, unless the accepting side was seen to call as well.
    pairs.extend(alone.into_iter().map(|(flow, row)| {
        let is_request = direction(trace, row) == FROM_CONNECTING || both_call.contains(&flow);
        if is_request { (row, NONE) } else { (NONE, row) }
    }));
    pairs
}

fn direction(trace: &MessageTrace, row: u32) -> i8 {
    trace.message(row as usize).direction
}

/// Which of two messages of opposite directions is the request.
fn ordered(trace: &MessageTrace, one: u32, other: u32) -> Pair {
    let (a, b) = (one as usize, other as usize);
    let before = |at: Option<i64>, then: Option<i64>| Some(at? <= then?);
    // By the clock of one's sender, and by that of its receiver; the other way round likewise.
    let one_first = [before(trace.send_ts(a), trace.recv_ts(b)), before(trace.recv_ts(a), trace.send_ts(b))];
    let other_first =
        [before(trace.send_ts(b), trace.recv_ts(a)), before(trace.recv_ts(b), trace.send_ts(a))];
    let agree = |clocks: [Option<bool>; 2]| clocks.contains(&Some(true)) && !clocks.contains(&Some(false));
    match (agree(one_first), agree(other_first)) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        _ if direction(trace, one) == FROM_CONNECTING => (one, other),
        _ => (other, one),
    }
}

/// Appends the pairs of one flow's messages, by the order in which one of its ends saw them.
fn by_turns(trace: &MessageTrace, mut rows: Vec<u32>, pairs: &mut Vec<Pair>) {
    let connecting_end = |row: u32| match direction(trace, row) {
        FROM_CONNECTING => trace.send_ts(row as usize),
        _ => trace.recv_ts(row as usize),
    };
    let accepting_end = |row: u32| match direction(trace, row) {
        FROM_CONNECTING => trace.recv_ts(row as usize),
        _ => trace.send_ts(row as usize),
    };
    let missing = |end: &dyn Fn(u32) -> Option<i64>| rows.iter().filter(|row| end(**row).is_none()).count();
    let at_connecting = missing(&connecting_end) <= missing(&accepting_end);
    // One end's own clock tells the turns whatever the two clocks differ by. A message that this end has no time of
    // stands where the other end's puts it.
    rows.sort_by_key(|row| {
        let time = if at_connecting { connecting_end(*row) } else { accepting_end(*row) };
        (time.unwrap_or_else(|| trace.message(*row as usize).time()), *row)
    });
    let requests = rows.iter().filter(|row| direction(trace, **row) == FROM_CONNECTING).count();
    let all_answered = 2 * requests == rows.len();
    let mut open: VecDeque<u32> = VecDeque::new();
    let mut answering = false;
    for row in rows {
        if direction(trace, row) == FROM_CONNECTING {
            if answering && !all_answered {
                pairs.extend(open.drain(..).map(|request| (request, NONE)));
            }
            answering = false;
            open.push_back(row);
        } else {
            answering = true;
            // What nobody asked for is a message of the accepting side's own.
            pairs.push(open.pop_front().map_or((row, NONE), |request| (request, row)));
        }
    }
    pairs.extend(open.into_iter().map(|request| (request, NONE)));
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
pub(super) mod tests;
