//! Multiplexed connections, which carry many calls at the same time (HTTP/2, AMQP, pipelining):
//! pairs responses with requests, as far as possible without reading contents, and estimates how
//! uncertain each pair is.
//!
//! Responses are assigned to open requests in the order of the requests. That is right while one
//! request is open. If several are open, the statistics of the connection show which is likelier
//! ([`likelihood`]). Control messages (acknowledgements, pings, the closing of a stream) are
//! neither requests nor responses. They are small, and must not shift all later pairs. Nor must
//! requests that were never answered, or several requests in one write: the number of open requests
//! goes up and down, and requests that are never closed again do not count as open.

mod likelihood;

use std::collections::VecDeque;

use message_trace::{FROM_CONNECTING, FlowId, MessageId, MessageTrace};
use rustc_hash::FxHashSet;

use super::{CallId, Calls, MessagePair, in_order};
use crate::tuning::calls::multiplexed::{
    ALTERNATIONS_PER_CROSSING, ALTERNATIONS_PER_LONG_RUN, ANSWERS_AHEAD, MAX_CONTROL_BYTES,
    MIN_CROSSINGS, MIN_MESSAGES, MIN_MISPAIRING, WALK_SHARE,
};
use likelihood::{ConcurrentCalls, ObservedCall};

/// Returns whether a flow is a multiplexed connection. `rows` are the flow's messages with their
/// times, in order. If the flow is not multiplexed, control messages are removed from `rows`.
pub(super) fn is_multiplexed_flow(trace: &MessageTrace, rows: &mut Vec<(i64, MessageId)>) -> bool {
    pair_multiplexed(trace, rows, &mut Vec::new())
}

/// Appends the pairs of a flow if it is a multiplexed connection, and returns whether it is. `rows`
/// are the flow's messages with their times, in order. If the flow is not multiplexed, only its
/// control messages are appended, unpaired, and removed from `rows`; the caller pairs the other
/// messages by alternation.
pub(super) fn pair_multiplexed(
    trace: &MessageTrace,
    rows: &mut Vec<(i64, MessageId)>,
    pairs: &mut Vec<MessagePair>,
) -> bool {
    let is_connection = |row: MessageId| trace.message(row).protocol.has_connections();
    if rows.len() < 2 * MIN_MESSAGES || !rows.first().is_some_and(|(_, row)| is_connection(*row)) {
        return false;
    }
    let usual = [true, false].map(|is_request| usual_sizes(trace, rows, is_request));
    let [Some(requests), Some(answers)] = usual else { return false };
    let is_below = |row: MessageId, usual: i64| {
        let bytes = trace.bytes(row);
        (1..=MAX_CONTROL_BYTES).contains(&bytes) && 2 * bytes < usual
    };
    // Nothing else distinguishes concurrent calls, so control messages have to be rare.
    let is_small =
        |row: MessageId| is_below(row, if is_request(trace, row) { requests.0 } else { answers.0 });
    let larger: Vec<MessageId> =
        rows.iter().map(|(_, row)| *row).filter(|row| !is_small(*row)).collect();
    if is_multiplexed(trace, &larger) {
        let control = rows.iter().map(|(_, row)| *row).filter(|row| is_small(*row));
        pairs.extend(control.map(|row| unpaired_message(trace, row)));
        let first = pairs.len();
        pair_by_order(trace, &larger, pairs);
        assign_likeliest_responses(trace, &mut pairs[first..]);
        return true;
    }
    // If the sides alternate, a small request that is directly followed by another request has no
    // response.
    let follows =
        |place: usize| rows.get(place + 1).is_some_and(|(_, next)| is_request(trace, *next));
    let is_control = |place: usize| {
        let (_, row) = rows[place];
        is_request(trace, row) && is_below(row, requests.1) && follows(place)
    };
    let control: Vec<bool> = (0..rows.len()).map(is_control).collect();
    let mut place = 0;
    rows.retain(|(_, row)| {
        let is_control = control[place];
        place += 1;
        pairs.extend(is_control.then(|| unpaired_message(trace, *row)));
        !is_control
    });
    false
}

fn is_request(trace: &MessageTrace, row: MessageId) -> bool {
    trace.direction(row) == FROM_CONNECTING
}

fn unpaired_message(trace: &MessageTrace, row: MessageId) -> MessagePair {
    if is_request(trace, row) { (Some(row), None) } else { (None, Some(row)) }
}

/// Returns the tenth percentile and the median of the sizes of the requests, or of the responses;
/// `None` if there are too few.
fn usual_sizes(
    trace: &MessageTrace,
    rows: &[(i64, MessageId)],
    requests: bool,
) -> Option<(i64, i64)> {
    let of_side = rows.iter().filter(|(_, row)| is_request(trace, *row) == requests);
    let mut sizes: Vec<i64> = of_side.map(|(_, row)| trace.bytes(*row)).collect();
    sizes.sort_unstable();
    (sizes.len() >= MIN_MESSAGES).then(|| (sizes[sizes.len() / 10], sizes[sizes.len() / 2]))
}

