//! Connections that carry many calls at once (HTTP/2, AMQP, pipelining): which answer is to which request, as far as that can be told
//! without reading anything, and how doubtful it is.
//!
//! Answers are given to the requests that are open in the order in which those were made, which is right where one is open and a
//! guess where several are. Messages of the connection's own (acknowledgements, pings, what closes a stream) are no requests and
//! no answers; they are small, and they must not shift all that is behind them. Nor must requests that were never answered, or several
//! that one write held: the number that is open goes up and down, and what it gets below no more is not open.

use std::collections::VecDeque;

use message_trace::{FROM_CONNECTING, MessageTrace};

use super::{Calls, NONE};

/// At least so many messages of each direction tell what is usual.
const FEWEST: usize = 64;
/// Messages of a connection's own are at most so large.
const SMALL: i64 = 64;
/// One turn in so many has more than a message, on both sides.
const SELDOM: usize = 5;
/// What is open is compared with what will be at so many answers from then on.
const AHEAD: usize = 64;

/// Whether the flow of these rows, which are in order with their times, is a connection with many calls at once. If not, messages
/// of the connection's own leave `rows`.
pub(super) fn carries_many(trace: &MessageTrace, rows: &mut Vec<(i64, u32)>) -> bool {
    pair(trace, rows, &mut Vec::new())
}

/// Appends the pairs of a flow if it is a connection with many calls at once. `rows` are in order, with their times. If not, only
/// messages of the connection's own are paired with nothing and leave `rows`, and the rest takes turns.
pub(super) fn pair(trace: &MessageTrace, rows: &mut Vec<(i64, u32)>, pairs: &mut Vec<(u32, u32)>) -> bool {
    let is_connection = |row: u32| trace.message(row as usize).protocol.has_connections();
    if rows.len() < 2 * FEWEST || !rows.first().is_some_and(|(_, row)| is_connection(*row)) {
        return false;
    }
    let usual = [true, false].map(|is_request| usual(trace, rows, is_request));
    let [Some(requests), Some(answers)] = usual else { return false };
    let is_below = |row: u32, usual: i64| {
        let bytes = trace.bytes(row as usize);
        (1..=SMALL).contains(&bytes) && 2 * bytes < usual
    };
    // Of calls that are open together nothing else tells, so these have to be rare.
    let is_small = |row: u32| is_below(row, if is_request(trace, row) { requests.0 } else { answers.0 });
    let larger: Vec<u32> = rows.iter().map(|(_, row)| *row).filter(|row| !is_small(*row)).collect();
    if is_multiplexed(trace, &larger) {
        let own = rows.iter().map(|(_, row)| *row).filter(|row| is_small(*row));
        pairs.extend(own.map(|row| alone(trace, row)));
        in_order(trace, &larger, pairs);
        return true;
    }
    // Where the sides take turns, a small request that another one follows at once has no answer.
    let follows = |place: usize| rows.get(place + 1).is_some_and(|(_, next)| is_request(trace, *next));
    let is_own = |place: usize| {
        let (_, row) = rows[place];
        is_request(trace, row) && is_below(row, requests.1) && follows(place)
    };
    let own: Vec<bool> = (0..rows.len()).map(is_own).collect();
    let mut place = 0;
    rows.retain(|(_, row)| {
        let is_own = own[place];
        place += 1;
        pairs.extend(is_own.then(|| alone(trace, *row)));
        !is_own
    });
    false
}

fn is_request(trace: &MessageTrace, row: u32) -> bool {
    trace.direction(row as usize) == FROM_CONNECTING
}

fn alone(trace: &MessageTrace, row: u32) -> (u32, u32) {
    if is_request(trace, row) { (row, NONE) } else { (NONE, row) }
}

/// The sizes that nine in ten of the requests, or of the answers, have at least, and half of them; `None` where there are too few
/// to tell.
fn usual(trace: &MessageTrace, rows: &[(i64, u32)], requests: bool) -> Option<(i64, i64)> {
    let of_side = rows.iter().filter(|(_, row)| is_request(trace, *row) == requests);
    let mut sizes: Vec<i64> = of_side.map(|(_, row)| trace.bytes(*row as usize)).collect();
    sizes.sort_unstable();
    (sizes.len() >= FEWEST).then(|| (sizes[sizes.len() / 10], sizes[sizes.len() / 2]))
}

