//! Records as a reader gets them, with their thread and time.

use super::socket_name::SocketName;
use crate::encode::{
    Direction, FileUse, FlowRecord, FlowRole, LibcCall, ProcessEvent, SignalRecord, SocketKind,
    UncapturedEvent, WaitCall, WakeRecord,
};
use crate::layout::Anchor;

/// Entry of a log: a record with its thread and its time, in the file's ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Id of the thread that wrote it, or what stands for the goroutine that it is of, see
    /// [`goroutine`](crate::layout::goroutine).
    pub tid: u32,
    /// Time, in ticks, when a send was called, a receive returned, or the event took place.
    pub ticks: u64,
    /// Record itself.
    pub record: LogRecord,
}

/// Bytes of a message that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Direction of the bytes.
    pub direction: Direction,
    /// Number of the flow.
    pub flow: u32,
    /// Class of the head, one of `snippet`.
    pub class: u8,
    /// Offset of the first byte in the transfer or datagram of the same time, flow and direction.
    pub offset: u32,
    /// Whether the bytes go on where those of the head before ended, of the same flow and
    /// direction.
    pub continues: bool,
    /// Whether bytes of the head were left out behind these.
    pub cut: bool,
    /// Whether the bytes are those of a datagram.
    pub datagram: bool,
    /// Whether the bytes are plain text of a TLS library. The transfer had them encrypted, so the
    /// offset is no more than a place in their order.
    pub plain: bool,
    /// Bytes as the library kept them: zeros where they were made blank since.
    pub bytes: Vec<u8>,
}

