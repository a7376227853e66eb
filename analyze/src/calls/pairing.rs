//! Pairing: finds the request and the response of each call. They have one call id or, if the
//! source has no ids, are paired by the turns of their connection or, if no connection is known
//! either, by their order (Project 5, section 5.1.1.1).
//!
//! An id pairs two messages of opposite directions. A clock that timed both shows which is the
//! request: the sender of a request receives the response later. On a connection without ids the
//! k-th request of the connecting side is answered by the k-th merged message back. If the two
//! sides sent different numbers of messages, some request has no response, or a message came in
//! several fragments. Only on a connection with different numbers, open requests are dropped at the
//! next turn of the connecting side; otherwise one unanswered request or split message would shift
//! all later pairs. Also only there, a request that was lost in transit is not the answered one if
//! another one was not lost.
//!
//! If all messages have roles without ids, the order is certain ([`super::in_order`]). If
//! operations have ids, a message without one may be a control message (`flows_with_ids`).
//!
//! A message is received with its first byte: its receiver may read the rest later, after its
//! response (the record that closes a FastCGI request). A message that the accepting side sent
//! before the first byte of a request arrived is not its response, whatever the order suggests.
//!
//! If the accepting side speaks first, the connection setup is the request and the greeting its
//! response. If the setup was not seen, because the connection is older than the recording or was
//! imported, the first message answers something unknown: it is a response without a request, and
//! not part of the turns after it.
//!
//! A trace may show only which node calls which. Then all calls from one node to another are one
//! flow with unnamed endpoints. Many calls are open at the same time, so there are no turns: each
//! return is matched with the earliest unmatched call. Calls with a non-unique id are matched in
//! the same way if there are as many returns. If there are fewer, because a call was sent again or
//! its return was lost, the latest call is the answered one.

use std::collections::VecDeque;

use message_trace::{FROM_CONNECTING, MessageTrace, OperationRole};
use rustc_hash::FxHashSet;

use super::connection::{is_connection, row_direction, times_at_ends};
use super::flows_with_ids::{FlowsWithIds, MessageWithoutId};
use super::greetings::ConnectionGreetings;
use super::{NONE, by_roles, in_order, multiplexed};
use crate::tuning::calls::pairing::{MAX_LOST, PARTITIONS};
use out_of_core::workers;

/// The rows of a request and its response; [`NONE`] stands for a missing one, but not for both.
type MessagePair = (u32, u32);

/// Returns all pairs of `trace`, in no particular order.
pub(super) fn pair_messages(trace: &MessageTrace, id_flows: &FlowsWithIds) -> Vec<MessagePair> {
    // Flows are paired independently, on all cores.
    let mut parts: Vec<u64> = (0..PARTITIONS).collect();
    let size = trace.len() / parts.len();
    workers::for_each_item(
        &mut parts,
        |_| size,
        |part, pairs| pair_partition(trace, id_flows, *part, pairs),
    )
    .concat()
}

