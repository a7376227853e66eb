//! Where an operation begins: what the message that begins it and what the log tells of it have in
//! common, so that the two find each other when all messages have their numbers.

use message_trace::TransportProtocol;
use out_of_core::KeyedRecord;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A message that begins an operation, or an operation, and where that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct OperationStart {
    /// Of a stream the connection and the direction, of a datagram the process; see
    /// [`OperationStart::operation_place`].
    place: u64,
    /// 0: as the sender's log tells; 1: as the receiver's does.
    side: u64,
    /// Time of the call that moved the first byte, on the host's own clock.
    time: i64,
    /// Number of the message, or of the operation. At one place and time they are in the order of
    /// the stream.
    pub(crate) number: u64,
}

/// In [`OperationStart::operation_place`]: it is of a process, not of a connection.
const OF_PROCESS: u64 = 1 << 63;

impl OperationStart {
    /// One that side number `side` of a connection tells, or a process where nothing is connected:
    /// datagrams are in no flow yet when their operations are told.
    pub(crate) fn new(place: u64, side: usize, time: i64, number: u64) -> OperationStart {
        OperationStart { place, side: side as u64, time, number }
    }

    /// The place of what goes over `protocol`: on which connection and in which direction (1: back
    /// to who connected), or by which process.
    pub(crate) fn operation_place(
        protocol: TransportProtocol,
        connection: u32,
        direction: usize,
        by: u32,
    ) -> u64 {
        match protocol {
            TransportProtocol::Tcp
            | TransportProtocol::UnixStream
            | TransportProtocol::Sctp
            | TransportProtocol::Vsock => u64::from(connection) << 1 | direction as u64,
            _ => OF_PROCESS | u64::from(by),
        }
    }

    /// The side whose log tells it.
    pub(crate) fn reporting_side(&self) -> u64 {
        self.side
    }

    /// By what a message and its operation agree.
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