/// Record of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRecord {
    /// Transfer of bytes over a stream.
    Transfer {
        /// Direction of the bytes.
        direction: Direction,
        /// Number of the flow.
        flow: u32,
        /// Number of bytes.
        bytes: u64,
        /// Duration of the call, in ticks (in the common form rounded down by up to 1/32).
        duration: u64,
    },
    /// Datagram that went out or came in.
    Datagram {
        /// Direction of the datagram.
        direction: Direction,
        /// Number of the flow.
        flow: u32,
        /// Size of the payload, in bytes.
        bytes: u64,
        /// CRC-32 of the payload.
        checksum: u32,
        /// Whether only a part of it was received; the checksum is of that part.
        truncated: bool,
        /// Whether it was only looked at (`MSG_PEEK`).
        peeked: bool,
        /// Whether the checksum is not known; it is 0 then.
        unchecked: bool,
        /// Whether it may be several datagrams that were moved at once, of a size that is not
        /// known.
        joined: bool,
        /// Duration of the call, in ticks.
        duration: u64,
        /// Name of the peer, where the call named one.
        peer: Option<SocketName>,
    },
    /// Anchor: the thread's clocks were read together.
    Anchor(Anchor),
    /// Beginning of a flow, or its first use.
    Flow(FlowRecord),
    /// Names of a flow's ends.
    Endpoints {
        /// Number of the flow.
        flow: u32,
        /// Role of this end.
        role: FlowRole,
        /// Name of this end.
        local: Option<SocketName>,
        /// Name of the other end.
        peer: Option<SocketName>,
        /// Id of the process at the other end of a unix socket; 0 if unknown.
        peer_pid: u32,
        /// Time since the call to `connect`, in ticks, where it is known.
        took: Option<u64>,
        /// Whether `connect` returned while the connection was still being made.
        under_way: bool,
    },
    /// Descriptor that was closed.
    Close {
        /// Number of its flow.
        flow: u32,
        /// The descriptor.
        fd: i32,
    },
    /// Shutdown of a flow.
    Shutdown {
        /// Number of the flow.
        flow: u32,
        /// What was shut down, as for `shutdown(2)`. 0: receiving, 1: sending, 2: both.
        how: u16,
    },
    /// End of a stream, met by a receive.
    EndOfFile {
        /// Number of the flow.
        flow: u32,
    },
    /// Call that failed.
    Failure {
        /// Number of the flow.
        flow: u32,
        /// Direction in which bytes would have gone.
        direction: Direction,
        /// Number of the error.
        errno: u16,
    },
    /// Two flows that are the ends of one `socketpair`.
    Pair {
        /// Number of the one flow.
        first: u32,
        /// Number of the other flow.
        second: u32,
    },
    /// Descriptor that was duplicated.
    Duplicate {
        /// Number of the flow of both.
        flow: u32,
        /// The former descriptor.
        old: i32,
        /// The new descriptor.
        new: i32,
    },
    /// Event of the process.
    Process {
        /// Kind of event.
        event: ProcessEvent,
        /// Id of the child or status of the exit, see [`ProcessEvent`].
        value: i32,
    },
    /// Wait of the thread for descriptors, until the record's time.
    Wait {
        /// Kind of call.
        call: WaitCall,
        /// Result of the call: the number of descriptors that were ready, or -1.
        result: i32,
        /// Duration of the wait, in ticks.
        duration: u64,
    },
    /// CPU time that the thread had used at the record before.
    Cpu {
        /// CPU time, in nanoseconds.
        nanoseconds: u64,
    },
    /// Fingerprint of a stream's beginning, in one direction. A later one of the same flow and
    /// direction replaces it.
    Fingerprint {
        /// Number of the flow.
        flow: u32,
        /// Direction of the bytes.
        direction: Direction,
        /// Number of bytes from the stream's first on.
        bytes: u32,
        /// CRC-32 of these bytes.
        checksum: u32,
    },
    /// Position in its stream of the transfer that stands behind it.
    Position {
        /// Number of the flow.
        flow: u32,
        /// Direction of the bytes.
        direction: Direction,
        /// Number of bytes that had gone in this direction before it;
        /// [`NO_POSITION`](crate::layout::NO_POSITION) where that is not known.
        before: u64,
    },
    /// Number of bytes that had gone over a stream, as the kernel counts them, of a stream that the
    /// process did not open in sight of the library.
    Counted {
        /// Number of the flow.
        flow: u32,
        /// Direction of the bytes.
        direction: Direction,
        /// Number of bytes that had gone in this direction before the record's time;
        /// [`NO_POSITION`](crate::layout::NO_POSITION) where the kernel does not tell.
        before: u64,
        /// Whether none of the flow's transfers in this direction was recorded before.
        begins: bool,
    },
    /// Number of bytes that the receive queue of a unix stream held, at some moment from the
    /// record's time on; a stream that the process did not open in sight of the library.
    Queued {
        /// Number of the flow.
        flow: u32,
        /// Number of bytes that were not received yet.
        bytes: u32,
        /// Duration of the question, in ticks.
        took: u32,
    },
    /// Socket at the other end of a unix socket that the process did not open in sight of the
    /// library.
    OtherEnd {
        /// Number of the flow.
        flow: u32,
        /// The kernel's id of that socket (`SO_COOKIE`).
        cookie: u64,
    },
    /// Call in which libc moves bytes out of sight.
    Call(LibcCall),
    /// Program that was begun and loads no library.
    Unseen {
        /// Cause, one of [`unseen`](crate::layout::unseen).
        cause: u16,
        /// Id of the process that runs it.
        pid: u32,
        /// Path of the program; of a long one the end.
        program: String,
    },
    /// Something that is not captured.
    Uncaptured {
        /// What it is.
        what: UncapturedEvent,
        /// The descriptor; of an object its calls, flags of
        /// [`uncaptured`](crate::layout::uncaptured).
        value: u32,
        /// Nature of the socket, where it is one.
        socket: SocketKind,
        /// Path of the object, where it is one; of a long one the end.
        object: String,
    },
    /// Start of the thread by another.
    Thread {
        /// Id of the thread that started it.
        creator: u32,
        /// Handle of this thread (`pthread_t`), by which others wait for its end; 0 where it is not
        /// recorded.
        handle: u64,
    },
    /// Use of a file, which ended at the record's time.
    File(FileUse),
    /// Sleep of the thread, until the record's time.
    Sleep {
        /// Duration of the sleep, in ticks.
        duration: u64,
    },
    /// Sign of the thread that another may wait for. The record's time is that of the call.
    Signal(SignalRecord),
    /// End of a wait of the thread for a sign, at the record's time.
    Wake(WakeRecord),
    /// Bytes of a message that name it. The record's time is that of the transfer or datagram that
    /// they are in.
    Head(Snippet),
    /// Change of the goroutine: from here on, records of the chunk are of this one. Its time is
    /// that of a record before it.
    Goroutine {
        /// Number of the goroutine; 0 where records are of the thread itself.
        number: u64,
        /// Thread that stands for the goroutine that started it, see
        /// [`goroutine`](crate::layout::goroutine); 0 for none.
        creator: u32,
    },
    /// Goroutine that this one let go on, or started, at the record's time.
    Ready {
        /// Number of the goroutine.
        number: u64,
        /// Whether it was started then. Else it had waited.
        started: bool,
    },
}
