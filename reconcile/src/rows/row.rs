//! Messages on their way into the trace: a row holds the data of a single message, a
//! [`MessageSlot`] the data that it shares with others of its flow. Times are of the hosts' own
//! clocks until all messages are matched, because only then the clocks are known.

use clocks::ClockModel;
use message_trace::{
    ConnectSpan, EndPair, EndpointId, FlowId, Message, NodeEnd, NodeId, TransportProtocol,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::calls::{CallSpan, FlowMessage};
use crate::connections::connection_setup::ConnectionSetup;
use crate::indices::{ConnectionIndex, HostIndex, OptionalIndex};
use crate::optional_time::OptionalTime;
use crate::rows::message_span::{MessageSpan, place_of_call};
use crate::rows::operation_start::OperationStart;
use crate::rows::optional_thread::OptionalThread;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct MessageRow {
    /// `send_first`, `send_last`, `recv_first`, `recv_last`, in nanoseconds.
    pub(crate) times: [OptionalTime; 4],
    pub(crate) bytes: i64,
    /// Index of its slot, with the data that it shares with others.
    pub(crate) slot: u32,
    /// The nodes at both ends; without one, the slot's.
    pub(crate) nodes: [OptionalIndex<NodeId>; 2],
    /// The threads at both ends, as far as known.
    pub(crate) tids: [OptionalThread; 2],
    /// Number of messages that were merged into this one, [`BACKWARD`], [`OPENS`] and [`BEGINS`].
    pub(crate) parts_and_flags: u32,
}

/// In [`MessageRow::parts_and_flags`]: the message goes from the slot's second end to the first.
const BACKWARD: u32 = 1 << 31;
/// In [`MessageRow::parts_and_flags`]: the message is the first of its connection, and carries the
/// connection's setup.
const OPENS: u32 = 1 << 30;
/// In [`MessageRow::parts_and_flags`]: an operation begins with the message, according to the
/// sender's log and to the receiver's.
const BEGINS: [u32; 2] = [1 << 29, 1 << 28];
/// In [`MessageRow::parts_and_flags`]: the bits of the number of messages.
const PARTS: u32 = (1 << 28) - 1;

/// Data that the messages between two ends share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageSlot {
    pub(crate) flow: FlowId,
    pub(crate) protocol: TransportProtocol,
    /// The connecting end, and the other.
    pub(crate) ends: [SlotEnd; 2],
}

/// One end of a flow: its node, unless a call was made by another process, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotEnd {
    pub(crate) node: NodeId,
    pub(crate) endpoint: EndpointId,
}

/// The time by which a row is sorted, and the rest of the key for rows of equal times.
pub(crate) type RowKey = (i64, u64);

impl MessageRow {
    /// Row of a message of `slot`. `direction` is 0 from the slot's first end, 1 from the second.
    pub(crate) fn from_message(message: &FlowMessage, slot: u32, direction: usize) -> MessageRow {
        let times = |seen: Option<CallSpan>| {
            seen.map_or([OptionalTime::NONE; 2], |seen| {
                [seen.first, seen.last].map(OptionalTime::some)
            })
        };
        let ([send_first, send_last], [recv_first, recv_last]) =
            (times(message.sent), times(message.received));
        let sides = [message.sent, message.received];
        let begins = [0, 1].map(|side| if message.begins[side] { BEGINS[side] } else { 0 });
        MessageRow {
            times: [send_first, send_last, recv_first, recv_last],
            bytes: i64::try_from(message.bytes).unwrap_or(i64::MAX),
            slot,
            nodes: sides.map(|seen| seen.map(|seen| seen.process.node()).into()),
            tids: sides.map(|seen| seen.map(|seen| seen.tid).into()),
            parts_and_flags: message.parts.min(PARTS)
                | if direction == 0 { 0 } else { BACKWARD }
                | begins[0]
                | begins[1],
        }
    }

    /// The connection of the message, if it is one of a stream.
    fn connection(&self) -> OptionalIndex<ConnectionIndex> {
        OptionalIndex::some(ConnectionIndex::from_index(self.slot as usize))
    }

    /// The start of the message's operation according to the log of `side` (0: the sender's);
    /// `None` if that log has no operation. `slot` is the row's slot, and `number` the message's
    /// number.
    pub(crate) fn operation_start(
        &self,
        slot: &MessageSlot,
        side: usize,
        number: u64,
    ) -> Option<OperationStart> {
        let time = [self.times[0], self.times[2]][side];
        let time = time.get().filter(|_| self.parts_and_flags & BEGINS[side] != 0)?;
        let direction = usize::from(self.parts_and_flags & BACKWARD != 0);
        let by = self.nodes[side].get()?;
        let place =
            OperationStart::operation_place(slot.protocol, self.connection(), direction, by);
        Some(OperationStart::new(place, side, time, number))
    }

    /// The message at one end (0: the sender's); `None` if that end did not see it. `slot` is the
    /// row's slot, and `number` the message's number.
    pub(crate) fn message_span(
        &self,
        slot: &MessageSlot,
        side: usize,
        number: u64,
    ) -> Option<MessageSpan> {
        let [first, last] = [[self.times[0], self.times[1]], [self.times[2], self.times[3]]][side];
        let direction = usize::from(self.parts_and_flags & BACKWARD != 0);
        let call = (side, self.bytes as u64);
        let (first, last) = first.get().zip(last.get())?;
        let by = self.nodes[side].get()?;
        let place = place_of_call(slot.protocol, self.connection(), direction, by, call);
        Some(MessageSpan { place, first, last, number })
    }

