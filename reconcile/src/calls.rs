//! Calls in the compact form that matching works on, in memory or in temporary files.
//!
//! A list of stream transfers also has entries that are no calls ([`TransferOrigin`]): forgotten
//! bytes, which moved but whose records were overwritten; the kernel's counts of a stream's bytes;
//! and, for unix streams, edges (when a send returned, or a receive was called) and looks (a
//! process read how many bytes its receive queue held).

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::indices::{OptionalIndex, ProcessIndex, SocketIndex};
use crate::socket_names::SocketNameId;

/// One send or receive call on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamTransfer {
    /// Time when a send was called or a receive returned, in nanoseconds since the Unix epoch on
    /// the host's clock.
    pub time: i64,
    /// Number of bytes that the call moved.
    pub bytes: u64,
    /// The process, or what else the entry is.
    pub origin: TransferOrigin,
    /// The thread.
    pub tid: i32,
    /// Whether the thread did something else since its last call in the same direction on this
    /// flow: before a send, it received from another flow; before a receive, it began to send on
    /// another.
    pub elsewhere: bool,
    /// Whether an operation begins with the call's first byte, according to the log.
    pub begins: bool,
}

impl StreamTransfer {
    /// In [`bytes`](Self::bytes), an unknown number of forgotten bytes.
    pub(crate) const UNKNOWN: u64 = u64::MAX;
    /// The thread of forgotten bytes that the kernel has counted, so that their position is known
    /// whichever process moved them.
    pub(crate) const COUNTED_GAP: i32 = 1;
    /// The thread of forgotten bytes that the kernel has counted before the very first call.
    pub(crate) const COUNTED_BEFORE: i32 = 2;

    /// The kernel's count, at `time`, of `bytes` bytes before the calls that follow.
    pub(crate) fn counted_from(time: i64, bytes: u64) -> StreamTransfer {
        let origin = TransferOrigin::COUNTED;
        StreamTransfer { time, bytes, origin, tid: 0, elsewhere: false, begins: true }
    }

    /// Whether this is not a call but an edge or a look of a unix stream.
    pub(crate) fn is_mark(&self) -> bool {
        let is_call = self.is_forgotten() || self.is_count();
        !is_call && self.origin.0 & (TransferOrigin::EDGE | TransferOrigin::LOOK) != 0
    }

    /// Whether this is an edge.
    pub(crate) fn is_edge(&self) -> bool {
        self.is_mark() && self.origin.0 & TransferOrigin::EDGE != 0
    }

    /// The process of a call, an edge or a look.
    #[inline]
    pub(crate) fn process(&self) -> ProcessIndex {
        let number = self.origin.0 & !(TransferOrigin::EDGE | TransferOrigin::LOOK);
        ProcessIndex::from_index(number as usize)
    }

    /// Whether these are forgotten bytes, with overwritten records.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.origin == TransferOrigin::FORGOTTEN
    }

    /// Whether this is not a call but the kernel's count.
    pub(crate) fn is_count(&self) -> bool {
        self.origin == TransferOrigin::COUNTED
    }

    /// Bytes that the kernel has counted without a known call: before the `first` call, or between
    /// others.
    pub(crate) fn counted_gap(time: i64, bytes: u64, first: bool) -> StreamTransfer {
        let tid = if first { StreamTransfer::COUNTED_BEFORE } else { StreamTransfer::COUNTED_GAP };
        let origin = TransferOrigin::FORGOTTEN;
        StreamTransfer { time, bytes, origin, tid, elsewhere: false, begins: false }
    }
}

/// Origin of a [`StreamTransfer`]: the process that made a call, or what else the entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct TransferOrigin(u32);

const _: () = assert!(size_of::<TransferOrigin>() == size_of::<ProcessIndex>());

impl TransferOrigin {
    /// Bytes that moved, but have no record in the log any more.
    pub(crate) const FORGOTTEN: TransferOrigin = TransferOrigin(u32::MAX);
    /// The kernel's count of the bytes before the calls that follow, or
    /// [`StreamTransfer::UNKNOWN`]. If [`StreamTransfer::begins`] is set, no earlier call of its
    /// process was recorded.
    pub(crate) const COUNTED: TransferOrigin = TransferOrigin(u32::MAX - 1);
    /// Bits above the index of any process, of an edge and of a look.
    const EDGE: u32 = 1 << 30;
    const LOOK: u32 = 1 << 29;

