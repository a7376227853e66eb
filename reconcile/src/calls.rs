//! Calls in the compact form that matching works on, in memory or in temporary files.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// One send or receive call on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamTransfer {
    /// Time when a send was called or a receive returned, in nanoseconds since the Unix epoch on
    /// the host's clock.
    pub time: i64,
    /// Number of bytes that the call moved.
    pub bytes: u64,
    /// Index of the process; [`StreamTransfer::FORGOTTEN`] for bytes with overwritten records.
    pub process: u32,
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
    /// The process of bytes that moved, but have no record in the log any more.
    pub(crate) const FORGOTTEN: u32 = u32::MAX;
    /// In [`bytes`](Self::bytes), an unknown number of forgotten bytes.
    pub(crate) const UNKNOWN: u64 = u64::MAX;
    /// The process of an entry that is not a call but the kernel's count of the bytes before the
    /// calls that follow, or [`UNKNOWN`](Self::UNKNOWN). If [`begins`](Self::begins) is set, no
    /// earlier call of its process was recorded.
    pub(crate) const COUNTED: u32 = u32::MAX - 1;
    /// The thread of forgotten bytes that the kernel has counted, so that their position is known
    /// whichever process moved them.
    pub(crate) const COUNTED_GAP: i32 = 1;
    /// The thread of forgotten bytes that the kernel has counted before the very first call.
    pub(crate) const COUNTED_BEFORE: i32 = 2;

    /// In [`process`](Self::process), bits above the number of any process. The entry is not a
    /// call, but the other end of a call in time (when the send returned, or the receive was
    /// called), or a look at the receive queue, which held [`bytes`](Self::bytes).
    pub(crate) const EDGE: u32 = 1 << 30;
    pub(crate) const LOOK: u32 = 1 << 29;

    /// Kernel's count of `bytes` bytes before the calls that follow.
    pub(crate) fn counted_from(time: i64, bytes: u64) -> StreamTransfer {
        let process = StreamTransfer::COUNTED;
        StreamTransfer { time, bytes, process, tid: 0, elsewhere: false, begins: true }
    }

    /// Whether this is not a call but an edge or a look of a unix stream: [`EDGE`](Self::EDGE) or
    /// [`LOOK`](Self::LOOK).
    pub(crate) fn is_mark(&self) -> bool {
        let is_call = self.is_forgotten() || self.is_count();
        !is_call && self.process & (StreamTransfer::EDGE | StreamTransfer::LOOK) != 0
    }

    /// Whether this is [`EDGE`](Self::EDGE).
    pub(crate) fn is_edge(&self) -> bool {
        self.is_mark() && self.process & StreamTransfer::EDGE != 0
    }

    /// The process, also of an edge or a look.
    pub(crate) fn process_of_mark(&self) -> u32 {
        self.process & !(StreamTransfer::EDGE | StreamTransfer::LOOK)
    }

    /// Whether these are bytes with overwritten records.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.process == StreamTransfer::FORGOTTEN
    }

    /// Whether this is not a call but the kernel's count.
    pub(crate) fn is_count(&self) -> bool {
        self.process == StreamTransfer::COUNTED
    }

    /// Bytes that the kernel has counted without a known call: before the `first` call, or between
    /// others.
    pub(crate) fn counted_gap(time: i64, bytes: u64, first: bool) -> StreamTransfer {
        let tid = if first { StreamTransfer::COUNTED_BEFORE } else { StreamTransfer::COUNTED_GAP };
        let process = StreamTransfer::FORGOTTEN;
        StreamTransfer { time, bytes, process, tid, elsewhere: false, begins: false }
    }
}

/// A [`StreamTransfer`] on its way to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct StreamCall {
    pub(crate) time: i64,
    /// Number of bytes, and [`ELSEWHERE`].
    pub(crate) bytes: u32,
    /// The process, and [`BEGINS`].
    pub(crate) process: u32,
    pub(crate) tid: i32,
    /// Twice the socket, plus one for a receive.
    pub(crate) socket: u32,
}