    /// Row of a message of `slot` between the slot's nodes, without bytes. `direction` is 0 from
    /// the slot's first end, 1 from the second.
    pub(crate) fn between_times(
        times: [OptionalTime; 4],
        slot: u32,
        direction: usize,
    ) -> MessageRow {
        let parts_and_flags = 1 | if direction == 0 { 0 } else { BACKWARD };
        MessageRow {
            times,
            bytes: 0,
            slot,
            nodes: [OptionalIndex::NONE; 2],
            tids: [OptionalThread::NONE; 2],
            parts_and_flags,
        }
    }

    /// Marks the row as the first of its connection, which carries the connection's setup.
    pub(crate) fn into_opening(self) -> MessageRow {
        MessageRow { parts_and_flags: self.parts_and_flags | OPENS, ..self }
    }

    /// Whether the row carries the setup of its connection.
    pub(crate) fn is_opening(&self) -> bool {
        self.parts_and_flags & OPENS != 0
    }

    /// Row of the message `m` between these nodes.
    pub(crate) fn from_imported(
        m: &Message,
        slot: u32,
        nodes: [OptionalIndex<NodeId>; 2],
    ) -> MessageRow {
        let backward = if m.direction == 0 { 0 } else { BACKWARD };
        MessageRow {
            times: [m.send_first, m.send_last, m.recv_first, m.recv_last].map(OptionalTime::from),
            bytes: m.bytes,
            slot,
            nodes,
            tids: [m.src_tid, m.dst_tid].map(OptionalThread::from),
            parts_and_flags: (m.parts.max(0) as u32).min(PARTS) | backward,
        }
    }

    /// Converts a time at the sender (side 0) or the receiver (side 1) to the common clock.
    fn common_time(&self, side: usize, time: OptionalTime, common: &CommonClock) -> Option<i64> {
        Some(common.time_of_node(self.nodes[side].get(), time.get()?))
    }

    /// The sort key of the row; rows without a time are first. `slot` is the row's slot.
    pub(crate) fn row_key(&self, slot: &MessageSlot, common: &CommonClock) -> RowKey {
        let sent = self.common_time(0, self.times[0], common);
        let time = sent.or_else(|| self.common_time(1, self.times[3], common)).unwrap_or(i64::MIN);
        (time, (slot.flow.number() as u64) << 1 | u64::from(self.parts_and_flags & BACKWARD != 0))
    }

    /// Converts the row to a message. `slot` is the row's slot, and `setup` the setup of its
    /// connection, if known.
    pub(crate) fn to_message(
        &self,
        slot: &MessageSlot,
        setup: Option<&ConnectionSetup>,
        common: &CommonClock,
    ) -> Message {
        let backward = self.parts_and_flags & BACKWARD != 0;
        let [src, dst] = if backward { [slot.ends[1], slot.ends[0]] } else { slot.ends };
        let own = |at: usize| self.times[at].get();
        let end = |side: usize, place: SlotEnd| NodeEnd {
            node: self.nodes[side].get().unwrap_or(place.node),
            endpoint: place.endpoint,
            tid: self.tids[side].get(),
        };
        let ends = EndPair { src: end(0, src), dst: end(1, dst), protocol: slot.protocol };
        let message = Message::between_ends(ends, slot.flow, i8::from(backward))
            .with_send_times([own(0), own(1), self.common_time(0, self.times[0], common)])
            .with_recv_times([own(2), own(3), self.common_time(1, self.times[3], common)])
            .with_payload(self.bytes, (self.parts_and_flags & PARTS) as i32);
        let connect = setup.and_then(|setup| self.connection_setup(setup, slot, common));
        Message { connect, ..message }
    }

    /// The setup of the connection if this is its first message.
    fn connection_setup(
        &self,
        setup: &ConnectionSetup,
        slot: &MessageSlot,
        common: &CommonClock,
    ) -> Option<ConnectSpan> {
        let sent = self.times[0].get().filter(|_| self.is_opening())?;
        let own = self.common_time(0, self.times[0], common)?.saturating_sub(sent);
        let accepting = Some(slot.ends[1].node);
        setup.setup_of_message(sent, |accepted| {
            common.time_of_node(accepting, accepted).saturating_sub(own)
        })
    }
}

/// Conversion from the times of each node's own clock to the common clock.
pub(crate) struct CommonClock<'a> {
    pub(crate) clocks: &'a ClockModel,
    /// The host of each node; none for nodes with times that are already on the common clock.
    pub(crate) hosts: &'a [OptionalIndex<HostIndex>],
}

impl CommonClock<'_> {
    /// Converts a time of a node's clock to the common clock.
    fn time_of_node(&self, node: Option<NodeId>, time: i64) -> i64 {
        match node.and_then(|node| self.hosts.get(node.index())?.get()) {
            Some(host) => self.clocks.common_time(host.index(), time),
            None => time,
        }
    }
}
