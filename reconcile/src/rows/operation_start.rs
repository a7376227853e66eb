//! Operation start: the key that an operation in the log shares with the message that begins it, by
//! which the two are joined when all messages have their numbers.

use message_trace::{NodeId, TransportProtocol};
use out_of_core::KeyedRecord;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::indices::{ConnectionIndex, OptionalIndex};

/// A message that begins an operation, or an operation, with the place where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct OperationStart {
    /// The connection and the direction of a stream, or the process of a datagram; see
    /// [`OperationStart::operation_place`].
    place: u64,
    /// 0 for the sender's log, 1 for the receiver's.
    side: u64,
    /// Time of the call that moved the first byte, in nanoseconds on the host's own clock.
    time: i64,
    /// Number of the message, or of the operation. Messages or operations of one place and time are
    /// in the order of the stream.
    pub(crate) number: u64,
}

impl OperationStart {
    /// In [`OperationStart::operation_place`]: the place is a process, not a connection.
    pub(crate) const OF_PROCESS: u64 = 1 << 63;

    /// Start of an operation in the log of side number `side` of a connection, or of a process for
    /// unconnected sockets: datagrams are in no flow yet when their operations are read.
    pub(crate) fn new(place: u64, side: usize, time: i64, number: u64) -> OperationStart {
        OperationStart { place, side: side as u64, time, number }
    }

    /// The place of an operation over `protocol`: the connection and the direction (1: back to the
    /// connecting side), or the process with the node `by`.
    pub(crate) fn operation_place(
        protocol: TransportProtocol,
        connection: OptionalIndex<ConnectionIndex>,
        direction: usize,
        by: NodeId,
    ) -> u64 {
        match protocol {
            TransportProtocol::Tcp
            | TransportProtocol::UnixStream
            | TransportProtocol::Sctp
            | TransportProtocol::Vsock => {
                u64::from(connection.get().map_or(u32::MAX, ConnectionIndex::slot)) << 1
                    | direction as u64
            }
            _ => OperationStart::OF_PROCESS | by.index() as u64,
        }
    }

    /// The side that recorded the operation.
    pub(crate) fn reporting_side(&self) -> u64 {
        self.side
    }

    /// The key by which a message and its operation are joined.
    pub(crate) fn join_key(&self) -> (u64, u64, i64) {
        (self.place, self.side, self.time)
    }
}

impl KeyedRecord for OperationStart {
    type Key = (u64, u64, i64, u64);

    fn key(&self) -> (u64, u64, i64, u64) {
        (self.place, self.side, self.time, self.number)
    }
}
