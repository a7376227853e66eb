//! Connections on which every message says that it asks or answers, and none has an id, as with
//! Redis or PostgreSQL. Such a protocol answers in the order of the requests. So the k-th answer is
//! to the k-th request, however many are open at a time and for however long. Nothing else that is
//! usual on the connection counts then ([`super::multiplexed`]), and no call is doubtful.

use std::collections::VecDeque;

use message_trace::{FROM_CONNECTING, MessageTrace, OperationRole};

use super::NONE;
use super::connection::direction;

/// The rows of a request and its response; [`NONE`] is none, but not for both.
type Pair = (u32, u32);

/// The pairs of a connection, whose `rows` are in the order in which one end saw them. `open`
/// requests were sent before. `None` where messages do not say what they are, or contradict it:
/// `is_too_early` says whether an answer was sent before its request had come.
pub(super) fn pairs(
    trace: &MessageTrace,
    rows: impl Iterator<Item = u32> + Clone,
    open: &VecDeque<u32>,
    is_too_early: impl Fn(u32, u32) -> bool,
) -> Option<Vec<Pair>> {
    if !trace.has_told() || !rows.clone().all(|row| says_so(trace, row)) {
        return None;
    }
    let (mut open, mut pairs) = (open.clone(), Vec::new());
    for row in rows {
        if direction(trace, row) == FROM_CONNECTING {
            open.push_back(row);
            continue;
        }
        let request = open.pop_front()?;
        if request != NONE && is_too_early(row, request) {
            return None;
        }
        pairs.push((request, row));
    }
    // Requests of before this part of the trace are not in it.
    let left = open.into_iter().filter(|request| *request != NONE);
    pairs.extend(left.map(|request| (request, NONE)));
    Some(pairs)
}

/// Whether the calls of a connection are paired as by [`pairs`].
pub(super) fn are_paired(trace: &MessageTrace, calls: impl Iterator<Item = Pair> + Clone) -> bool {
    let rows = calls.clone().flat_map(|(request, response)| [request, response]);
    if !trace.has_told() || !rows.filter(|row| *row != NONE).all(|row| says_so(trace, row)) {
        return false;
    }
    // Nothing that is answered comes behind what is not.
    let place = |row: u32| match row {
        NONE => (i64::MAX, NONE),
        row => (trace.message(row as usize).time(), row),
    };
    let mut calls: Vec<_> = calls.map(|(asked, answer)| (place(asked), place(answer))).collect();
    calls.sort_unstable();
    calls.is_sorted_by_key(|(_, answer)| *answer)
}

/// Whether a message says that it asks or answers, as its direction does.
fn says_so(trace: &MessageTrace, row: u32) -> bool {
    let role = match direction(trace, row) {
        FROM_CONNECTING => OperationRole::Request,
        _ => OperationRole::Response,
    };
    let is_numbered = trace.call_number(row as usize).is_some();
    !is_numbered && trace.told(row as usize).is_some_and(|told| told.role == role)
}

#[cfg(test)]
mod tests {
    use crate::calls::Calls;
    use crate::fixture::Fixture;

    use super::*;

    /// When a request and its response were sent.
    type Times = (Option<i64>, Option<i64>);

    /// The requests and responses of a connection by their times, and whether any is doubtful. It
    /// asks at the times of `asks`, and each answer comes at one of `answers`, two later than it
    /// was sent.
    fn told(asks: &[i64], answers: &[i64], says_so: bool) -> (Vec<Times>, bool) {
        let mut fixture = Fixture::new();
        let mut all: Vec<(i64, bool)> = asks.iter().map(|at| (*at, true)).collect();
        all.extend(answers.iter().map(|at| (*at, false)));
        all.sort_unstable();
        for (number, (at, asks)) in (0..).zip(all) {
            let (role, sent) = match asks {
                true => (OperationRole::Request, fixture.send("x", "s", at, at + 2)),
                false => (OperationRole::Response, fixture.send("s", "x", at - 2, at).accepting()),
            };
            let ports = if asks { (4000, 80) } else { (80, 4000) };
            sent.ports(ports.0, ports.1).on(1).bytes(10 + number * number % 37);
            if says_so {
                sent.tells(role, None);
            }
        }
        let trace = fixture.trace();
        let calls = Calls::of(&trace);
        let sent = |row: Option<usize>| Some(trace.message(row?).time());
        let mut times: Vec<Times> = (0..calls.len())
            .map(|call| (sent(calls.request(call)), sent(calls.response(call))))
            .collect();
        times.sort_unstable();
        (times, (0..calls.len()).any(|call| calls.doubt(call) > 0.0))
    }

    /// Requests that are never all answered: from the third one on, two are always open.
    fn always_open(count: i64) -> (Vec<i64>, Vec<i64>) {
        ((0..count).map(|at| 100 * at).collect(), (0..count).map(|at| 100 * at + 250).collect())
    }

    #[test]
    fn the_kth_answer_is_to_the_kth_request_however_many_are_open() {
        let (asks, answers) = always_open(500);
        let (pairs, is_doubtful) = told(&asks, &answers, true);
        let expected: Vec<_> = asks.iter().map(|at| (Some(*at), Some(at + 248))).collect();
        assert_eq!((&pairs, is_doubtful), (&expected, false));
        // What says nothing of itself is taken for requests that were given up.
        assert_ne!(told(&asks, &answers, false).0, expected);
        // The last ones have no answer.
        let (pairs, is_doubtful) = told(&asks, &answers[..400], true);
        assert_eq!(pairs[..400], expected[..400]);
        assert!(pairs[400..].iter().all(|(_, answer)| answer.is_none()) && !is_doubtful);
    }

    #[test]
    fn what_comes_before_its_request_is_told_otherwise() {
        let asks: Vec<i64> = (0..100).map(|at| 100 * at).collect();
        // The server says something of its own accord: first of all, and before a request came.
        for own in [1, 5_003] {
            let mut answers: Vec<i64> = asks.iter().map(|at| at + 50).collect();
            answers.push(own);
            assert_eq!(told(&asks, &answers, true), told(&asks, &answers, false));
        }
    }
}
