//! Pairing by order on connections where every message has a role (request or response) and none an
//! id, as with Redis. Such a protocol answers requests in order, so the k-th response is to the
//! k-th request, however many are open at a time and for however long. The statistics of the
//! connection then do not matter ([`super::multiplexed`]), and no pairing is uncertain.
//!
//! This rule holds only if all requests are answered, and all responses were recorded. Commands
//! that are not answered, responses that a server omits after an error, and messages that were not
//! recorded would shift all later pairs. So the rule applies only to connections on which in the
//! end each request has a response, each response a request, and no response was sent before its
//! request had arrived.

use message_trace::{FROM_CONNECTING, MessageId, MessageTrace, OperationRole};

use super::MessagePair;
use super::connection::{is_connection, row_direction};

/// Returns the requests of a connection with their responses; its `rows` are in the order in which
/// one end saw them. `None` if some message has no role or no partner.
pub(super) fn pair_in_order(
    trace: &MessageTrace,
    rows: impl Iterator<Item = MessageId> + Clone,
) -> Option<Vec<(MessageId, MessageId)>> {
    if !trace.has_operations() || !rows.clone().all(|row| has_role(trace, row)) {
        return None;
    }
    let is_request = |row: &MessageId| row_direction(trace, *row) == FROM_CONNECTING;
    let mut requests = rows.clone().filter(is_request);
    let (mut open, mut pairs) = (0_usize, Vec::new());
    for row in rows {
        if is_request(&row) {
            open += 1;
            continue;
        }
        open = open.checked_sub(1)?;
        let request = requests.next().filter(|request| !is_too_early(trace, row, *request))?;
        pairs.push((request, row));
    }
    (open == 0).then_some(pairs)
}

/// Returns whether the calls of a connection have the pairs that [`pair_in_order`] makes. `calls`
/// are all of its calls that have a request.
pub(super) fn are_paired_in_order(
    trace: &MessageTrace,
    calls: impl Iterator<Item = MessagePair> + Clone,
) -> bool {
    let is_pair = |(request, answer): MessagePair| {
        request.zip(answer).is_some_and(|(request, answer)| {
            has_role(trace, request)
                && has_role(trace, answer)
                && !is_too_early(trace, answer, request)
        })
    };
    if !trace.has_operations() || !calls.clone().all(is_pair) {
        return false;
    }
    let place = |row: MessageId| (trace.message(row).sort_time(), row);
    let mut calls: Vec<_> =
        calls.map(|(asked, answer)| (asked.map(place), answer.map(place))).collect();
    calls.sort_unstable();
    calls.is_sorted_by_key(|(_, answer)| *answer)
}

/// Returns whether the response was sent before the first byte of the request had arrived, by the
/// clock of the node that received the request: then it answers something else.
pub(super) fn is_too_early(trace: &MessageTrace, answer: MessageId, request: MessageId) -> bool {
    let times = |request: MessageId| Some((trace.send_ts(answer)?, trace.arrival_time(request)?));
    times(request).is_some_and(|(sent, arrived)| sent < arrived)
}

/// Returns whether a message of a connection has the role (request or response) that fits its
/// direction.
fn has_role(trace: &MessageTrace, row: MessageId) -> bool {
    let role = match row_direction(trace, row) {
        FROM_CONNECTING => OperationRole::Request,
        _ => OperationRole::Response,
    };
    let is_numbered = trace.call_number(row).is_some();
    let is_connection = is_connection(trace, row) && trace.message(row).protocol.has_connections();
    is_connection
        && !is_numbered
        && trace.operations(row).is_some_and(|operation| operation.role == role)
}

#[cfg(test)]
mod tests {
    use crate::calls::Calls;
    use crate::fixture::Fixture;

    use super::*;

    /// When a request and its response were sent.
    type SendTimes = (Option<i64>, Option<i64>);

    /// Returns the requests and responses of a connection by their times, and whether any pairing
    /// is uncertain. Requests are sent at the times `requests`, and each response arrives at one of
    /// `responses`, two after it was sent.
    fn pairs_and_ambiguity(
        requests: &[i64],
        responses: &[i64],
        with_roles: bool,
    ) -> (Vec<SendTimes>, bool) {
        let mut fixture = Fixture::new();
        let mut all: Vec<(i64, bool)> = requests.iter().map(|at| (*at, true)).collect();
        all.extend(responses.iter().map(|at| (*at, false)));
        all.sort_unstable();
        for (number, (at, is_request)) in (0..).zip(all) {
            let (role, sent) = match is_request {
                true => (OperationRole::Request, fixture.send("x", "s", at, at + 2)),
                false => (OperationRole::Response, fixture.send("s", "x", at - 2, at).accepting()),
            };
            let ports = if is_request { (4000, 80) } else { (80, 4000) };
            sent.ports(ports.0, ports.1).on(1).bytes(10 + number * number % 37);
            if with_roles {
                sent.tells(role, None);
            }
        }
        let trace = fixture.trace();
        let calls = Calls::from_trace(&trace);
        let sent = |row: Option<MessageId>| Some(trace.message(row?).sort_time());
        let mut times: Vec<SendTimes> = calls
            .iter()
            .map(|call| (sent(calls.request(call)), sent(calls.response(call))))
            .collect();
        times.sort_unstable();
        (times, calls.iter().any(|call| calls.mispairing_probability(call) > 0.0))
    }

    /// Requests and responses; from the third request on, two requests are always open.
    fn always_open(count: i64) -> (Vec<i64>, Vec<i64>) {
        ((0..count).map(|at| 100 * at).collect(), (0..count).map(|at| 100 * at + 250).collect())
    }

    #[test]
    fn the_kth_answer_is_to_the_kth_request_however_many_are_open() {
        let (requests, responses) = always_open(500);
        let (pairs, is_uncertain) = pairs_and_ambiguity(&requests, &responses, true);
        let expected: Vec<_> = requests.iter().map(|at| (Some(*at), Some(at + 248))).collect();
        assert_eq!((&pairs, is_uncertain), (&expected, false));
        // Without roles, requests are treated as abandoned.
        assert_ne!(pairs_and_ambiguity(&requests, &responses, false).0, expected);
    }

    #[test]
    fn a_missing_response_makes_all_pairings_uncertain() {
        let (requests, responses) = always_open(500);
        // Requests at the end, in the middle or at the beginning are not answered.
        for place in [499, 250, 0] {
            let mut responses = responses.clone();
            responses.remove(place);
            assert_eq!(
                pairs_and_ambiguity(&requests, &responses, true),
                pairs_and_ambiguity(&requests, &responses, false),
                "{place}"
            );
        }
    }

    #[test]
    fn a_response_before_its_request_prevents_pairing_by_order() {
        let requests: Vec<i64> = (0..100).map(|at| 100 * at).collect();
        // The server sends a message unasked: first of all, and before a request arrives.
        for own in [1, 5_003] {
            let mut responses: Vec<i64> = requests.iter().map(|at| at + 50).collect();
            responses.push(own);
            assert_eq!(
                pairs_and_ambiguity(&requests, &responses, true),
                pairs_and_ambiguity(&requests, &responses, false)
            );
            let (requests, mut responses) = always_open(500);
            responses.push(own);
            assert_eq!(
                pairs_and_ambiguity(&requests, &responses, true),
                pairs_and_ambiguity(&requests, &responses, false)
            );
        }
    }
}
