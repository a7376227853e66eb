//! Pairing: finds the request and the response of each call. They have one call id or, if the
//! source has no ids, are paired by alternation (the two sides of their connection send in turn)
//! or, if no connection is known either, by their order (Project 5, section 5.1.1.1).
//!
//! An id pairs two messages of opposite directions. A clock that timed both shows which is the
//! request: the sender of a request receives the response later. On a connection without ids the
//! k-th request of the connecting side is answered by the k-th merged message back. If the two
//! sides sent different numbers of messages, the flow is uneven: some request has no response, or a
//! message came in several fragments. On uneven flows open requests are dropped when the connecting
//! side sends again after a response; otherwise one unanswered request or split message would shift
//! all later pairs. A request on such a flow that was lost in transit is not the answered one if
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
//! not part of the alternation after it.
//!
//! A trace may show only which node calls which. Then all calls from one node to another are one
//! flow with unnamed endpoints. Many calls are open at the same time, so the sides do not
//! alternate: each return is matched with the earliest unmatched call. Calls with a non-unique id
//! are matched in the same way if there are as many returns. If there are fewer, because a call was
//! sent again or its return was lost, the latest call is the answered one.

use std::collections::VecDeque;

use message_trace::{FROM_CONNECTING, FlowId, MessageId, MessageTrace, OperationRole};
use rustc_hash::FxHashSet;

use super::connection::{is_connection, row_direction, times_at_ends};
use super::flows_with_ids::{FlowsWithIds, MessageWithoutId};
use super::greetings::ConnectionGreetings;
use super::{MessagePair, by_roles, in_order, multiplexed};
use crate::tuning::calls::pairing::{MAX_LOST, PARTITIONS};
use out_of_core::workers;

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
    let mut with_id: Vec<(FlowId, u32, MessageId)> = Vec::new();
    let mut without: Vec<(FlowId, MessageId)> = Vec::new();
    // One-way messages and control messages.
    let mut unpaired: Vec<MessagePair> = Vec::new();
    let mut greetings = ConnectionGreetings::default();
    for message in trace.ids() {
        let flow = trace.flow(message);
        // Numbers of flows are often multiples of some number, so they are hashed.
        let hash = (flow.number() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if hash >> 32 & (PARTITIONS - 1) != part {
            continue;
        }
        if id_flows.has_ids(flow) {
            greetings.note_message(trace, message);
        }
        match trace.call_number(message) {
            Some(call) => with_id.push((flow, call, message)),
            None => match id_flows.classify_without_id(trace, message) {
                MessageWithoutId::MayPair => without.push((flow, message)),
                MessageWithoutId::OneWay => unpaired.push((Some(message), None)),
                MessageWithoutId::Control => unpaired.push(unpaired_message(trace, message)),
            },
        }
    }
    let greeted = greetings.pair_greetings(trace, pairs);
    if !greeted.is_empty() {
        with_id.retain(|(_, _, row)| !greeted.contains(row));
        without.retain(|(_, row)| !greeted.contains(row));
        unpaired.retain(|(one, other)| !one.iter().chain(other).any(|row| greeted.contains(row)));
    }
    pairs.append(&mut unpaired);
    // A message that could not be read, and so has no id, may be the partner of a message with an
    // id.
    let unread: FxHashSet<FlowId> =
        without.iter().map(|(flow, _)| *flow).filter(|flow| id_flows.has_ids(*flow)).collect();
    for (flow, row, is_request) in pair_by_id(trace, with_id, pairs) {
        match is_request {
            _ if unread.contains(&flow) => without.push((flow, row)),
            true => pairs.push((Some(row), None)),
            false => pairs.push((None, Some(row))),
        }
    }
    without.sort_unstable();
    let mut alternating = AlternatingFlow::default();
    for flow in without.chunk_by(|one, other| one.0 == other.0) {
        // The open requests of earlier batches were counted over messages without ids. On a
        // flow with ids, these are not exactly the messages that are paired here.
        alternating.with_ids = id_flows.has_ids(flow[0].0);
        let open = trace.beyond.open.get(&flow[0].0).copied().unwrap_or(0);
        let open = if alternating.with_ids { 0 } else { open };
        alternating.open.extend((0..open).map(|_| None));
        alternating.rows.clear();
        alternating.rows.extend(flow.iter().map(|(_, row)| (0, *row)));
        alternating.pair_by_alternation(trace, pairs);
    }
}

