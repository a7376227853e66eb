//! Responses in several fragments: a server reports that it has begun, and later that it is done
//! (FTP's 150 and 226).
//!
//! By the alternation of its connection a second reply answers nothing, and would be an unasked
//! message of the server. It looks the same as a notification of a subscription. The behaviour of
//! the client distinguishes the two, and is evaluated over all second replies at an accepting
//! endpoint together. A client that waits for the rest of a response sends its next request soon
//! after it, and is itself serving a request all the time. A client that waits for notifications
//! serves no request meanwhile.

use message_trace::{EndpointId, FROM_CONNECTING, FlowId, MessageId, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{MessagePair, connection};
use crate::tuning::calls::response_fragments::{
    AWAITED_SHARE, MIN_FRAGMENTS, SOONER_FACTOR, USUAL_SHARE,
};

/// A possible later fragment of a response.
struct ResponseFragment {
    row: MessageId,
    /// Index of the pair that the fragment may belong to.
    pair: usize,
    /// Nanoseconds for which the client waited for the fragment, since the previous reply.
    waited: i64,
    /// Nanoseconds from the fragment to the next request of the client; `None` if the client's next
    /// message is none.
    until_next: Option<i64>,
    /// Time of the client's request and of the arrival of the fragment, in nanoseconds, by the
    /// client's clock.
    span: Option<[i64; 2]>,
    client: NodeId,
}

/// Fragments and responses at one accepting endpoint.
#[derive(Default)]
struct EndpointFragments {
    fragments: Vec<ResponseFragment>,
    /// Durations of the calls, in nanoseconds.
    answers: Vec<i64>,
}

/// Adds later fragments of a response, which are unpaired, to its pair. The last fragment becomes
/// the response. Returns the fragments before it, each with the request that it answers.
pub(super) fn join_fragments(
    trace: &MessageTrace,
    pairs: &mut Vec<MessagePair>,
) -> Vec<(MessageId, MessageId)> {
    let mut endpoints = fragments_by_endpoint(trace, pairs);
    endpoints.retain(|_, endpoint| endpoint.fragments.len() >= MIN_FRAGMENTS);
    if endpoints.is_empty() {
        return Vec::new();
    }
    let served = OpenRequestSpans::from_pairs(trace, pairs);
    let mut joined = Vec::new();
    let mut before = Vec::new();
    for endpoint in endpoints.values_mut() {
        let usual = usual_duration(&mut endpoint.answers);
        let is_waited_for = |fragment: &ResponseFragment| {
            fragment.waited <= usual
                && fragment
                    .until_next
                    .is_some_and(|next| next.saturating_mul(SOONER_FACTOR) <= fragment.waited)
                && fragment.span.is_some_and(|span| served.covers(fragment.client, span))
        };
        let waited_for =
            endpoint.fragments.iter().filter(|fragment| is_waited_for(fragment)).count();
        if (waited_for as f64) < AWAITED_SHARE * endpoint.fragments.len() as f64 {
            continue;
        }
        // A message that comes much later than responses do is no fragment at this endpoint either.
        for fragment in endpoint.fragments.iter().filter(|fragment| fragment.waited <= usual) {
            let (request, response) = &mut pairs[fragment.pair];
            before.extend(response.zip(*request));
            *response = Some(fragment.row);
            joined.push(fragment.row);
        }
    }
    let joined: FxHashSet<MessageId> = joined.into_iter().collect();
    pairs.retain(|(request, response)| {
        response.is_some() || !request.is_some_and(|request| joined.contains(&request))
    });
    before
}

/// Returns messages that look like second fragments of responses, and the durations of calls, by
/// accepting endpoint.
fn fragments_by_endpoint(
    trace: &MessageTrace,
    pairs: &[MessagePair],
) -> FxHashMap<EndpointId, EndpointFragments> {
    let mut endpoints: FxHashMap<EndpointId, EndpointFragments> = FxHashMap::default();
    let unasked_row = |(request, response): &MessagePair| {
        request.filter(|request| {
            response.is_none()
                && trace.direction(*request) != FROM_CONNECTING
                && trace.call_number(*request).is_none()
                && connection::is_connection(trace, *request)
        })
    };
    let mut flows: FxHashMap<FlowId, Vec<(i64, MessageId, usize)>> = FxHashMap::default();
    for row in pairs.iter().filter_map(unasked_row) {
        flows.entry(trace.flow(row)).or_default();
        endpoints.entry(trace.message(row).src_endpoint).or_default();
    }
    if flows.is_empty() {
        return endpoints;
    }
    for (place, (request, response)) in pairs.iter().enumerate() {
        for row in [*request, *response].into_iter().flatten() {
            if let Some(rows) = flows.get_mut(&trace.flow(row)) {
                let [connecting, accepting] = connection::times_at_ends(trace, row);
                let time = connecting.or(accepting).unwrap_or_default();
                rows.push((time, row, place));
            }
        }
        if let Some((request, response)) = request.zip(*response) {
            let endpoint = endpoints.get_mut(&trace.message(request).dst_endpoint);
            if let Some((endpoint, took)) = endpoint.zip(time_between(trace, request, response)) {
                endpoint.answers.push(took);
            }
        }
    }
    for rows in flows.values_mut() {
        rows.sort_unstable();
        for at in 1..rows.len() {
            let (_, row, place) = rows[at];
            let (_, last, pair) = rows[at - 1];
            let (request, response) = pairs[pair];
            let is_after_response = response == Some(last) && unasked_row(&pairs[place]).is_some();
            let Some(request) = request.filter(|_| is_after_response) else { continue };
            let Some(waited) = time_between(trace, last, row) else { continue };
            let next = rows.get(at + 1).map(|(_, next, _)| *next);
            let next = next.filter(|next| trace.direction(*next) == FROM_CONNECTING);
            let until_next = next.and_then(|next| time_between(trace, row, next));
            let sent = trace.send_ts(request);
            let span = sent.zip(trace.arrival_time(row)).map(|(from, until)| [from, until]);
            let message = trace.message(row);
            let fragment =
                ResponseFragment { row, pair, waited, until_next, span, client: message.dst };
            endpoints.entry(message.src_endpoint).or_default().fragments.push(fragment);
        }
    }
    endpoints
}

/// Returns the time in nanoseconds from message `one` of a connection to message `other`, by the
/// clock of an end that saw both; `None` if neither end did.
fn time_between(trace: &MessageTrace, one: MessageId, other: MessageId) -> Option<i64> {
    let (one, other) =
        (connection::times_at_ends(trace, one), connection::times_at_ends(trace, other));
    one.into_iter().zip(other).find_map(|(one, other)| Some(other? - one?))
}

/// Returns the longest of the durations `took` except a few outliers; 0 if there are none.
fn usual_duration(took: &mut [i64]) -> i64 {
    if took.is_empty() {
        return 0;
    }
    let place = ((took.len() - 1) as f64 * USUAL_SHARE) as usize;
    *took.select_nth_unstable(place).1
}

/// Time spans in which each node had a request open, by its own clock.
struct OpenRequestSpans(FxHashMap<NodeId, Vec<[i64; 2]>>);

impl OpenRequestSpans {
    fn from_pairs(trace: &MessageTrace, pairs: &[MessagePair]) -> OpenRequestSpans {
        let mut served: FxHashMap<NodeId, Vec<[i64; 2]>> = FxHashMap::default();
        for (request, response) in
            pairs.iter().filter_map(|(request, response)| request.zip(*response))
        {
            let span = trace.arrival_time(request).zip(trace.send_ts(response));
            if let Some((from, until)) = span {
                served.entry(trace.message(request).dst).or_default().push([from, until]);
            }
        }
        for spans in served.values_mut() {
            spans.sort_unstable();
            // Each end becomes the latest end of all spans that have begun by then.
            let mut latest = i64::MIN;
            for [_, until] in spans {
                latest = latest.max(*until);
                *until = latest;
            }
        }
        OpenRequestSpans(served)
    }

    /// Returns whether one request was open at `node` from `from` until `until`.
    fn covers(&self, node: NodeId, [from, until]: [i64; 2]) -> bool {
        let Some(spans) = self.0.get(&node) else { return false };
        let begun = spans.partition_point(|span| span[0] <= from);
        begun > 0 && spans[begun - 1][1] >= until
    }
}

#[cfg(test)]
#[path = "continued_tests.rs"]
mod tests;