/// Returns whether both sides often send several messages before the other side does, and about
/// equally many.
fn is_multiplexed(trace: &MessageTrace, rows: &[MessageId]) -> bool {
    let requests = rows.iter().filter(|row| is_request(trace, **row)).count();
    let answers = rows.len() - requests;
    let is_turn = |pair: &&[MessageId]| !is_request(trace, pair[0]) && is_request(trace, pair[1]);
    let turns = 1 + rows.windows(2).filter(is_turn).count();
    let more =
        |messages: usize| messages.saturating_sub(turns) * ALTERNATIONS_PER_LONG_RUN >= turns;
    let is_even = 2 * requests <= 3 * answers && 2 * answers <= 3 * requests;
    is_even
        && (more(requests) && more(answers)
            || (has_crossing_messages(trace, rows, turns) && open_count_is_stationary(trace, rows)))
}

/// Returns whether some request and response were under way at the same time, which does not happen
/// if the sides alternate.
fn has_crossing_messages(trace: &MessageTrace, rows: &[MessageId], turns: usize) -> bool {
    let mut crossing = 0;
    for two in rows.windows(2) {
        let [one, other] = [two[0], two[1]];
        let crosses = |one: MessageId, other: MessageId| {
            let before = trace
                .send_ts(one)
                .zip(trace.arrival_time(other))
                .is_some_and(|(sent, came)| sent < came);
            before
                && trace
                    .send_ts(other)
                    .zip(trace.arrival_time(one))
                    .is_some_and(|(sent, came)| sent < came)
        };
        crossing += usize::from(
            is_request(trace, two[0]) != is_request(trace, two[1]) && crosses(one, other),
        );
    }
    crossing >= MIN_CROSSINGS && crossing * ALTERNATIONS_PER_CROSSING >= turns
}

/// Returns whether the number of open requests keeps returning to its earlier level.
fn open_count_is_stationary(trace: &MessageTrace, rows: &[MessageId]) -> bool {
    let (mut open, mut least, mut most) = (0_i64, 0, 0);
    for row in rows {
        open += if is_request(trace, *row) { 1 } else { -1 };
        (least, most) = (open.min(least), open.max(most));
    }
    (most - least) as f64 <= WALK_SHARE * (rows.len() as f64).sqrt()
}

/// Appends the pairs of `rows`; each response is paired with the request that has been open
/// longest.
fn pair_by_order(trace: &MessageTrace, rows: &[MessageId], pairs: &mut Vec<MessagePair>) {
    // Number of requests minus number of responses, after each response.
    let mut balance = 0_i64;
    let balance_after = |row: &MessageId| {
        balance += if is_request(trace, *row) { 1 } else { -1 };
        (!is_request(trace, *row)).then_some(balance)
    };
    let balance_after: Vec<i64> = rows.iter().filter_map(balance_after).collect();
    let least = least_ahead(&balance_after);
    let mut open: VecDeque<MessageId> = VecDeque::new();
    let mut answers = balance_after.iter().zip(least);
    for row in rows {
        if is_request(trace, *row) {
            open.push_back(*row);
            continue;
        }
        let (balance_after, least) = answers.next().unwrap_or((&0, 0));
        // Including the request that is answered now.
        let really_open = usize::try_from(balance_after - least + 1).unwrap_or(1);
        let given_up = open.len().saturating_sub(really_open);
        pairs.extend(open.drain(..given_up).map(|request| (Some(request), None)));
        pairs.push((open.pop_front(), Some(*row)));
    }
    pairs.extend(open.into_iter().map(|request| (Some(request), None)));
}

/// Returns for each value the minimum of it and the [`ANSWERS_AHEAD`] values after it.
fn least_ahead(values: &[i64]) -> Vec<i64> {
    // Candidates for the minimum, from the end on, with their positions; the minimum is first.
    let mut candidates: VecDeque<(i64, usize)> = VecDeque::new();
    let mut least = vec![0; values.len()];
    for (place, value) in values.iter().enumerate().rev() {
        while candidates.back().is_some_and(|(other, _)| other >= value) {
            candidates.pop_back();
        }
        candidates.push_back((*value, place));
        while candidates.front().is_some_and(|(_, other)| *other > place + ANSWERS_AHEAD) {
            candidates.pop_front();
        }
        least[place] = candidates.front().map_or(*value, |(value, _)| *value);
    }
    least
}

/// The end of a call with the clock that its times are read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ObservingEnd {
    Caller,
    Callee,
}

