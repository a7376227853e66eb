//! Records as a reader gets them: what each says, with its thread and its time.

use super::socket_name::SocketName;
use crate::encode::{Call, Direction, Flow, ProcessEvent, Role, WaitCall};
use crate::layout::Anchor;

/// A record with its thread and its time, in the file's ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The thread that wrote it.
    pub tid: u32,
    /// When a send was called, a receive returned, or the event took place.
    pub ticks: u64,
    /// What happened.
    pub record: Record,
}

/// What one record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Bytes went over a stream.
    Transfer {
        /// Which way.
        direction: Direction,
        /// On which flow.
        flow: u32,
        /// How many.
        bytes: u64,
        /// How long the call took, in ticks (in the common form rounded down by up to 1/32).
        duration: u64,
    },
    /// A datagram went out or came in.
    Datagram {
        /// Which way.
        direction: Direction,
        /// On which flow.
        flow: u32,
        /// The payload's size.
        bytes: u64,
        /// The CRC-32 of the payload.
        checksum: u32,
        /// Only a part of it was received; the checksum is of that part.
        truncated: bool,
        /// It was only looked at (`MSG_PEEK`).
        peeked: bool,
        /// The checksum is not known; it is 0 here.
        unchecked: bool,
        /// How long the call took, in ticks.
        duration: u64,
        /// The peer, where the call named one.
        peer: Option<SocketName>,
    },
    /// The thread's clocks were read together.
    Anchor(Anchor),
    /// A flow began or was met.
    Flow(Flow),
    /// The names of a flow's ends became known.
    Endpoints {
        /// The flow.
        flow: u32,
        /// What this end does.
        role: Role,
        /// This end's name.
        local: Option<SocketName>,
        /// The other end's name.
        peer: Option<SocketName>,
        /// The process at the other end of a unix socket; 0 if unknown.
        peer_pid: u32,
        /// How long before, in ticks, `connect` was called, where this is known.
        took: Option<u64>,
        /// Whether `connect` returned while the connection was still being made.
        under_way: bool,
    },
    /// A descriptor was closed.
    Close {
        /// Its flow.
        flow: u32,
        /// The descriptor.
        fd: i32,
    },
    /// A flow was shut down, `how` as for `shutdown(2)`.
    Shutdown {
        /// The flow.
        flow: u32,
        /// 0: receiving, 1: sending, 2: both.
        how: u16,
    },
    /// A receive met the end of the stream.
    EndOfFile {
        /// The flow.
        flow: u32,
    },
    /// A call failed.
    Failure {
        /// The flow.
        flow: u32,
        /// Which way bytes would have gone.
        direction: Direction,
        /// The error's number.
        errno: u16,
    },
    /// Two flows are the ends of one `socketpair`.
    Pair {
        /// One end.
        first: u32,
        /// The other.
        second: u32,
    },
    /// A descriptor was duplicated.
    Duplicate {
        /// The flow of both.
        flow: u32,
        /// The descriptor there was.
        old: i32,
        /// The new one.
        new: i32,
    },
    /// Something befell the process.
    Process {
        /// What.
        event: ProcessEvent,
        /// The child's pid or the exit status, see [`ProcessEvent`].
        value: i32,
    },
    /// The thread waited for descriptors, until the record's time.
    Wait {
        /// By which call.
        call: WaitCall,
        /// What it returned: how many descriptors were ready, or -1.
        result: i32,
        /// How long it took, in ticks.
        duration: u64,
    },
    /// How much CPU time the thread had used at the record before.
    Cpu {
        /// In nanoseconds.
        nanoseconds: u64,
    },
    /// What a stream began with, in one direction. A later one of the same flow and direction
    /// replaces it.
    Fingerprint {
        /// The flow.
        flow: u32,
        /// Which way.
        direction: Direction,
        /// How many bytes from the stream's first on.
        bytes: u32,
        /// Their CRC-32.
        checksum: u32,
    },
    /// How far into its stream the transfer begins that stands behind it.
    Position {
        /// The flow.
        flow: u32,
        /// Which way.
        direction: Direction,
        /// How many bytes had gone that way before it; [`NO_POSITION`](crate::layout::NO_POSITION)
        /// where that is not known.
        before: u64,
    },
    /// A call of libc's that moves bytes out of sight.
    Call(Call),
    /// A program was begun that loads no library.
    Unseen {
        /// Why, one of [`unseen`](crate::layout::unseen).
        cause: u16,
        /// The process that it is.
        pid: u32,
        /// Its path; of a long one the end.
        program: String,
    },
    /// The thread was started by another.
    Thread {
        /// The thread that did.
        creator: u32,
    },
}
