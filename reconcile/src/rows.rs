//! Messages on their way into the trace: a row holds what is its own, a [`Slot`] what it shares
//! with the others of its flow. Times are those of the hosts' own clocks until all messages are
//! matched, as only then the clocks are known.

use message_trace::{Connect, EndpointId, Message, NodeId, Protocol};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::calls::{Part, Seen};
use crate::capture::NONE;
use crate::connecting::Connecting;
use clocks::Clocks;

/// No time.
pub(crate) const NIL: i64 = i64::MIN;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Row {
    /// `send_first`, `send_last`, `recv_first`, `recv_last`; [`NIL`] where unknown.
    pub(crate) times: [i64; 4],
    pub(crate) bytes: i64,
    /// What it shares with others, by its place among the slots.
    pub(crate) slot: u32,
    /// The nodes at both ends; [`NONE`]: the slot's.
    pub(crate) nodes: [u32; 2],
    /// The threads at both ends; [`NO_THREAD`] where unknown.
    pub(crate) tids: [i32; 2],
    /// How many messages it was made of, [`BACKWARD`] and [`OPENS`].
    pub(crate) parts: u32,
}

/// No thread.
pub(crate) const NO_THREAD: i32 = i32::MIN;
/// In [`Row::parts`]: it goes from the slot's second end to the first.
const BACKWARD: u32 = 1 << 31;
/// In [`Row::parts`]: it is the first of its connection, and tells how that was made.
const OPENS: u32 = 1 << 30;
const PARTS: u32 = OPENS - 1;

/// What the messages between two ends have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) flow: i64,
    pub(crate) protocol: Protocol,
    /// The end that connected, and the other.
    pub(crate) ends: [Place; 2],
}

/// One end of a flow: its node, unless a call says that another process did it, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) node: NodeId,
    pub(crate) endpoint: EndpointId,
}

/// The time by which a row is sorted, and the rest of what orders rows of equal times.
pub(crate) type Key = (i64, u64);

impl Row {
    /// The row of a message of `slot` in that direction.
    pub(crate) fn of(part: &Part, slot: u32, direction: usize) -> Row {
        let times = |seen: Option<Seen>| seen.map_or([NIL; 2], |seen| [seen.first, seen.last]);
        let ([send_first, send_last], [recv_first, recv_last]) =
            (times(part.sent), times(part.received));
        let sides = [part.sent, part.received];
        Row {
            times: [send_first, send_last, recv_first, recv_last],
            bytes: i64::try_from(part.bytes).unwrap_or(i64::MAX),
            slot,
            nodes: sides.map(|seen| seen.map_or(NONE, |seen| seen.process)),
            tids: sides.map(|seen| seen.map_or(NO_THREAD, |seen| seen.tid)),
            parts: part.parts.min(PARTS) | if direction == 0 { 0 } else { BACKWARD },
        }
    }

    /// The row of a message of `slot` in that direction, without bytes that were counted, of the
    /// slot's nodes.
    pub(crate) fn between(times: [i64; 4], slot: u32, direction: usize) -> Row {
        let parts = 1 | if direction == 0 { 0 } else { BACKWARD };
        Row { times, bytes: 0, slot, nodes: [NONE; 2], tids: [NO_THREAD; 2], parts }
    }

    /// The same row as the first of its connection, which tells how that was made.
    pub(crate) fn opening(self) -> Row {
        Row { parts: self.parts | OPENS, ..self }
    }

    /// Whether it tells how its connection was made.
    pub(crate) fn opens(&self) -> bool {
        self.parts & OPENS != 0
    }

    /// The row of the message `m`, whose nodes have these numbers.
    pub(crate) fn of_message(m: &Message, slot: u32, nodes: [u32; 2]) -> Row {
        let backward = if m.direction == 0 { 0 } else { BACKWARD };
        Row {
            times: [m.send_first, m.send_last, m.recv_first, m.recv_last]
                .map(|time| time.unwrap_or(NIL)),
            bytes: m.bytes,
            slot,
            nodes,
            tids: [m.src_tid, m.dst_tid].map(|tid| tid.unwrap_or(NO_THREAD)),
            parts: (m.parts.max(0) as u32).min(PARTS) | backward,
        }
    }

    /// `send_ts` or `recv_ts` (side 0 or 1).
    fn common(&self, side: usize, time: i64, common: &Common) -> Option<i64> {
        (time != NIL).then(|| common.time(self.nodes[side], time))
    }

    /// By what rows are sorted. `slot` is the row's.
    pub(crate) fn key(&self, slot: &Slot, common: &Common) -> Key {
        let sent = self.common(0, self.times[0], common);
        let time = sent.or_else(|| self.common(1, self.times[3], common)).unwrap_or(NIL);
        (time, (slot.flow as u64) << 1 | u64::from(self.parts & BACKWARD != 0))
    }

    /// The row as a message. `slot` is the row's, and `connecting` how its connection was made, if
    /// that is known.
    pub(crate) fn message(
        &self,
        slot: &Slot,
        connecting: Option<&Connecting>,
        common: &Common,
    ) -> Message {
        let backward = self.parts & BACKWARD != 0;
        let [src, dst] = if backward { [slot.ends[1], slot.ends[0]] } else { slot.ends };
        let own = |at: usize| Some(self.times[at]).filter(|time| *time != NIL);
        let node = |side: usize, place: Place| match self.nodes[side] {
            NONE => place.node,
            node => node as NodeId,
        };
        let thread = |side: usize| Some(self.tids[side]).filter(|tid| *tid != NO_THREAD);
        Message {
            send_first: own(0),
            send_last: own(1),
            recv_first: own(2),
            recv_last: own(3),
            send_ts: self.common(0, self.times[0], common),
            recv_ts: self.common(1, self.times[3], common),
            src: node(0, src),
            dst: node(1, dst),
            src_endpoint: src.endpoint,
            dst_endpoint: dst.endpoint,
            src_tid: thread(0),
            dst_tid: thread(1),
            flow: slot.flow,
            direction: i8::from(backward),
            protocol: slot.protocol,
            bytes: self.bytes,
            parts: (self.parts & PARTS) as i32,
            connect: connecting.and_then(|connecting| self.connect(connecting, slot, common)),
        }
    }

    /// How the connection was made that it is the first message of.
    fn connect(&self, connecting: &Connecting, slot: &Slot, common: &Common) -> Option<Connect> {
        let sent = Some(self.times[0]).filter(|_| self.opens())?;
        let own = self.common(0, sent, common)?.saturating_sub(sent);
        let accepting = slot.ends[1].node as u32;
        connecting.told(sent, |accepted| common.time(accepting, accepted).saturating_sub(own))
    }
}

/// The way from the times of each node's own clock to the common clock.
pub(crate) struct Common<'a> {
    pub(crate) clocks: &'a Clocks,
    /// The host of each traced node.
    pub(crate) hosts: &'a [u32],
}

impl Common<'_> {
    fn time(&self, node: u32, time: i64) -> i64 {
        match self.hosts.get(node as usize) {
            Some(host) => self.clocks.common(*host as usize, time),
            None => time,
        }
    }
}