/// Appends the pairs of `messages`, which are given as flow, number of the id, and row. Returns
/// those that have a role but no partner: flow, row, and whether the message is a request.
fn pair_by_id(
    trace: &MessageTrace,
    mut messages: Vec<(FlowId, u32, MessageId)>,
    pairs: &mut Vec<MessagePair>,
) -> Vec<(FlowId, MessageId, bool)> {
    messages.sort_unstable();
    let (mut alone, mut alone_with_role) = (Vec::new(), Vec::new());
    // Flows on which both sides call.
    let mut both_call: FxHashSet<FlowId> = FxHashSet::default();
    let mut open: VecDeque<MessageId> = VecDeque::new();
    for call in messages.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        if by_roles::have_roles(trace, call) {
            by_roles::pair_by_roles(trace, call, pairs, &mut alone_with_role);
            continue;
        }
        let connecting =
            call.iter().filter(|(_, _, row)| row_direction(trace, *row) == FROM_CONNECTING).count();
        let in_order = 2 * connecting == call.len();
        for (flow, _, row) in call {
            match open.front().copied() {
                Some(before) if row_direction(trace, before) != row_direction(trace, *row) => {
                    let (request, response) = request_first(trace, before, *row);
                    if row_direction(trace, request) != FROM_CONNECTING {
                        both_call.insert(*flow);
                    }
                    pairs.push((Some(request), Some(response)));
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
        if is_request { (Some(row), None) } else { (None, Some(row)) }
    }));
    alone_with_role
}

/// Returns a message without a partner as request or response, by its direction.
fn unpaired_message(trace: &MessageTrace, row: MessageId) -> MessagePair {
    if row_direction(trace, row) == FROM_CONNECTING { (Some(row), None) } else { (None, Some(row)) }
}

