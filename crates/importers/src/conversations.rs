//! Conversations: which messages of a table belong to one connection, and which side connected, if
//! the table does not state it.
//!
//! A conversation is between two nodes or, if endpoints are given, between two endpoints. The
//! connecting side is determined only after all rows were read, so that their order makes no
//! difference:
//!
//! ```text
//! web 10.0.0.1:40001 --- db 10.0.0.2:5432    5432 recurs with other ports of web: it is
//! web 10.0.0.1:40002 --- db 10.0.0.2:5432    fixed, so db accepts
//! web 10.0.0.1:40003 --- log 10.0.0.3:514    once each: the lower port accepts
//! a --- b                                    no ports: the first sender connected
//! ```

use std::hash::{Hash, Hasher};

use message_trace::{Endpoint, FlowId, Message, NodeId, TransportProtocol};
use rustc_hash::{FxHashMap, FxHasher};

use crate::tuning::FIRST_EPHEMERAL_PORT;

/// What distinguishes conversations between the same ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ConversationScope {
    /// All messages between two ends.
    Between(TransportProtocol),
    /// All messages of a flow that the table names.
    Flow(FlowId),
    /// The calls of one node to another, which is the second end.
    Calls,
}

/// One end of a conversation: the node and, if it is known, the endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConversationEnd {
    pub(crate) node: NodeId,
    /// Hash of the endpoint, so that it depends on its name only; 0 if the endpoint is not known.
    name: u64,
    kind: PortKind,
}

/// How likely an endpoint belongs to a service, the least likely first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PortKind {
    /// The end has no port, or an unknown name.
    #[default]
    None,
    /// A port that systems assign to clients.
    Ephemeral,
    /// The port is in neither range.
    Usual,
    /// A port below 1024, or the path of a unix socket.
    WellKnown,
}

/// Key of a conversation: its ends in a fixed order, independent of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConversationKey {
    scope: ConversationScope,
    sides: [ConversationEnd; 2],
}

/// Earliest times of the messages of one direction; [`i64::MAX`] without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EarliestTimes {
    /// Earliest time on the common clock of the table, in nanoseconds.
    common: i64,
    /// Earliest time on the sender's clock, in nanoseconds.
    sent: i64,
    /// Earliest time on the receiver's clock, in nanoseconds.
    received: i64,
}

/// All conversations of an import.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    /// Index of each conversation in `earliest`.
    indexes: FxHashMap<ConversationKey, u32>,
    /// For each conversation: the earliest times of each side's messages.
    earliest: Vec<[EarliestTimes; 2]>,
}

/// Inferred facts of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConversationOutcome {
    /// The side that connected, as an index of the key's sides.
    pub(crate) connecting: usize,
    /// Number of the conversation among all conversations, in an order that does not depend on the
    /// order of the rows.
    pub(crate) number: u32,
}

impl ConversationEnd {
    /// Creates the end at `node` with that endpoint.
    pub(crate) fn new(node: NodeId, endpoint: &Endpoint) -> ConversationEnd {
        let mut hasher = FxHasher::default();
        endpoint.hash(&mut hasher);
        let kind = match endpoint {
            Endpoint::Inet(address) if address.port() < 1024 => PortKind::WellKnown,
            Endpoint::Inet(address) if address.port() < FIRST_EPHEMERAL_PORT => PortKind::Usual,
            Endpoint::Inet(_) => PortKind::Ephemeral,
            Endpoint::Unix(name) if name.is_empty() || name.starts_with('#') => PortKind::Ephemeral,
            Endpoint::Unix(_) => PortKind::WellKnown,
            Endpoint::Other(_) => PortKind::None,
        };
        match endpoint {
            Endpoint::Other(name) if name.is_empty() => {
                ConversationEnd { node, ..ConversationEnd::default() }
            }
            _ => ConversationEnd { node, name: hasher.finish() | 1, kind },
        }
    }
}