    /// A call of the process.
    #[inline]
    pub(crate) const fn from_call(process: ProcessIndex) -> TransferOrigin {
        TransferOrigin(process.index() as u32)
    }

    /// An edge: the other end in time of a call of the process, when its send returned, or its
    /// receive was called.
    #[inline]
    pub(crate) const fn from_edge(process: ProcessIndex) -> TransferOrigin {
        TransferOrigin(process.index() as u32 | TransferOrigin::EDGE)
    }

    /// A look of the process at its receive queue, which held [`StreamTransfer::bytes`].
    #[inline]
    pub(crate) const fn from_look(process: ProcessIndex) -> TransferOrigin {
        TransferOrigin(process.index() as u32 | TransferOrigin::LOOK)
    }

    /// Returns the origin as a number, in which [`BEGINS`] is not set for a call, edge or look.
    #[inline]
    pub(crate) const fn code(self) -> u32 {
        self.0
    }
}

/// A [`StreamTransfer`] with its socket, packed for temporary files until it is assigned to its
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct StreamCall {
    /// See [`StreamTransfer::time`].
    pub(crate) time: i64,
    /// Number of bytes, and [`ELSEWHERE`].
    pub(crate) bytes: u32,
    /// The code of the origin, and [`BEGINS`].
    pub(crate) origin: u32,
    pub(crate) tid: i32,
    /// Twice the socket, plus one for a receive.
    pub(crate) socket: u32,
}

/// In [`StreamCall::bytes`], a bit above any size: [`StreamTransfer::elsewhere`].
pub(crate) const ELSEWHERE: u32 = 1 << 31;
/// In [`StreamCall::origin`], a bit above any call, edge or look: [`StreamTransfer::begins`].
pub(crate) const BEGINS: u32 = 1 << 31;

/// In the packed word of a count, a bit above any count: no earlier call was recorded.
const COUNT_BEGINS: u64 = 1 << 62;
/// In the packed word of a count, the value of an unknown one.
const NOT_COUNTED: u64 = 1 << 61;

impl StreamCall {
    /// The value of [`StreamCall::socket`].
    #[inline]
    pub(crate) fn pack_socket(socket: SocketIndex, is_received: bool) -> u32 {
        (socket.index() as u32) << 1 | u32::from(is_received)
    }

    /// The socket of the call.
    #[inline]
    pub(crate) fn socket_index(&self) -> SocketIndex {
        SocketIndex::from_index(self.socket as usize >> 1)
    }

    /// Bytes with overwritten records, in any number: the upper half of the number is in the field
    /// for the thread.
    pub(crate) fn from_forgotten(time: i64, bytes: u64, socket: u32) -> StreamCall {
        let (bytes, tid) = (bytes as u32, (bytes >> 32) as u32 as i32);
        StreamCall { time, bytes, origin: TransferOrigin::FORGOTTEN.0, tid, socket }
    }

    /// The kernel's count of a stream's bytes `before` the calls that follow, see
    /// [`TransferOrigin::COUNTED`]. `begins`: no earlier call was recorded.
    pub(crate) fn from_count(time: i64, before: u64, begins: bool, socket: u32) -> StreamCall {
        let word = before.min(NOT_COUNTED) | if begins { COUNT_BEGINS } else { 0 };
        let (bytes, tid) = (word as u32, (word >> 32) as u32 as i32);
        StreamCall { time, bytes, origin: TransferOrigin::COUNTED.0, tid, socket }
    }

    /// Converts the call to the form that matching uses.
    pub(crate) fn to_transfer(self) -> StreamTransfer {
        let StreamCall { time, bytes, origin, tid, .. } = self;
        if origin == TransferOrigin::COUNTED.0 {
            let origin = TransferOrigin::COUNTED;
            let word = u64::from(tid as u32) << 32 | u64::from(bytes);
            let before = Some(word & !COUNT_BEGINS).filter(|before| *before < NOT_COUNTED);
            let bytes = before.unwrap_or(StreamTransfer::UNKNOWN);
            let begins = word & COUNT_BEGINS != 0;
            return StreamTransfer { time, bytes, origin, tid: 0, elsewhere: false, begins };
        }
        if origin == TransferOrigin::FORGOTTEN.0 {
            let origin = TransferOrigin::FORGOTTEN;
            let bytes = u64::from(tid as u32) << 32 | u64::from(bytes);
            return StreamTransfer { time, bytes, origin, tid: 0, elsewhere: false, begins: false };
        }
        let (elsewhere, begins) = (bytes & ELSEWHERE != 0, origin & BEGINS != 0);
        let (bytes, origin) = (u64::from(bytes & !ELSEWHERE), TransferOrigin(origin & !BEGINS));
        StreamTransfer { time, bytes, origin, tid, elsewhere, begins }
    }
}