/// In [`StreamCall::bytes`], a bit above any size: [`StreamTransfer::elsewhere`].
pub(crate) const ELSEWHERE: u32 = 1 << 31;
/// In [`StreamCall::process`], a bit above the number of any process: [`StreamTransfer::begins`].
pub(crate) const BEGINS: u32 = 1 << 31;

/// In a count, a bit above any count: no earlier call was recorded.
const COUNT_BEGINS: u64 = 1 << 62;
/// Value of a missing count.
const NOT_COUNTED: u64 = 1 << 61;

impl StreamCall {
    /// Bytes with overwritten records, in any number: the upper half of the number is in the field
    /// for the thread.
    pub(crate) fn from_forgotten(time: i64, bytes: u64, socket: u32) -> StreamCall {
        let (bytes, tid) = (bytes as u32, (bytes >> 32) as u32 as i32);
        StreamCall { time, bytes, process: StreamTransfer::FORGOTTEN, tid, socket }
    }

    /// The kernel's count of a stream's bytes, see [`StreamTransfer::COUNTED`].
    pub(crate) fn from_count(time: i64, before: u64, begins: bool, socket: u32) -> StreamCall {
        let word = before.min(NOT_COUNTED) | if begins { COUNT_BEGINS } else { 0 };
        let (bytes, tid) = (word as u32, (word >> 32) as u32 as i32);
        StreamCall { time, bytes, process: StreamTransfer::COUNTED, tid, socket }
    }

    /// Converts the call to the form that matching uses.
    pub(crate) fn to_transfer(self) -> StreamTransfer {
        let StreamCall { time, bytes, process, tid, .. } = self;
        if process == StreamTransfer::COUNTED {
            let word = u64::from(tid as u32) << 32 | u64::from(bytes);
            let before = Some(word & !COUNT_BEGINS).filter(|before| *before < NOT_COUNTED);
            let bytes = before.unwrap_or(StreamTransfer::UNKNOWN);
            let begins = word & COUNT_BEGINS != 0;
            return StreamTransfer { time, bytes, process, tid: 0, elsewhere: false, begins };
        }
        if process == StreamTransfer::FORGOTTEN {
            let bytes = u64::from(tid as u32) << 32 | u64::from(bytes);
            return StreamTransfer {
                time,
                bytes,
                process,
                tid: 0,
                elsewhere: false,
                begins: false,
            };
        }
        let (elsewhere, begins) = (bytes & ELSEWHERE != 0, process & BEGINS != 0);
        let (bytes, process) = (u64::from(bytes & !ELSEWHERE), process & !BEGINS);
        StreamTransfer { time, bytes, process, tid, elsewhere, begins }
    }
}

/// One datagram as its sender or a receiver saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct DatagramCall {
    pub(crate) time: i64,
    pub(crate) bytes: u32,
    pub(crate) checksum: u32,
    pub(crate) process: u32,
    pub(crate) tid: i32,
    /// The peer that the call named, or the one that the socket is connected to.
    pub(crate) peer: crate::socket_names::SocketNameId,
    pub(crate) socket: u32,
    pub(crate) flags: u32,
    /// Index of the datagram's operation plus one; 0 if no operation is known.
    pub(crate) operation: u32,
}

impl DatagramCall {
    pub(crate) fn pack_flags(sent: bool, truncated: bool, unchecked: bool) -> u32 {
        u32::from(sent) | u32::from(truncated) << 1 | u32::from(unchecked) << 2
    }

    /// In [`DatagramCall::flags`]: the call may have moved several datagrams.
    pub(crate) const JOINED: u32 = 1 << 3;

    /// Whether the call may have moved several datagrams, of unknown size.
    pub(crate) fn joined(&self) -> bool {
        self.flags & DatagramCall::JOINED != 0
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.flags & 1 != 0
    }

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
    pub process: u32,
    /// The thread of that process.
    pub tid: i32,
}

impl CallSpan {
    /// The span of a single call.
    pub(crate) fn from_call(time: i64, process: u32, tid: i32) -> CallSpan {
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
pub(crate) const LARGEST_TRANSFER: u64 = (1 << 31) - 1;

/// Appends `next` to the message before it.
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
