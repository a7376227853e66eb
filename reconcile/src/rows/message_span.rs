//! Message span: the calls of a message at one end, by which the rare words that the log has of one
//! of these calls are joined with the message when all messages have their numbers.

use message_trace::{NodeId, TransportProtocol};
use out_of_core::KeyedRecord;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::indices::{ConnectionIndex, OptionalIndex};
use crate::rows::operation_start::OperationStart;

/// A message at one end, with the times of its first and its last call there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct MessageSpan {
    /// See [`place_of_call`].
    pub(crate) place: u64,
    /// Times of the calls with the message's first and last byte, in nanoseconds on the host's
    /// clock.
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// Number of the message.
    pub(crate) number: u64,
}

/// A rare word that a log has of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct LoggedWord {
    /// See [`place_of_call`].
    pub(crate) place: u64,
    /// Time of the call.
    pub(crate) time: i64,
    /// Keyed hash of the word.
    pub(crate) word: u64,
}

/// Bit of a place (see [`place_of_call`]): its calls were made at the receiver's end.
const RECEIVED: u64 = 1 << 62;

/// Number of low bits of a datagram's size that are part of its place (see [`place_of_call`]).
const SIZE_BITS: u32 = 29;

/// The place of a call that moved `bytes` at the sender's end (side 0) or at the receiver's: the
/// connection and the direction (1: back to the connecting side), or the process with the node `by`
/// and the size of the datagram, which is in no flow yet when logs are read.
pub(crate) fn place_of_call(
    protocol: TransportProtocol,
    connection: OptionalIndex<ConnectionIndex>,
    direction: usize,
    by: NodeId,
    (side, bytes): (usize, u64),
) -> u64 {
    let place = OperationStart::operation_place(protocol, connection, direction, by);
    let size = if is_of_datagram(place) { (bytes & ((1 << SIZE_BITS) - 1)) << 32 } else { 0 };
    place | size | if side == 0 { 0 } else { RECEIVED }
}

/// Whether a place is that of a datagram.
fn is_of_datagram(place: u64) -> bool {
    place & OperationStart::OF_PROCESS != 0
}

/// Whether a place (see [`place_of_call`]) is that of calls at the receiver's end.
pub(crate) fn is_received(place: u64) -> bool {
    place & RECEIVED != 0
}

impl KeyedRecord for MessageSpan {
    type Key = (u64, i64, u64);

    fn key(&self) -> (u64, i64, u64) {
        (self.place, self.first, self.number)
    }
}

impl KeyedRecord for LoggedWord {
    type Key = (u64, i64, u64);

    fn key(&self) -> (u64, i64, u64) {
        (self.place, self.time, self.word)
    }
}