impl ConversationKey {
    /// Key of messages from `from` to `to`, and which of its sides `from` is. If one endpoint is
    /// not known, the other one is ignored: the known endpoint may be the sender's in every row,
    /// and the two directions would have nothing in common.
    pub(crate) fn from_ends(
        scope: ConversationScope,
        from: ConversationEnd,
        to: ConversationEnd,
    ) -> (ConversationKey, usize) {
        let has_both = from.name != 0 && to.name != 0;
        let side = |side: ConversationEnd| match has_both {
            true => side,
            false => ConversationEnd { node: side.node, ..ConversationEnd::default() },
        };
        let (from, to) = (side(from), side(to));
        match scope == ConversationScope::Calls || from <= to {
            true => (ConversationKey { scope, sides: [from, to] }, 0),
            false => (ConversationKey { scope, sides: [to, from] }, 1),
        }
    }

    /// Whether the endpoints of both ends are known.
    pub(crate) fn has_endpoints(&self) -> bool {
        self.sides[0].name != 0
    }

    /// Nodes of its ends.
    fn nodes(&self) -> [NodeId; 2] {
        self.sides.map(|side| side.node)
    }
}

impl EarliestTimes {
    const NONE: EarliestTimes =
        EarliestTimes { common: i64::MAX, sent: i64::MAX, received: i64::MAX };

    fn earliest_of_any(&self) -> i64 {
        self.common.min(self.sent).min(self.received)
    }
}

impl Conversations {
    /// Number of conversations.
    pub(crate) fn len(&self) -> usize {
        self.earliest.len()
    }

    /// Index of the conversation with a key, which is added if it is new.
    pub(crate) fn index_of_key(&mut self, key: ConversationKey) -> u32 {
        let next = self.earliest.len() as u32;
        let place = *self.indexes.entry(key).or_insert(next);
        if place == next {
            self.earliest.push([EarliestTimes::NONE; 2]);
        }
        place
    }

    /// Index of a known conversation.
    pub(crate) fn find_index(&self, key: &ConversationKey) -> Option<u32> {
        self.indexes.get(key).copied()
    }

    /// Adds the times of a message of a conversation, sent by `side`.
    pub(crate) fn add_message(&mut self, place: u32, side: usize, message: &Message) {
        let Some(earliest) = self.earliest.get_mut(place as usize) else { return };
        let of_side = &mut earliest[side];
        let least =
            |known: &mut i64, time: Option<i64>| *known = (*known).min(time.unwrap_or(*known));
        least(&mut of_side.common, message.send_ts);
        least(&mut of_side.common, message.recv_ts);
        least(&mut of_side.sent, message.send_first);
        least(&mut of_side.received, message.recv_first);
    }

    /// Infers the facts of each conversation. `ranks` order the nodes independently of the order of
    /// the rows.
    pub(crate) fn infer_outcomes(&self, ranks: &[NodeId]) -> Vec<ConversationOutcome> {
        let rank = |node: NodeId| ranks.get(node.index()).copied().unwrap_or(node);
        let meetings = EndpointMeetings::from_keys(self.indexes.keys());
        let mut outcomes = vec![ConversationOutcome::default(); self.len()];
        let mut order: Vec<_> = Vec::with_capacity(self.len());
        for (key, place) in &self.indexes {
            let earliest = self.earliest.get(*place as usize).unwrap_or(&[EarliestTimes::NONE; 2]);
            let ranked = key.sides.map(|side| ConversationEnd { node: rank(side.node), ..side });
            let connecting = match key.scope {
                ConversationScope::Calls => Some(0),
                _ => meetings.connecting_side(key).or_else(|| first_sending_side(earliest)),
            };
            let connecting = connecting.unwrap_or_else(|| usize::from(ranked[1] < ranked[0]));
            if let Some(outcome) = outcomes.get_mut(*place as usize) {
                outcome.connecting = connecting;
            }
            let begin = earliest.iter().map(EarliestTimes::earliest_of_any).min();
            // The connecting side first, as node numbers differ from import to import.
            let ranked = [ranked[connecting], ranked[1 - connecting]];
            order.push((begin, ranked, key.scope, *place));
        }
        order.sort_unstable();
        for (number, (.., place)) in (0..).zip(order) {
            if let Some(outcome) = outcomes.get_mut(place as usize) {
                outcome.number = number;
            }
        }
        outcomes
    }
}