/// Returns a call by the clock of one of its ends, if that end saw both messages.
fn call_seen_by(
    trace: &MessageTrace,
    by: ObservingEnd,
    (request, answer): (MessageId, MessageId),
) -> Option<ObservedCall> {
    let times = match by {
        ObservingEnd::Caller => trace.send_ts(request).zip(trace.arrival_time(answer)),
        ObservingEnd::Callee => trace.arrival_time(request).zip(trace.send_ts(answer)),
    };
    let seen = match by {
        ObservingEnd::Caller => trace.send_ts(answer),
        ObservingEnd::Callee => trace.arrival_time(answer),
    };
    let bytes = [request, answer].map(|row| trace.bytes(row));
    times.map(|(asked, answered)| ObservedCall { request, answer, asked, answered, seen, bytes })
}

/// Returns the calls of a flow by the clock of one of its ends; `None` if neither end saw all of
/// them.
fn concurrent_calls(
    trace: &MessageTrace,
    pairs: &[(MessageId, MessageId)],
) -> Option<ConcurrentCalls> {
    let by = |by: ObservingEnd| {
        pairs
            .iter()
            .map(|pair| call_seen_by(trace, by, *pair))
            .collect::<Option<Vec<ObservedCall>>>()
    };
    by(ObservingEnd::Callee).or_else(|| by(ObservingEnd::Caller)).map(ConcurrentCalls::new)
}

/// Assigns the responses of a flow to the likeliest requests. `pairs` are in the order of the
/// requests, and of the responses.
fn assign_likeliest_responses(trace: &MessageTrace, pairs: &mut [MessagePair]) {
    let call = |(request, answer): &MessagePair| request.zip(*answer);
    let calls: Vec<(MessageId, MessageId)> = pairs.iter().filter_map(call).collect();
    let Some(together) = concurrent_calls(trace, &calls) else { return };
    let places = pairs.iter_mut().filter(|pair| call(pair).is_some());
    places
        .zip(together.into_likeliest_pairs())
        .for_each(|(pair, call)| *pair = (Some(call.request), Some(call.answer)));
}

/// Returns the mispairing probabilities of the calls that overlap others on their flow, in order.
/// Calls without a possible mispairing, such as all calls with ids, are omitted.
pub(super) fn mispairing_probabilities(trace: &MessageTrace, calls: &Calls) -> Vec<(CallId, f32)> {
    let mut of_flow: Vec<(FlowId, MessageId, Option<MessageId>)> = Vec::new();
    // Flows with responses to requests that were not seen.
    let mut with_unseen: FxHashSet<FlowId> = FxHashSet::default();
    for call in calls.iter() {
        let Some(request) = calls.request(call) else {
            with_unseen.extend(calls.response(call).map(|row| trace.flow(row)));
            continue;
        };
        if trace.call_number(request).is_none() {
            of_flow.push((trace.flow(request), request, calls.response(call)));
        }
    }
    of_flow.sort_unstable();
    let mut mispairings: Vec<(CallId, f32)> = Vec::new();
    let mut pairs: Vec<(MessageId, MessageId)> = Vec::new();
    for flow in of_flow.chunk_by(|one, other| one.0 == other.0).filter(|flow| flow.len() > 1) {
        let calls_of_flow = flow.iter().map(|(_, request, response)| (Some(*request), *response));
        let is_complete = trace.beyond.uneven.is_none() && !with_unseen.contains(&flow[0].0);
        if is_complete && in_order::are_paired_in_order(trace, calls_of_flow.clone()) {
            continue;
        }
        pairs.clear();
        pairs.extend(calls_of_flow.filter_map(|(request, response)| request.zip(response)));
        let is_answered =
            |(_, _, response): &&(FlowId, MessageId, Option<MessageId>)| response.is_some();
        let Some(together) =
            concurrent_calls(trace, &pairs).filter(|together| !together.never_overlap())
        else {
            continue;
        };
        let found = together.mispairing_probabilities();
        let mean = found.iter().map(|(_, probability)| probability).sum::<f64>()
            / found.len().max(1) as f64;
        // The response to a call that seems unanswered may have been assigned to another call.
        let left =
            flow.iter().filter(|call| !is_answered(call)).map(|(_, request, _)| (*request, mean));
        let all = found.iter().map(|(call, probability)| (call.request, *probability)).chain(left);
        let uncertain = all.filter(|(_, probability)| *probability >= MIN_MISPAIRING);
        mispairings.extend(
            uncertain.map(|(request, probability)| {
                (calls.of_message[request.index()], probability as f32)
            }),
        );
    }
    mispairings.sort_unstable_by_key(|(call, _)| *call);
    mispairings
}

#[cfg(test)]
#[path = "multiplexed_tests.rs"]
mod tests;