/// Appends the pairs of the flows of one partition.
fn pair_partition(
    trace: &MessageTrace,
    id_flows: &FlowsWithIds,
    part: u64,
    pairs: &mut Vec<MessagePair>,
) {
    let mut with_id: Vec<(i64, u32, u32)> = Vec::new();
    let mut without: Vec<(i64, u32)> = Vec::new();
    let mut silent: Vec<MessagePair> = Vec::new();
    let mut greetings = ConnectionGreetings::default();
    for row in 0..trace.len() {
        let flow = trace.flow(row);
        // Numbers of flows are often multiples of some number, so they are hashed.
        if (flow as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (PARTITIONS - 1) != part {
            continue;
        }
        if id_flows.has_ids(flow) {
            greetings.note_message(trace, row as u32);
        }
        match trace.call_number(row) {
            Some(call) => with_id.push((flow, call, row as u32)),
            None => match id_flows.classify_without_id(trace, row) {
                MessageWithoutId::MayPair => without.push((flow, row as u32)),
                MessageWithoutId::OneWay => silent.push((row as u32, NONE)),
                MessageWithoutId::Own => silent.push(unpaired_message(trace, row as u32)),
            },
        }
    }
    let greeted = greetings.pair_greetings(trace, pairs);
    if !greeted.is_empty() {
        with_id.retain(|(_, _, row)| !greeted.contains(row));
        without.retain(|(_, row)| !greeted.contains(row));
        silent.retain(|(one, other)| !greeted.contains(one.min(other)));
    }
    pairs.append(&mut silent);
    // A message that could not be read, and so has no id, may be the partner of a message with an
    // id.
    let unread: FxHashSet<i64> =
        without.iter().map(|(flow, _)| *flow).filter(|flow| id_flows.has_ids(*flow)).collect();
    for (flow, row, is_request) in pair_by_id(trace, with_id, pairs) {
        match is_request {
            _ if unread.contains(&flow) => without.push((flow, row)),
            true => pairs.push((row, NONE)),
            false => pairs.push((NONE, row)),
        }
    }
    without.sort_unstable();
    let mut turns = AlternatingFlow::default();
    for flow in without.chunk_by(|one, other| one.0 == other.0) {
        // Facts about the rest of the trace count all messages as if none had an id.
        turns.with_ids = id_flows.has_ids(flow[0].0);
        let open = trace.beyond.open.get(&flow[0].0).copied().unwrap_or(0);
        let open = if turns.with_ids { 0 } else { open };
        turns.open.extend((0..open).map(|_| NONE));
        turns.rows.clear();
        turns.rows.extend(flow.iter().map(|(_, row)| (0, *row)));
        turns.pair_by_alternation(trace, pairs);
    }
}

/// Appends the pairs of messages given as flow, number of the id, and row. Returns the messages
/// that have a role but no partner: their flow, their row, and whether they are requests.
fn pair_by_id(
    trace: &MessageTrace,
    mut messages: Vec<(i64, u32, u32)>,
    pairs: &mut Vec<MessagePair>,
) -> Vec<(i64, u32, bool)> {
    messages.sort_unstable();
    let (mut alone, mut told_alone) = (Vec::new(), Vec::new());
    // Flows on which both sides call.
    let mut both_call: FxHashSet<i64> = FxHashSet::default();
    let mut open: VecDeque<u32> = VecDeque::new();
    for call in messages.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        if by_roles::have_roles(trace, call) {
            by_roles::pair_by_roles(trace, call, pairs, &mut told_alone);
            continue;
        }
        let connecting =
            call.iter().filter(|(_, _, row)| row_direction(trace, *row) == FROM_CONNECTING).count();
        let in_order = 2 * connecting == call.len();
        for (flow, _, row) in call {
            match open.front().copied() {
                Some(before) if row_direction(trace, before) != row_direction(trace, *row) => {
                    let pair = request_first(trace, before, *row);
                    if row_direction(trace, pair.0) != FROM_CONNECTING {
                        both_call.insert(*flow);
                    }
                    pairs.push(pair);
                    open.pop_front();
                }
                _ => {
                    if !in_order {
                        alone.extend(open.drain(..).map(|before| (*flow, before)));
                    }
                    open.push_back(*row);
                }
            }
        }
        alone.extend(open.drain(..).map(|open| (call[0].0, open)));
    }
    // The direction decides the role of a single message, unless the accepting side was seen to
    // call as well.
    pairs.extend(alone.into_iter().map(|(flow, row)| {
        let is_request = row_direction(trace, row) == FROM_CONNECTING || both_call.contains(&flow);
        if is_request { (row, NONE) } else { (NONE, row) }
    }));
    told_alone
}

/// Returns a message without a partner as request or response, by its direction.
fn unpaired_message(trace: &MessageTrace, row: u32) -> MessagePair {
    if row_direction(trace, row) == FROM_CONNECTING { (row, NONE) } else { (NONE, row) }
}

/// Orders two messages of opposite directions as request and response.
fn request_first(trace: &MessageTrace, one: u32, other: u32) -> MessagePair {
    let (a, b) = (one as usize, other as usize);
    let before = |at: Option<i64>, then: Option<i64>| Some(at? <= then?);
    // By the sender's and the receiver's clock of the first message; likewise the other way round.
    let one_first = [
        before(trace.send_ts(a), trace.arrival_time(b)),
        before(trace.arrival_time(a), trace.send_ts(b)),
    ];
    let other_first = [
        before(trace.send_ts(b), trace.arrival_time(a)),
        before(trace.arrival_time(b), trace.send_ts(a)),
    ];
    let agree =
        |clocks: [Option<bool>; 2]| clocks.contains(&Some(true)) && !clocks.contains(&Some(false));
    match (agree(one_first), agree(other_first)) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        _ if row_direction(trace, one) == FROM_CONNECTING => (one, other),
        _ => (other, one),
    }
}

/// The messages of one flow, for pairing by turns.
#[derive(Default)]
struct AlternatingFlow {
    /// Time at which one of the ends saw each message, in nanoseconds, and the row of the message.
    rows: Vec<(i64, u32)>,
    /// Open requests.
    open: VecDeque<u32>,
    /// Whether other messages of the flow have ids.
    with_ids: bool,
}