/// How often endpoints occur in conversations.
struct EndpointMeetings {
    /// Number of conversations of an endpoint with one other node: the maximum over the nodes.
    with_a_node: FxHashMap<ConversationEnd, u32>,
    /// Number of all conversations of an endpoint.
    with_any: FxHashMap<ConversationEnd, u32>,
}

impl EndpointMeetings {
    fn from_keys<'a>(keys: impl Iterator<Item = &'a ConversationKey>) -> EndpointMeetings {
        let mut with_nodes: FxHashMap<(ConversationEnd, NodeId), u32> = FxHashMap::default();
        let mut with_any: FxHashMap<ConversationEnd, u32> = FxHashMap::default();
        for key in keys.filter(|key| key.has_endpoints()) {
            let [one, other] = key.sides;
            let nodes = key.nodes();
            for (side, with) in [(one, nodes[1]), (other, nodes[0])] {
                *with_nodes.entry((side, with)).or_default() += 1;
                *with_any.entry(side).or_default() += 1;
            }
        }
        let mut with_a_node: FxHashMap<ConversationEnd, u32> = FxHashMap::default();
        for ((side, _), count) in with_nodes {
            let most = with_a_node.entry(side).or_default();
            *most = (*most).max(count);
        }
        EndpointMeetings { with_a_node, with_any }
    }

    /// Determines the side that connected: its endpoint is in one conversation only, and the other
    /// endpoint recurs; otherwise the port that is more likely a client's. `None` if neither holds.
    fn connecting_side(&self, key: &ConversationKey) -> Option<usize> {
        if !key.has_endpoints() {
            return None;
        }
        let count = |of: &FxHashMap<ConversationEnd, u32>| {
            key.sides.map(|side| of.get(&side).is_some_and(|count| *count > 1))
        };
        let again = count(&self.with_a_node);
        let kinds = key.sides.map(|side| side.kind);
        match (again, kinds) {
            ([false, true], _) => Some(0),
            ([true, false], _) => Some(1),
            (_, [PortKind::None, _] | [_, PortKind::None]) => self.side_by_counts(key),
            (_, [one, other]) if one < other => Some(0),
            (_, [one, other]) if one > other => Some(1),
            _ => self.side_by_counts(key),
        }
    }

    /// Determines the connecting side by the numbers of all conversations of the two endpoints.
    fn side_by_counts(&self, key: &ConversationKey) -> Option<usize> {
        let count = key.sides.map(|side| self.with_any.get(&side).is_some_and(|count| *count > 1));
        match count {
            [false, true] => Some(0),
            [true, false] => Some(1),
            _ => None,
        }
    }
}

/// Determines the side that sent first, by a clock that timed both directions if there is one;
/// `None` if the times are equal.
fn first_sending_side(earliest: &[EarliestTimes; 2]) -> Option<usize> {
    let [one, other] = earliest;
    let both = |first: i64, second: i64| {
        let are_known = first != i64::MAX && second != i64::MAX && first != second;
        are_known.then(|| usize::from(second < first))
    };
    let at_ends = [both(one.sent, other.received), both(one.received, other.sent)];
    let of_ends = match at_ends {
        [Some(here), Some(there)] => Some(here).filter(|_| here == there),
        [here, there] => here.or(there),
    };
    let (begin, answer) = (one.earliest_of_any(), other.earliest_of_any());
    both(one.common, other.common)
        .or(of_ends)
        .or_else(|| (begin != answer).then(|| usize::from(answer < begin)))
}