/// Orders two messages of opposite directions as request and response.
fn request_first(trace: &MessageTrace, one: MessageId, other: MessageId) -> (MessageId, MessageId) {
    let (a, b) = (one, other);
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

/// The messages of one flow, for pairing by alternation.
#[derive(Default)]
struct AlternatingFlow {
    /// Time at which one of the ends saw each message, in nanoseconds, and the row of the message.
    rows: Vec<(i64, MessageId)>,
    /// Open requests, the earliest first; `None` for requests before this part of the trace.
    open: VecDeque<Option<MessageId>>,
    /// Whether other messages of the flow have ids.
    with_ids: bool,
}

impl AlternatingFlow {
    /// Sorts the messages by the clock of the end that saw more of them. One clock shows which side
    /// sent when, however far the two clocks differ. If both ends saw equally many messages, the
    /// end is taken at which more messages follow one of the other direction: a client may send its
    /// next requests before it reads responses that the server sent long ago.
    fn sort_by_clearest_end(&mut self, trace: &MessageTrace) {
        let mut missing = [0; 2];
        for (_, row) in &self.rows {
            for (missing, time) in missing.iter_mut().zip(times_at_ends(trace, *row)) {
                *missing += usize::from(time.is_none());
            }
        }
        self.sort_by_end(trace, usize::from(missing[0] > missing[1]));
        let turns = self.turn_count(trace);
        if missing[0] == missing[1] && turns + 1 < self.rows.len() {
            // A message that the accepting end sent unasked must not seem to come first.
            let first = self.rows[0].1;
            self.sort_by_end(trace, 1);
            if self.turn_count(trace) <= turns || self.rows[0].1 != first {
                self.sort_by_end(trace, 0);
            }
        }
    }

    /// Sorts the messages by the clock of the connecting end (0) or the accepting one (1). A
    /// message without a time at this end is placed by the time of the other end.
    fn sort_by_end(&mut self, trace: &MessageTrace, end: usize) {
        for (time, row) in &mut self.rows {
            *time =
                times_at_ends(trace, *row)[end].unwrap_or_else(|| trace.message(*row).sort_time());
        }
        self.rows.sort_unstable();
    }

    /// Number of messages that follow one of the other direction.
    fn turn_count(&self, trace: &MessageTrace) -> usize {
        let direction = |place: usize| row_direction(trace, self.rows[place].1);
        (1..self.rows.len()).filter(|place| direction(*place) != direction(place - 1)).count()
    }

    /// Appends the pairs of the flow, by the order in which one of its ends saw its messages.
    fn pair_by_alternation(&mut self, trace: &MessageTrace, pairs: &mut Vec<MessagePair>) {
        self.sort_by_clearest_end(trace);
        let rows = self.rows.iter().map(|(_, row)| *row);
        // Pairing in order needs all messages of the flow. If the trace is a part of another one
        // (`uneven` is set), other parts may lack some.
        let is_complete = trace.beyond.uneven.is_none() && self.open.is_empty();
        if let Some(ordered) = is_complete.then(|| in_order::pair_in_order(trace, rows)).flatten() {
            pairs
                .extend(ordered.into_iter().map(|(request, answer)| (Some(request), Some(answer))));
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
        let flow = self.rows.first().map(|(_, row)| trace.flow(*row)).unwrap_or_default();
        // A first message from the accepting side answers something that was not seen.
        let is_answer =
            |(_, row): &&(i64, MessageId)| row_direction(trace, *row) != FROM_CONNECTING;
        let first_answer = self.rows.first().filter(is_answer).filter(|_| is_connection);
        // In a part of a trace, the counts over the whole trace decide. They omit messages with
        // ids, so on a flow with ids the messages of the part are counted.
        let is_even = match trace.beyond.uneven.as_ref().filter(|_| !self.with_ids) {
            Some(uneven) => !uneven.contains(&flow),
            None => 2 * requests == self.rows.len() - usize::from(first_answer.is_some()),
        };
        let in_order = is_even || !is_connection;
        if !in_order {
            self.open.clear();
        }
        let first_answer = first_answer.filter(|_| self.open.is_empty());
        pairs.extend(first_answer.map(|(_, row)| (None, Some(*row))));
        let mut answering = false;
        for (_, row) in self.rows.iter().skip(usize::from(first_answer.is_some())) {
            if row_direction(trace, *row) == FROM_CONNECTING {
                if answering && !in_order {
                    pairs.extend(self.open.drain(..).map(|request| (request, None)));
                }
                answering = false;
                self.open.push_back(Some(*row));
            } else {
                answering = true;
                if !in_order && self.open.front().is_some_and(|row| is_lost(trace, *row)) {
                    drop_lost_requests(trace, &mut self.open, pairs);
                }
                // A message without a request is sent unasked by the accepting side.
                let request = self.open.front().copied();
                let request = request.filter(|request| {
                    request.is_none_or(|request| !in_order::is_too_early(trace, *row, request))
                });
                // If other messages have ids, a message with the role of a response is not a
                // request.
                let answers = |row: MessageId| {
                    let operation = trace.operations(row);
                    operation.is_some_and(|facts| facts.role == OperationRole::Response)
                };
                let is_answer = self.with_ids && answers(*row);
                let unasked = if is_answer { (None, Some(*row)) } else { (Some(*row), None) };
                pairs.push(request.map_or(unasked, |request| (request, Some(*row))));
                self.open.drain(..usize::from(request.is_some()));
            }
        }
        // Requests that were open before this part of the trace are not in it.
        pairs.extend(self.open.drain(..).filter(Option::is_some).map(|request| (request, None)));
    }
}

/// Drops the first `open` requests if they were lost and a request soon after them was not: the
/// next response answers the later one, as after the retransmission of a datagram.
fn drop_lost_requests(
    trace: &MessageTrace,
    open: &mut VecDeque<Option<MessageId>>,
    pairs: &mut Vec<MessagePair>,
) {
    let first = open.iter().take(MAX_LOST);
    let lost = first.take_while(|request| is_lost(trace, **request)).count();
    if lost < open.len().min(MAX_LOST) {
        pairs.extend(open.drain(..lost).map(|request| (request, None)));
    }
}

/// Returns whether a request is a datagram that is known not to have been received. A message over
/// a connection always arrives, even if the receiver was not traced.
fn is_lost(trace: &MessageTrace, row: Option<MessageId>) -> bool {
    let Some(row) = row.filter(|row| trace.recv_ts(*row).is_none()) else { return false };
    let message = trace.message(row);
    !message.protocol.has_connections()
        && trace.nodes.get(message.dst).is_some_and(|node| node.traced)
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
pub(super) mod tests;
