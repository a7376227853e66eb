//! Ends of datagram flows, and the message of a datagram before it is assigned to its flow.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::calls::{CallSpan, DatagramCall, FlowMessage};
use crate::indices::{OptionalIndex, ProcessIndex, SocketIndex};
use crate::optional_time::OptionalTime;
use crate::socket_names::SocketNameId;
use crate::unmatched_cause::UnmatchedCause;

/// One end of a flow of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum DatagramEnd {
    Socket(SocketIndex),
    /// An untraced peer: its name in the view of the socket `of`.
    Untraced {
        name: OptionalIndex<SocketNameId>,
        of: SocketIndex,
    },
}

/// A message of a datagram before its flow is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct DatagramMessage {
    /// Times when the datagram was sent and received, in nanoseconds; none if not seen.
    pub(crate) times: [OptionalTime; 2],
    /// The sockets at both ends, as far as traced. At least one is.
    pub(crate) sockets: [OptionalIndex<SocketIndex>; 2],
    /// For each end its name in the view of the other or, if the end was recorded, the name of its
    /// peer.
    pub(crate) names: [OptionalIndex<SocketNameId>; 2],
    /// Processes of the calls, if seen.
    pub(crate) processes: [OptionalIndex<ProcessIndex>; 2],
    pub(crate) tids: [i32; 2],
    pub(crate) bytes: u32,
    /// The cause in the low byte, and whether it is a copy for a further receiver.
    pub(crate) flags: u32,
    /// [`DatagramCall::operation`] of both ends.
    pub(crate) operations: [u32; 2],
}

/// In [`DatagramMessage::flags`]: the message is a copy for a further receiver.
const COPY: u32 = 1 << 8;
/// Causes by their number in [`DatagramMessage::flags`].
const CAUSES: [UnmatchedCause; 4] = [
    UnmatchedCause::Nothing,
    UnmatchedCause::Untraced,
    UnmatchedCause::Lost,
    UnmatchedCause::Closed,
];

impl DatagramMessage {
    /// Message of a send and a receive. A `copy` went to a further receiver.
    pub(crate) fn from_pair(
        sent: &DatagramCall,
        received: &DatagramCall,
        copy: bool,
    ) -> DatagramMessage {
        DatagramMessage {
            times: [sent.time, received.time].map(OptionalTime::some),
            sockets: [sent.socket, received.socket].map(OptionalIndex::some),
            names: [sent.peer, received.peer],
            processes: [sent.process, received.process].map(OptionalIndex::some),
            tids: [sent.tid, received.tid],
            bytes: sent.bytes,
            flags: if copy { COPY } else { 0 },
            // A sent datagram is one operation, whatever the number of receivers.
            operations: [if copy { 0 } else { sent.operation }, received.operation],
        }
    }

    /// Message of a send without a recorded receive. `to` is the traced socket to which it was
    /// addressed, if there is one.
    pub(crate) fn from_sent(
        sent: &DatagramCall,
        to: Option<SocketIndex>,
        cause: UnmatchedCause,
    ) -> DatagramMessage {
        let flags = CAUSES.iter().position(|one| *one == cause).unwrap_or(1) as u32;
        DatagramMessage {
            times: [OptionalTime::some(sent.time), OptionalTime::NONE],
            sockets: [OptionalIndex::some(sent.socket), to.into()],
            names: [sent.peer, sent.peer],
            processes: [OptionalIndex::some(sent.process), OptionalIndex::NONE],
            tids: [sent.tid, 0],
            bytes: sent.bytes,
            flags,
            operations: [sent.operation, 0],
        }
    }

    /// Message of a receive without a recorded send.
    pub(crate) fn from_received(received: &DatagramCall) -> DatagramMessage {
        DatagramMessage {
            times: [OptionalTime::NONE, OptionalTime::some(received.time)],
            sockets: [OptionalIndex::NONE, OptionalIndex::some(received.socket)],
            names: [received.peer, received.peer],
            processes: [OptionalIndex::NONE, OptionalIndex::some(received.process)],
            tids: [0, received.tid],
            bytes: received.bytes,
            flags: 1,
            operations: [0, received.operation],
        }
    }

    /// The two ends of the message, the sender's first.
    pub(crate) fn ends(&self) -> [DatagramEnd; 2] {
        [0, 1].map(|side| match self.sockets[side].get() {
            None => DatagramEnd::Untraced {
                name: self.names[side],
                of: self.sockets[1 - side].get().unwrap_or_default(),
            },
            Some(socket) => DatagramEnd::Socket(socket),
        })
    }

    /// The flow of the message: the pair of its ends.
    pub(crate) fn flow_ends(&self) -> [DatagramEnd; 2] {
        let mut ends = self.ends();
        ends.sort_unstable();
        ends
    }

    /// A hash that is equal for all messages of a flow.
    pub(crate) fn flow_hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.flow_ends().hash(&mut hasher);
        hasher.finish()
    }

    /// Time when the message was first seen.
    pub(crate) fn first_time(&self) -> i64 {
        let [sent, received] = self.times.map(OptionalTime::get);
        sent.or(received).unwrap_or(i64::MIN)
    }

    /// Whether this is the only message of a datagram that both ends saw.
    pub(crate) fn is_pair(&self) -> bool {
        self.times.iter().all(|time| time.is_some()) && self.flags & COPY == 0
    }

    /// Reason why an end is missing.
    pub(crate) fn cause(&self) -> UnmatchedCause {
        CAUSES.get(self.flags as usize & 0xff).copied().unwrap_or(UnmatchedCause::Untraced)
    }

    /// The process at an end, if known: `side` is 0 for the sender, 1 for the receiver.
    pub(crate) fn process_at(&self, side: usize) -> Option<ProcessIndex> {
        self.processes[side].get()
    }

    /// Converts the message to a flow message.
    pub(crate) fn to_flow_message(&self) -> FlowMessage {
        let [sent, received] = [0, 1].map(|side| {
            let (process, time) = self.process_at(side).zip(self.times[side].get())?;
            Some(CallSpan::from_call(time, process, self.tids[side]))
        });
        FlowMessage {
            sent,
            received,
            bytes: u64::from(self.bytes),
            parts: 1,
            elsewhere: false,
            acted: false,
            begins: self.operations.map(|operation| operation != 0),
        }
    }
}