/// Whether both sides often send several messages without a turn of the other, about as many as it.
fn is_multiplexed(trace: &MessageTrace, rows: &[u32]) -> bool {
    let requests = rows.iter().filter(|row| is_request(trace, **row)).count();
    let answers = rows.len() - requests;
    let is_turn = |pair: &&[u32]| !is_request(trace, pair[0]) && is_request(trace, pair[1]);
    let turns = 1 + rows.windows(2).filter(is_turn).count();
    let more = |messages: usize| messages.saturating_sub(turns) * SELDOM >= turns;
    more(requests) && more(answers) && 2 * requests <= 3 * answers && 2 * answers <= 3 * requests
}

/// Appends the pairs of `rows`, each answer with the request that has been open longest.
fn in_order(trace: &MessageTrace, rows: &[u32], pairs: &mut Vec<(u32, u32)>) {
    // How many more requests than answers there were, behind each answer.
    let mut balance = 0_i64;
    let behind = |row: &u32| {
        balance += if is_request(trace, *row) { 1 } else { -1 };
        (!is_request(trace, *row)).then_some(balance)
    };
    let behind: Vec<i64> = rows.iter().filter_map(behind).collect();
    let least = least_ahead(&behind);
    let mut open: VecDeque<u32> = VecDeque::new();
    let mut answers = behind.iter().zip(least);
    for row in rows {
        if is_request(trace, *row) {
            open.push_back(*row);
            continue;
        }
        let (behind, least) = answers.next().unwrap_or((&0, 0));
        // With the one that is answered now.
        let really_open = usize::try_from(behind - least + 1).unwrap_or(1);
        let given_up = open.len().saturating_sub(really_open);
        pairs.extend(open.drain(..given_up).map(|request| (request, NONE)));
        pairs.push((open.pop_front().unwrap_or(NONE), *row));
    }
    pairs.extend(open.into_iter().map(|request| (request, NONE)));
}

/// Of each value the least of it and the [`AHEAD`] values behind it.
fn least_ahead(values: &[i64]) -> Vec<i64> {
    // Values that may be the least, from the end on, with their places; the least stands first.
    let mut candidates: VecDeque<(i64, usize)> = VecDeque::new();
    let mut least = vec![0; values.len()];
    for (place, value) in values.iter().enumerate().rev() {
        while candidates.back().is_some_and(|(other, _)| other >= value) {
            candidates.pop_back();
        }
        candidates.push_back((*value, place));
        while candidates.front().is_some_and(|(_, other)| *other > place + AHEAD) {
            candidates.pop_front();
        }
        least[place] = candidates.front().map_or(*value, |(value, _)| *value);
    }
    least
}

/// How doubtful each call's pairing is, from 0 on: where n calls of a flow were open when the answer came, it may be any one's. Calls
/// with ids are sure. Calls that are sure are left out; the others are in order.
pub(super) fn doubts(trace: &MessageTrace, calls: &Calls) -> Vec<(u32, f32)> {
    // All that was asked or answered, flow by flow in the order of the caller's time.
    let mut events: Vec<(i64, i64, u32, bool)> = Vec::new();
    for call in 0..calls.len() {
        let (Some(request), Some(response)) = (calls.request(call), calls.response(call)) else { continue };
        if trace.call_number(request).is_some() {
            continue;
        }
        // Both on one clock: the caller's or, where that was not seen, the callee's.
        let by_caller = trace.send_ts(request).zip(trace.recv_ts(response));
        let by_callee = || trace.recv_ts(request).zip(trace.send_ts(response));
        let Some((asked, answered)) = by_caller.or_else(by_callee) else { continue };
        let flow = trace.flow(request);
        events.push((flow, asked, call as u32, false));
        events.push((flow, answered.max(asked.saturating_add(1)), call as u32, true));
    }
    events.sort_unstable_by_key(|(flow, time, call, is_answer)| (*flow, *time, *is_answer, *call));
    let mut doubts = Vec::new();
    let (mut open, mut of) = (0_u32, None);
    for (flow, _, call, is_answer) in events {
        if of != Some(flow) {
            (open, of) = (0, Some(flow));
        }
        if !is_answer {
            open += 1;
            continue;
        }
        if open > 1 {
            doubts.push((call, 1.0 - 1.0 / open as f32));
        }
        open = open.saturating_sub(1);
    }
    doubts.sort_unstable_by_key(|(call, _)| *call);
    doubts
}

#[cfg(test)]
#[path = "multiplexed_tests.rs"]
mod tests;
