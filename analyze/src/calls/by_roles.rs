//! Pairs messages with ids by their roles (request or response). Both messages of a call have one
//! id, and an id may be reused (FastCGI has one for all requests of a connection). So a response
//! belongs to a request that had arrived when it was sent: if a request could not be read, the
//! response to it is not assigned to the next request with that id.

use std::collections::VecDeque;

use message_trace::{FlowId, MessageId, MessageTrace, OperationRole};

use super::MessagePair;
use super::connection::{row_direction, times_at_ends};

/// Returns whether the roles of all messages with this id are known.
pub(super) fn have_roles(trace: &MessageTrace, call: &[(FlowId, u32, MessageId)]) -> bool {
    trace.has_operations() && call.iter().all(|(_, _, row)| trace.operations(*row).is_some())
}

/// Appends the pairs of the messages `call`, which have one id and are in order, to `pairs`.
/// Appends the unpaired ones to `alone`: flow, message, and whether it is a request.
pub(super) fn pair_by_roles(
    trace: &MessageTrace,
    call: &[(FlowId, u32, MessageId)],
    pairs: &mut Vec<MessagePair>,
    alone: &mut Vec<(FlowId, MessageId, bool)>,
) {
    let role = |row: MessageId| trace.operations(row).map(|operation| operation.role);
    let flow = call.first().map(|first| first.0).unwrap_or_default();
    let rows = || call.iter().map(|(_, _, row)| *row);
    pairs.extend(
        rows().filter(|row| role(*row) == Some(OperationRole::OneWay)).map(|row| (Some(row), None)),
    );
    for side in [0, 1] {
        let is_request = |row: &MessageId| {
            role(*row) == Some(OperationRole::Request) && row_direction(trace, *row) == side
        };
        let is_response = |row: &MessageId| {
            role(*row) == Some(OperationRole::Response) && row_direction(trace, *row) != side
        };
        let mut open: VecDeque<MessageId> = rows().filter(is_request).collect();
        let in_order = open.len() == rows().filter(is_response).count();
        for response in rows().filter(is_response) {
            let is_before = |request: &MessageId| comes_before(trace, *request, response);
            // If there are fewer responses than requests, the latest request was answered.
            while !in_order
                && open.get(1).is_some_and(|next| is_before(next).unwrap_or(*next < response))
            {
                alone.extend(open.pop_front().map(|given_up| (flow, given_up, true)));
            }
            match open
                .front()
                .filter(|request| is_before(request).unwrap_or(in_order || **request < response))
            {
                Some(request) => {
                    pairs.push((Some(*request), Some(response)));
                    open.pop_front();
                }
                None => alone.push((flow, response, false)),
            }
        }
        alone.extend(open.into_iter().map(|request| (flow, request, true)));
    }
}

/// Returns whether a request precedes a response, by the clock of one of the ends; `None` if
/// neither end saw both.
fn comes_before(trace: &MessageTrace, request: MessageId, response: MessageId) -> Option<bool> {
    let both = times_at_ends(trace, request).into_iter().zip(times_at_ends(trace, response));
    let mut known = both.filter_map(|(asked, answered)| Some(asked? <= answered?)).peekable();
    known.peek()?;
    Some(known.all(|is_before| is_before))
}

#[cfg(test)]
mod tests {
    use crate::calls::Calls;
    use crate::fixture::Fixture;

    use super::*;

    /// Returns the pairs of a connection on which all messages have one id: `q` is a request and
    /// `a` a response, each given by the number of its message.
    fn pairs(messages: &str) -> Vec<(Option<usize>, Option<usize>)> {
        let mut trace = Fixture::new();
        for (time, message) in (0..).step_by(2).zip(messages.chars()) {
            match message {
                'q' => trace
                    .send("x", "s", time, time + 1)
                    .ports(4000, 80)
                    .on(1)
                    .tells(OperationRole::Request, Some(1)),
                _ => trace
                    .send("s", "x", time, time + 1)
                    .ports(80, 4000)
                    .accepting()
                    .on(1)
                    .tells(OperationRole::Response, Some(1)),
            };
        }
        let calls = Calls::from_trace(&trace.trace());
        calls.pair_rows()
    }

    #[test]
    fn a_response_never_answers_a_later_request() {
        assert_eq!(
            pairs("aqaqa"),
            [(None, Some(0)), (Some(1), Some(2)), (Some(3), Some(4))],
            "the first request could not be read"
        );
        assert_eq!(pairs("qaaqa"), [(Some(0), Some(1)), (None, Some(2)), (Some(3), Some(4))]);
        assert_eq!(pairs("aq"), [(None, Some(0)), (Some(1), None)]);
        assert_eq!(pairs("qqa"), [(Some(0), None), (Some(1), Some(2))]);
        assert_eq!(pairs("qqaa"), [(Some(0), Some(2)), (Some(1), Some(3))]);
    }
}