impl AlternatingFlow {
    /// Appends the pairs of the flow, by the order in which one of its ends saw its messages.
    fn pair_by_alternation(&mut self, trace: &MessageTrace, pairs: &mut Vec<MessagePair>) {
        let mut missing = [0; 2];
        for (_, row) in &self.rows {
            for (missing, time) in missing.iter_mut().zip(times_at_ends(trace, *row)) {
                *missing += usize::from(time.is_none());
            }
        }
        // One end's own clock shows the turns, however far the two clocks differ. A message without
        // a time at this end is placed by the time of the other end.
        let end = usize::from(missing[0] > missing[1]);
        for (time, row) in &mut self.rows {
            *time = times_at_ends(trace, *row)[end]
                .unwrap_or_else(|| trace.message(*row as usize).sort_time());
        }
        self.rows.sort_unstable();
        let rows = self.rows.iter().map(|(_, row)| *row);
        // If the trace is a part only, messages that are missing in other parts are unknown.
        let is_whole = trace.beyond.uneven.is_none() && self.open.is_empty();
        if let Some(ordered) = is_whole.then(|| in_order::pair_in_order(trace, rows)).flatten() {
            pairs.extend(ordered);
            return;
        }
        if multiplexed::pair_multiplexed(trace, &mut self.rows, pairs) {
            self.open.clear();
            return;
        }
        let requests = self
            .rows
            .iter()
            .filter(|(_, row)| row_direction(trace, *row) == FROM_CONNECTING)
            .count();
        let is_connection = self.rows.first().is_some_and(|(_, row)| is_connection(trace, *row));
        let flow = self.rows.first().map_or(0, |(_, row)| trace.flow(*row as usize));
        let of_unseen = |(_, row): &&(i64, u32)| row_direction(trace, *row) != FROM_CONNECTING;
        let unseen = self.rows.first().filter(of_unseen).filter(|_| is_connection);
        let is_even = match trace.beyond.uneven.as_ref().filter(|_| !self.with_ids) {
            Some(uneven) => !uneven.contains(&flow),
            None => 2 * requests == self.rows.len() - usize::from(unseen.is_some()),
        };
        let in_order = is_even || !is_connection;
        if !in_order {
            self.open.clear();
        }
        let unseen = unseen.filter(|_| self.open.is_empty());
        pairs.extend(unseen.map(|(_, row)| (NONE, *row)));
        let mut answering = false;
        for (_, row) in self.rows.iter().skip(usize::from(unseen.is_some())) {
            if row_direction(trace, *row) == FROM_CONNECTING {
                if answering && !in_order {
                    pairs.extend(self.open.drain(..).map(|request| (request, NONE)));
                }
                answering = false;
                self.open.push_back(*row);
            } else {
                answering = true;
                if !in_order && self.open.front().is_some_and(|row| is_lost(trace, *row)) {
                    drop_lost_requests(trace, &mut self.open, pairs);
                }
                // A message without a request is sent unasked by the accepting side.
                let request = self.open.front().copied();
                let request =
                    request.filter(|request| !in_order::is_too_early(trace, *row, *request));
                // If other messages have ids, a message with the role of a response is no request.
                let answers = |row: u32| {
                    let operation = trace.operations(row as usize);
                    operation.is_some_and(|facts| facts.role == OperationRole::Response)
                };
                let is_answer = self.with_ids && answers(*row);
                let unasked = if is_answer { (NONE, *row) } else { (*row, NONE) };
                pairs.push(request.map_or(unasked, |request| (request, *row)));
                self.open.drain(..usize::from(request.is_some()));
            }
        }
        // Requests that were open before this part of the trace are not in it.
        pairs.extend(
            self.open.drain(..).filter(|request| *request != NONE).map(|request| (request, NONE)),
        );
    }
}

/// Before a response, drops the first `open` requests if they were lost and a request soon after
/// them was not: the later one is answered, as after the retransmission of a datagram.
fn drop_lost_requests(
    trace: &MessageTrace,
    open: &mut VecDeque<u32>,
    pairs: &mut Vec<MessagePair>,
) {
    let first = open.iter().take(MAX_LOST);
    let lost = first.take_while(|request| is_lost(trace, **request)).count();
    if lost < open.len().min(MAX_LOST) {
        pairs.extend(open.drain(..lost).map(|request| (request, NONE)));
    }
}

/// Returns whether a request is a datagram that is known not to have been received. A message over
/// a connection always arrives, even if the receiver was not traced.
fn is_lost(trace: &MessageTrace, row: u32) -> bool {
    if row == NONE || trace.recv_ts(row as usize).is_some() {
        return false;
    }
    let message = trace.message(row as usize);
    !message.protocol.has_connections()
        && trace.nodes.get(message.dst).is_some_and(|node| node.traced)
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
pub(super) mod tests;
