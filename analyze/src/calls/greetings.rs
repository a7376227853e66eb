//! Server greetings on connections with call ids. What the accepting side sends before any request
//! answers the connection setup, as on connections without ids. If the setup was not seen, the
//! greeting answers something unknown; in no case is it a request.

use message_trace::{FROM_CONNECTING, FlowId, MessageId, MessageTrace, OperationRole};
use rustc_hash::{FxHashMap, FxHashSet};

use super::MessagePair;
use super::connection::{row_direction, times_at_ends};

/// The first messages of a connection.
#[derive(Default)]
struct ConnectionOpening {
    setup: Option<MessageId>,
    /// The first message with an operation from the accepting side, and whether it is one-way.
    greeting: Option<(MessageId, bool)>,
    /// When the connecting and the accepting end saw the first request: nanoseconds, common clock.
    requested: [Option<i64>; 2],
}

/// The openings of connections with ids.
#[derive(Default)]
pub(super) struct ConnectionGreetings(FxHashMap<FlowId, ConnectionOpening>);

impl ConnectionGreetings {
    /// Records the message at a row of a connection with ids; rows come in order.
    pub(super) fn note_message(&mut self, trace: &MessageTrace, row: MessageId) {
        let opening = self.0.entry(trace.flow(row)).or_default();
        if trace.is_connect(row) {
            opening.setup.get_or_insert(row);
        } else if row_direction(trace, row) == FROM_CONNECTING {
            for (requested, time) in opening.requested.iter_mut().zip(times_at_ends(trace, row)) {
                *requested = requested.iter().copied().chain(time).min();
            }
        } else if let Some(operation) = trace.operations(row) {
            opening.greeting.get_or_insert((row, operation.role == OperationRole::OneWay));
        }
    }

    /// Appends a pair of connection setup and greeting for each connection with a greeting, and
    /// returns the messages of these pairs.
    pub(super) fn pair_greetings(
        &self,
        trace: &MessageTrace,
        pairs: &mut Vec<MessagePair>,
    ) -> FxHashSet<MessageId> {
        let mut paired = FxHashSet::default();
        for opening in self.0.values() {
            let first = opening
                .greeting
                .filter(|(greeting, _)| opening.precedes_requests(trace, *greeting));
            // A response to something that was not seen stands alone.
            let greeting = first.filter(|(_, is_one_way)| *is_one_way || opening.setup.is_some());
            let Some((greeting, _)) = greeting else { continue };
            pairs.push((opening.setup, Some(greeting)));
            paired.extend(opening.setup.into_iter().chain([greeting]));
        }
        paired
    }
}

impl ConnectionOpening {
    /// Returns whether no request preceded the message `greeting`, by the clock of one of the ends.
    fn precedes_requests(&self, trace: &MessageTrace, greeting: MessageId) -> bool {
        let known = self.requested.into_iter().zip(times_at_ends(trace, greeting));
        let mut is_before =
            known.filter_map(|(requested, greeting)| Some(greeting? < requested?)).peekable();
        is_before.peek().is_none() || is_before.any(|is_before| is_before)
    }
}

#[cfg(test)]
mod tests {
    use crate::calls::Calls;
    use crate::fixture::Fixture;

    use super::*;

    /// Returns the pairs of a connection on which the server greets, with or without its setup.
    fn pairs(is_made: bool, asks_first: bool) -> Vec<(Option<usize>, Option<usize>)> {
        let mut trace = Fixture::new();
        if is_made {
            trace.send("x", "s", 0, 1).ports(4000, 80).on(1).connect();
        }
        let ask = |trace: &mut Fixture, time, call| {
            let sent = trace.send("x", "s", time, time + 1).ports(4000, 80);
            sent.on(1).tells(OperationRole::Request, Some(call));
        };
        let answer = |trace: &mut Fixture, time, role, call| {
            let sent = trace.send("s", "x", time, time + 1).ports(80, 4000).accepting();
            sent.on(1).tells(role, call);
        };
        if asks_first {
            ask(&mut trace, 4, 7);
        }
        answer(&mut trace, 10, OperationRole::OneWay, None);
        ask(&mut trace, 20, 8);
        answer(&mut trace, 30, OperationRole::Response, Some(8));
        answer(&mut trace, 40, OperationRole::OneWay, None);
        let calls = Calls::from_trace(&trace.trace());
        calls.pair_rows()
    }

    #[test]
    fn a_greeting_answers_the_setup_of_its_connection() {
        let pair = |one, other| (Some(one), Some(other));
        assert_eq!(pairs(true, false), [pair(0, 1), pair(2, 3), (Some(4), None)]);
        assert_eq!(pairs(false, false), [(None, Some(0)), pair(1, 2), (Some(3), None)]);
    }

    #[test]
    fn a_message_after_the_first_request_is_no_greeting() {
        let found = pairs(true, true);
        assert!(
            found.contains(&(Some(2), None)) && !found.contains(&(Some(0), Some(2))),
            "{found:?}"
        );
    }
}
