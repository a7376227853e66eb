//! Records for readers, with their thread and time.

use super::socket_name::SocketName;
use crate::encode::{
    Direction, FileUse, FlowRecord, FlowRole, LibcCall, ProcessEvent, RareWords, SignalRecord,
    SocketKind, UncapturedEvent, WaitCall, WakeRecord,
};
use crate::layout::Anchor;

/// Entry of a log: a record with its thread and its time, in the file's ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Id of the thread that wrote the record, or the id that stands for its goroutine, see
    /// [`goroutine`](crate::layout::goroutine).
    pub tid: u32,
    /// Time, in ticks, when a send was called, a receive returned, or the event took place.
    pub ticks: u64,
    /// The record.
    pub record: LogRecord,
}

/// Bytes by which a message is identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Direction of the bytes.
    pub direction: Direction,
    /// Number of the flow.
    pub flow: u32,
    /// Class of the snippet, one of [`snippet`](crate::layout::snippet).
    pub class: u8,
    /// Offset of the first byte in the transfer or datagram of the same time, flow and direction.
    pub offset: u32,
    /// Whether the bytes continue the previous snippet, of the same flow and direction.
    pub continues: bool,
    /// Whether bytes of the message head were left out after these.
    pub cut: bool,
    /// Whether the bytes belong to a datagram.
    pub datagram: bool,
    /// Whether the bytes are plain text of a TLS library. They were encrypted in the transfer, so
    /// the offset only expresses their order.
    pub plain: bool,
    /// Bytes as the library kept them; zeros if they were blanked later.
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
    /// Datagram that was sent or received.
    Datagram {
        /// Direction of the datagram.
        direction: Direction,
        /// Number of the flow.
        flow: u32,
        /// Size of the payload, in bytes.
        bytes: u64,
        /// CRC-32 of the payload.
        checksum: u32,
        /// Whether only a part of the datagram was received; the checksum is of that part.
        truncated: bool,
        /// Whether the datagram was only peeked at (`MSG_PEEK`).
        peeked: bool,
        /// Whether the checksum is not known; it is 0 then.
        unchecked: bool,
        /// Whether the record may be of several datagrams of unknown size that one call moved.
        joined: bool,
        /// Duration of the call, in ticks.
        duration: u64,
        /// Name of the peer, if the call named one.
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
        /// Time from the call of `connect` to its return, in ticks, if it is known.
        took: Option<u64>,
        /// Whether `connect` returned while the connection was still being made.
        under_way: bool,
    },
    /// Descriptor that was closed.
    Close {
        /// Number of the descriptor's flow.
        flow: u32,
        /// The descriptor.
        fd: i32,
    },
    /// Shutdown of a flow.
    Shutdown {
        /// Number of the flow.
        flow: u32,
        /// Directions that were shut down, as for `shutdown(2)`. 0: receiving, 1: sending, 2: both.
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
        /// Direction in which bytes would have been moved.
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
    /// CPU time that the thread had used at the previous record.
    Cpu {
        /// CPU time, in nanoseconds.
        nanoseconds: u64,
    },
    /// Fingerprint of a stream's beginning, in one direction. A later fingerprint of the same flow
    /// and direction replaces it.
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
    /// Position in its stream of the following transfer.
    Position {
        /// Number of the flow.
        flow: u32,
        /// Direction of the bytes.
        direction: Direction,
        /// Number of bytes that had been moved in this direction before the transfer;
        /// [`NO_POSITION`](crate::layout::NO_POSITION) if it is not known.
        before: u64,
    },
    /// Number of bytes that had been moved over a stream, as counted by the kernel, for a stream
    /// that the process opened unseen by the library.
    Counted {
        /// Number of the flow.
        flow: u32,
        /// Direction of the bytes.
        direction: Direction,
        /// Number of bytes that had been moved in this direction before the record's time;
        /// [`NO_POSITION`](crate::layout::NO_POSITION) if the kernel does not report it.
        before: u64,
        /// Whether none of the flow's transfers in this direction was recorded before.
        begins: bool,
    },
    /// Number of bytes in the receive queue of a unix stream, at some moment from the record's time
    /// on, for a stream that the process opened unseen by the library.
    Queued {
        /// Number of the flow.
        flow: u32,
        /// Number of bytes that were not received yet.
        bytes: u32,
        /// Duration of the query, in ticks.
        took: u32,
    },
    /// Socket at the other end of a unix socket that the process opened unseen by the library.
    OtherEnd {
        /// Number of the flow.
        flow: u32,
        /// The kernel's id of the socket at the other end (`SO_COOKIE`).
        cookie: u64,
    },
    /// Call in which libc moves bytes unseen.
    Call(LibcCall),
    /// Program that was started and loads no library.
    Unseen {
        /// Cause, one of [`unseen`](crate::layout::unseen).
        cause: u16,
        /// Id of the process that runs the program.
        pid: u32,
        /// Path of the program; of a long path the end.
        program: String,
    },
    /// Uncaptured event.
    Uncaptured {
        /// Kind of event.
        what: UncapturedEvent,
        /// The descriptor; for an object its calls, flags of
        /// [`uncaptured`](crate::layout::uncaptured); for a runtime flags of
        /// [`runtime`](crate::layout::runtime).
        value: u32,
        /// Nature of the socket, if the event is about a socket.
        socket: SocketKind,
        /// Path of the object, if the event is about an object; of a long path the end. Name of the
        /// runtime, if the event is about a runtime.
        object: String,
    },
    /// Start of the thread by another thread.
    Thread {
        /// Id of the thread that started it.
        creator: u32,
        /// Handle of this thread (`pthread_t`), by which others wait for its end; 0 if it is not
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
    /// Signal of the thread that another may wait for. The record's time is when the call was made.
    Signal(SignalRecord),
    /// End of a wait of the thread for a signal, at the record's time.
    Wake(WakeRecord),
    /// Bytes by which a message is identified. The record has the time of the transfer or datagram
    /// that contains them.
    Head(Snippet),
    /// Hashes of rare words of the latest transfer or datagram, and its time.
    RareWords {
        /// Direction of the transfer or datagram.
        direction: Direction,
        /// Number of the flow.
        flow: u32,
        /// The hashes.
        words: RareWords,
    },
    /// Change of the goroutine: from here on, records of the chunk are of this goroutine. The
    /// record has the time of an earlier one.
    Goroutine {
        /// Number of the goroutine; 0 if records are of the thread itself.
        number: u64,
        /// Thread id that stands for the goroutine that started this one, see
        /// [`goroutine`](crate::layout::goroutine); 0 for none.
        creator: u32,
    },
    /// Goroutine that the chunk's current goroutine woke, or started, at the record's time.
    Ready {
        /// Number of the goroutine.
        number: u64,
        /// Whether the goroutine was started at that time. Otherwise it had waited.
        started: bool,
    },
    /// Start of a context, at the record's time, which may be long before the records around it.
    StartedBy {
        /// Number of the context.
        number: u64,
        /// Thread id of the thread or context that started it, see
        /// [`goroutine`](crate::layout::goroutine).
        starter: u32,
    },
}