/// One datagram as its sender or a receiver saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct DatagramCall {
    /// Time of the call, in nanoseconds on the host's clock.
    pub(crate) time: i64,
    /// Number of bytes that were sent, or received.
    pub(crate) bytes: u32,
    /// CRC-32 of the payload.
    pub(crate) checksum: u32,
    pub(crate) process: ProcessIndex,
    pub(crate) tid: i32,
    /// The peer that the call named, or the one that the socket is connected to.
    pub(crate) peer: OptionalIndex<SocketNameId>,
    pub(crate) socket: SocketIndex,
    /// See [`DatagramCall::pack_flags`] and [`DatagramCall::JOINED`].
    pub(crate) flags: u32,
    /// Index of the datagram's operation plus one; 0 if no operation is known.
    pub(crate) operation: u32,
}

impl DatagramCall {
    /// The value of [`DatagramCall::flags`]. `unchecked`: the checksum is unknown.
    pub(crate) fn pack_flags(sent: bool, truncated: bool, unchecked: bool) -> u32 {
        u32::from(sent) | u32::from(truncated) << 1 | u32::from(unchecked) << 2
    }

    /// In [`DatagramCall::flags`]: the call may have moved several datagrams.
    pub(crate) const JOINED: u32 = 1 << 3;

    /// Whether the call may have moved several datagrams, of unknown size.
    pub(crate) fn is_joined(&self) -> bool {
        self.flags & DatagramCall::JOINED != 0
    }

    /// Whether the call sent the datagram.
    pub(crate) fn is_sent(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether only a part of the datagram was received or captured.
    pub(crate) fn is_truncated(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether the datagram's checksum is unknown.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.flags & 4 != 0
    }
}

/// One side of a message: the times of its calls, and their process and thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallSpan {
    /// The time of the call with the message's first byte, in nanoseconds on the host's clock.
    pub first: i64,
    /// The time of the call with the message's last byte, on the same clock.
    pub last: i64,
    /// The process: of the first send, or of the last receive.
    pub process: ProcessIndex,
    /// The thread of that process.
    pub tid: i32,
}

impl CallSpan {
    /// The span of a single call.
    pub(crate) fn from_call(time: i64, process: ProcessIndex, tid: i32) -> CallSpan {
        CallSpan { first: time, last: time, process, tid }
    }
}

/// A message of a flow, before the flow has a number and its ends have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowMessage {
    /// The sender's side; `None` if it was not seen.
    pub sent: Option<CallSpan>,
    /// The receiver's side; `None` if it was not seen.
    pub received: Option<CallSpan>,
    /// The payload's size, in bytes.
    pub bytes: u64,
    /// Number of messages that were merged into this one.
    pub parts: u32,
    /// Whether its sender did something else since its previous send, see
    /// [`StreamTransfer::elsewhere`].
    pub elsewhere: bool,
    /// Whether its receiver did something else since its previous receive.
    pub acted: bool,
    /// Whether an operation begins with its first byte, according to the sender's log and to the
    /// receiver's.
    pub begins: [bool; 2],
}

impl FlowMessage {
    /// Whether an operation begins with its first byte.
    pub(crate) fn begins_operation(&self) -> bool {
        self.begins != [false; 2]
    }
}

/// The kernel moves less than 2 GiB in one call; a larger value is damage.
pub(crate) const MAX_TRANSFER_BYTES: u64 = (1 << 31) - 1;

/// Merges `next` into `last`, the message before it.
pub(crate) fn append_message(last: &mut FlowMessage, next: &FlowMessage) {
    if let (Some(sent), Some(more)) = (&mut last.sent, next.sent) {
        sent.last = sent.last.max(more.last);
    }
    if let (Some(received), Some(more)) = (&mut last.received, next.received) {
        received.last = received.last.max(more.last);
        received.tid = more.tid;
    }
    last.bytes += next.bytes;
    last.parts += next.parts;
}
