//! Call ids of operations: the connections on which ids pair requests with responses, and the
//! messages there that are no calls.
//!
//! A connection with ids also has control messages (settings, windows, the closing of a stream),
//! and bodies that follow their responses. These messages have neither an id nor a role, and must
//! not be treated as calls. A request or response without an id is paired by alternation, as on
//! other connections. A one-way message stands alone. Connections without ids are treated as if no
//! operations were known: a server's greeting answers no message except the connection setup.

use message_trace::{FlowId, MessageId, MessageTrace, OperationRole};
use rustc_hash::FxHashSet;

/// Connections, classified by the ids of their operations.
#[derive(Debug, Default)]
pub(super) struct FlowsWithIds {
    /// Connections on which operations have ids.
    with_ids: FxHashSet<FlowId>,
}

/// Kinds of messages without an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageWithoutId {
    /// May be a request or a response.
    MayPair,
    /// Neither answers a message nor is answered.
    OneWay,
    /// A control message of the connection.
    Control,
}

impl FlowsWithIds {
    /// Finds the connections of `trace` on which operations have ids.
    pub(super) fn from_trace(trace: &MessageTrace) -> FlowsWithIds {
        if !trace.has_operations() {
            return FlowsWithIds::default();
        }
        let with_ids = trace
            .ids()
            .filter(|row| trace.call_number(*row).is_some() && trace.operations(*row).is_some())
            .map(|row| trace.flow(row));
        FlowsWithIds { with_ids: with_ids.collect() }
    }

    /// Returns whether operations have ids on this connection.
    pub(super) fn has_ids(&self, flow: FlowId) -> bool {
        self.with_ids.contains(&flow)
    }

    /// Returns whether the message is a control message of its connection.
    pub(super) fn is_control(&self, trace: &MessageTrace, row: MessageId) -> bool {
        trace.call_number(row).is_none()
            && self.classify_without_id(trace, row) == MessageWithoutId::Control
    }

    /// Classifies the message, which has no id.
    #[inline]
    pub(super) fn classify_without_id(
        &self,
        trace: &MessageTrace,
        row: MessageId,
    ) -> MessageWithoutId {
        if !self.has_ids(trace.flow(row)) {
            return MessageWithoutId::MayPair;
        }
        match trace.operations(row).map(|operation| operation.role) {
            Some(OperationRole::OneWay) => MessageWithoutId::OneWay,
            None => MessageWithoutId::Control,
            _ => MessageWithoutId::MayPair,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Calls;
    use crate::fixture::Fixture;

    const REQUEST: OperationRole = OperationRole::Request;
    const RESPONSE: OperationRole = OperationRole::Response;
    const ONE_WAY: OperationRole = OperationRole::OneWay;

    /// A message: whether it goes to the server, and its operation role and id.
    type TestMessage = (bool, Option<(OperationRole, Option<u64>)>);

    /// Returns the requests and responses of a connection with sequential messages.
    fn pairs(messages: &[TestMessage]) -> Vec<(Option<usize>, Option<usize>)> {
        let mut trace = Fixture::new();
        for (time, (from_client, operation)) in (0..).step_by(2).zip(messages) {
            let sent = match from_client {
                true => trace.send("x", "s", time, time + 1).ports(4000, 80),
                false => trace.send("s", "x", time, time + 1).ports(80, 4000).accepting(),
            };
            sent.on(1);
            if let Some((role, call)) = operation {
                sent.tells(*role, *call);
            }
        }
        let calls = Calls::from_trace(&trace.trace());
        for (row, (_, operation)) in messages.iter().enumerate() {
            let has_ids =
                messages.iter().any(|(_, operation)| matches!(operation, Some((_, Some(_)))));
            let is_own = calls.is_control(calls.call_of_message(MessageId::from_index(row)));
            assert_eq!(is_own, has_ids && operation.is_none(), "message {row}");
        }
        calls.pair_rows()
    }

    #[test]
    fn concurrent_calls_are_paired_by_ids() {
        let ask = |id| (true, Some((REQUEST, Some(id))));
        let answer = |id| (false, Some((RESPONSE, Some(id))));
        assert_eq!(
            pairs(&[ask(1), ask(3), ask(5), answer(5), answer(1), answer(3)]),
            [(Some(0), Some(4)), (Some(1), Some(5)), (Some(2), Some(3))]
        );
    }

    #[test]
    fn an_id_may_be_reused_and_may_be_on_one_side_only() {
        let ask = |id| (true, Some((REQUEST, Some(id))));
        let answer = |id| (false, Some((RESPONSE, Some(id))));
        assert_eq!(
            pairs(&[ask(1), answer(1), ask(1), answer(1), ask(1), answer(1)]),
            [(Some(0), Some(1)), (Some(2), Some(3)), (Some(4), Some(5))]
        );
        // The second request has no response, and the last response no request.
        assert_eq!(
            pairs(&[ask(1), ask(2), answer(1), answer(7)]),
            [(Some(0), Some(2)), (Some(1), None), (None, Some(3))]
        );
    }

    #[test]
    fn messages_without_ids_are_calls_only_if_they_have_a_role() {
        let (ask, answer) = (|id| (true, Some((REQUEST, id))), |id| (false, Some((RESPONSE, id))));
        let (up, down) = ((true, None), (false, None));
        // Settings, two calls with ids and two without, and a window update.
        let messages = [
            up,
            down,
            ask(Some(1)),
            ask(None),
            down,
            ask(Some(3)),
            answer(Some(3)),
            answer(None),
            up,
            answer(Some(1)),
            ask(None),
            answer(None),
        ];
        let expected = [
            (Some(0), None),
            (None, Some(1)),
            (Some(2), Some(9)),
            (Some(3), Some(7)),
            (None, Some(4)),
            (Some(5), Some(6)),
            (Some(8), None),
            (Some(10), Some(11)),
        ];
        assert_eq!(pairs(&messages), expected);
        // If no message has an id, messages without a role are paired by turns.
        assert_eq!(pairs(&[ask(None), down]), [(Some(0), Some(1))]);
    }

    /// A message that could not be read has no id. It is paired with a message that has an id but
    /// no partner.
    #[test]
    fn unread_messages_are_paired_with_unpaired_messages_with_ids() {
        let (ask, answer) = (|id| (true, Some((REQUEST, id))), |id| (false, Some((RESPONSE, id))));
        let messages = [
            ask(Some(1)),
            answer(Some(1)),
            ask(None),
            answer(Some(2)),
            ask(Some(3)),
            answer(None),
            ask(Some(4)),
            answer(Some(4)),
        ];
        let pair = |one, other| (Some(one), Some(other));
        assert_eq!(pairs(&messages), [pair(0, 1), pair(2, 3), pair(4, 5), pair(6, 7)]);
    }

    #[test]
    fn a_one_way_message_stands_alone() {
        let (notice, reply_notice) =
            ((true, Some((ONE_WAY, None))), (false, Some((ONE_WAY, None))));
        let (ask, answer) = ((true, Some((REQUEST, None))), (false, Some((RESPONSE, None))));
        let with_id = (true, Some((REQUEST, Some(1))));
        assert_eq!(
            pairs(&[notice, ask, reply_notice, answer, with_id]),
            [(Some(0), None), (Some(1), Some(3)), (Some(2), None), (Some(4), None)]
        );
        // A server greets.
        assert_eq!(pairs(&[notice, reply_notice]), [(Some(0), Some(1))]);
    }
}
