//! The file's layout: a header page, then chunks of equal size, each written by one thread.
//!
//! The writer maps the file shared, so stored data survive the death of its process. Two rules make
//! the file readable at any moment, however the writer ended:
//!
//! - Everything unwritten is zero, and a record's first word is never zero. The writer first
//!   reserves the words of a record by advancing its thread's position, then stores a
//!   [`kind::RESERVED`] word with their number, then fills the rest, and commits by storing the
//!   true first word last, with release ordering. A thread that dies in between leaves either zeros
//!   or a record of known length, and a signal handler that comes in between writes after it. A
//!   chunk and the file are committed by their magic in the same way.
//! - A chunk belongs to one thread, so records of different threads never wait for each other, and
//!   a record need not name its thread.
//!
//! All numbers are little-endian; the writer refuses to build for other machines.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::recording::RECORDING_BYTES;

/// First eight bytes of a log.
pub const MAGIC: u64 = u64::from_le_bytes(*b"sockcap\0");
/// Version of this layout. A reader rejects other versions with an error that names them.
pub const VERSION: u32 = 1;
/// Size of the header's arguments field, in bytes.
pub const ARGUMENTS_BYTES: usize = 2048;
/// Size of the header page, and so the offset of the first chunk, in bytes.
pub const HEADER_BYTES: usize = 4096;
/// Size of a chunk, in bytes.
pub const CHUNK_BYTES: usize = 4096;
/// First word of a committed chunk header.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"CHNK");
/// First word of a chunk between two uses: nothing in it is to be read.
pub const CHUNK_FREE: u32 = u32::from_le_bytes(*b"FREE");
/// Value of [`FileHeader::keeps_newest`] if transfers have positions, see [`kind::POSITION`].
pub const KEEPS_NEWEST: u32 = 2;
/// Value of an unknown position of a transfer.
pub const NO_POSITION: u64 = u64::MAX;
/// Number of words of an anchor's record.
pub const ANCHOR_WORDS: usize = 7;
/// Index of the word with the thread's id, in a record of [`kind::CONTINUED`].
#[cfg(feature = "reader")]
pub(crate) const CONTINUED_TID: usize = 7;
/// Number of words of a chunk, header included.
pub const CHUNK_WORDS: usize = CHUNK_BYTES / 4;
/// Number of words of a chunk's header.
pub const CHUNK_HEADER_WORDS: usize = size_of::<ChunkHeader>() / 4;
/// Number of words of the common record: one transfer on a stream.
pub const TRANSFER_WORDS: usize = 3;
/// Number of words of the shortest record: one transfer on a stream soon after another of the same
/// thread.
pub const SHORT_WORDS: usize = 2;
/// Number of words of the common record of a datagram: one with the same peer as the previous one.
pub const SHORT_DATAGRAM_WORDS: usize = 4;
/// Maximum number of words of a record.
pub const LARGEST_RECORD_WORDS: usize = 255;
/// Number of words of a snippet's record before its bytes, see `kind::SNIPPET`.
pub const SNIPPET_WORDS: usize = 5;
/// Maximum number of bytes of a snippet in one record. A longer snippet has several consecutive
/// records.
pub const LARGEST_SNIPPET_BYTES: usize = 4 * (LARGEST_RECORD_WORDS - SNIPPET_WORDS);
const _: () = assert!(LARGEST_SNIPPET_BYTES < 1 << snippet::LENGTH_BITS);
/// Maximum number of words of a message in a record of rare words.
pub const MAX_RARE_WORDS: usize = 4;
/// Largest distance, in ticks, of a record's time from the thread's latest anchor. Beyond it the
/// writer sets a new anchor. Times are stored as their low 32 bits and read back as the nearest to
/// the anchor; the limit is half of the unambiguous distance, which leaves a signal handler a
/// second to run between two steps of the writer.
pub const ANCHOR_REACH: u64 = 1 << 30;
/// Number of low bits of its ticks that a record of the shortest form keeps. They are read back as
/// the ticks nearest to the previous time, which is the time of the latest transfer or anchor in
/// the same chunk.
pub(crate) const SHORT_TICKS_BITS: u32 = 22;
/// Largest distance, in ticks, of the time of a record of the shortest form from the previous one.
/// This is half of the unambiguous distance, since between two records of the program there may be
/// a record of a signal handler.
pub const SHORT_REACH: u64 = 1 << (SHORT_TICKS_BITS - 2);
/// Smallest flow number, and smallest number of bytes, that the shortest form cannot hold.
pub(crate) const SHORTEST_LIMIT: u32 = 1 << 12;
/// Smallest flow number that the common record cannot hold.
pub(crate) const SHORT_FLOW_LIMIT: u32 = 1 << 24;
/// Smallest number of bytes that the common record cannot hold.
pub(crate) const SHORT_BYTES_LIMIT: u64 = 1 << 22;

/// Size of the header's field of ancestors, in bytes. Each ancestor is `PID:START:NAME`, with a
/// comma between two: its id, its start time (in nanoseconds since the Unix epoch), and the name
/// that it was started as.
pub const ANCESTORS_BYTES: usize = 416;

/// Thread ids that stand for goroutines: what runs sequentially in a Go program, on any of its
/// threads.
pub mod goroutine {
    /// Smallest id that stands for a goroutine. The kernel gives threads smaller ones (below 2^22).
    pub const FIRST: u32 = 1 << 30;

    /// Id that stands for the goroutine of this number, with the low 30 of its bits. 0 stands for
    /// none.
    pub const fn thread_id(number: u64) -> u32 {
        if number == 0 { 0 } else { FIRST | number as u32 & (FIRST - 1) }
    }

    /// Whether an id stands for a goroutine.
    pub const fn is_goroutine(thread: u32) -> bool {
        thread >= FIRST
    }
}

/// Clocks of a file's ticks.
pub mod tick {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub const MONOTONIC: u32 = 1;
    /// The processor's cycle counter, shifted right by
    /// [`FileHeader::tick_shift`](super::FileHeader).
    pub const CYCLES: u32 = 2;
}

/// Progress of the process, as recorded in its log.
pub mod state {
    /// The process runs, or it was killed.
    pub const RUNNING: u32 = 0;
    /// The process ended by `exit` or `_exit`.
    pub const EXITED: u32 = 1;
    /// The process was replaced by another program with `exec`, which has a log of its own.
    pub const REPLACED: u32 = 2;
    /// The process continued without the library, which had been injected while it ran.
    pub const LEFT: u32 = 3;
}

/// Sources of a log: the observer of the calls.
pub mod source {
    /// The library, loaded into the process.
    pub const LIBRARY: u32 = 0;
    /// `strace`, with its output imported.
    pub const STRACE: u32 = 1;
    /// No observer: the calls were inferred from captured packets.
    pub const PACKETS: u32 = 2;
    /// The kernel: the file contains switches of threads instead of calls (the module `switches`).
    pub const SWITCHES: u32 = 3;
    /// Another log in the same directory: the file contains the operations of the other log's
    /// messages instead of calls, see the crate `operations`.
    pub const OPERATIONS: u32 = 4;
    /// Display name of each source.
    pub const NAMES: [&str; 5] = ["library", "strace", "packets", "kernel", "operations"];
}

/// Causes for which nothing is recorded of a program that a recorded one started.
pub mod unseen {
    /// The program is statically linked.
    pub const STATIC: u16 = 1;
    /// The program has another user's rights, or capabilities, so that the system loads no library
    /// for it.
    pub const RIGHTS: u16 = 2;
    /// The program is for another kind of machine.
    pub const MACHINE: u16 = 3;
    /// The program's user may not write to the data directory.
    pub const DIRECTORY: u16 = 4;
    /// The library cannot be opened where the program runs: after `chroot`, or as another user.
    pub const LIBRARY: u16 = 5;
    /// The program is written in Go and calls the kernel past libc, so that little of it is
    /// visible.
    pub const GO: u16 = 6;
    /// A seccomp filter, which the program inherits, forbids it to make a log.
    pub const FILTER: u16 = 7;
    /// The program loads no library, and the recorder, to which it was announced, has not injected
    /// it.
    pub const NOT_PUT: u16 = 8;
    /// Display name of each cause.
    pub const NAMES: [&str; 9] = [
        "",
        "statically linked",
        "has the rights of another user or capabilities",
        "for another kind of machine",
        "its user may not write to the data directory",
        "libsockcap.so cannot be opened where it runs",
        "written in Go, which calls the kernel past libc",
        "a seccomp filter forbids it to make a log",
        "loads no library, and --inject did not inject one",
    ];
}

/// Flags of an uncaptured object, see [`kind::UNCAPTURED`].
pub mod uncaptured {
    /// The object makes socket calls.
    pub const CALLS_SOCKETS: u32 = 1 << 0;
    /// The object makes the call that sets up `io_uring`.
    pub const CALLS_RINGS: u32 = 1 << 1;
    /// The object is a library written in Go.
    pub const IS_GO: u32 = 1 << 2;
    /// The object has a function that makes any system call, by number.
    pub const CALLS_ANY: u32 = 1 << 3;
}

/// Evidence that a recording leaves out on request, in the header: flags.
pub mod left_out {
    /// Rare words of messages.
    pub const WORDS: u32 = 1 << 0;
}

/// Runtimes that switch threads between tasks.
pub mod runtime {
    /// Flag: the user had the runtime left out.
    pub const IS_LEFT_OUT: u32 = 1 << 0;
    /// Name of each runtime, as users give it.
    pub const NAMES: [&str; 6] = ["go", "java", "node", "python", "ruby", "tokio"];
}

/// Classes and flags of a snippet's record, see `kind::SNIPPET`.
pub mod snippet {
    /// Class of HTTP/1, and of protocols with heads of the same form: the first line, and those
    /// header lines by which the message is identified.
    pub const HTTP1: u8 = 1;
    /// Class of HTTP/2: frames.
    pub const HTTP2: u8 = 2;
    /// Class of anything else: the first bytes of a turn, or of a datagram.
    pub const OTHER: u8 = 3;
    /// Flag: the bytes were received, not sent.
    pub const RECEIVED: u16 = 1 << 8;
    /// Flag: the bytes continue the previous record, of the same flow and direction.
    pub const CONTINUES: u16 = 1 << 9;
    /// Flag: bytes of the message were left out after these.
    pub const CUT: u16 = 1 << 10;
    /// Flag: the bytes belong to a datagram.
    pub const DATAGRAM: u16 = 1 << 11;
    /// Flag: the bytes are plain text of a TLS library, and were encrypted in the transfer.
    pub const PLAIN: u16 = 1 << 12;
    /// Number of bits that the length takes in its word. If [`PLAIN`] is set, the others are the
    /// bits of the time above its low 32.
    pub const LENGTH_BITS: u32 = 10;
}

/// Aux field of a record of rare words, see `kind::RARE_WORDS`.
pub mod rare_words {
    /// Flag: the words are of a message that was received, not sent.
    pub const RECEIVED: u16 = 1;
    /// Number of low bits of the flow's number that the record has, above the flag.
    pub const FLOW_BITS: u32 = 15;
}

/// Causes for which a record is not written, as indices of [`FileHeader::lost`].
pub mod lost {
    /// The disk is full, or the user's quota is used up.
    pub const NO_SPACE: usize = 0;
    /// The log's limit (`SOCKCAP_MAX_BYTES`) is reached.
    pub const LIMIT: usize = 1;
    /// A system call that is required for extending the log was refused.
    pub const REFUSED: usize = 2;
    /// The thread could not be given a chunk in time (for example, in a signal handler inside the
    /// writer).
    pub const BUSY: usize = 3;
    /// The descriptor is beyond the table of descriptors.
    pub const DESCRIPTOR: usize = 4;
    /// There was no descriptor or no memory left for extending the log, which may have grown later.
    pub const SHORTAGE: usize = 5;
    /// The process may write no larger files (`ulimit -f`, `RLIMIT_FSIZE`).
    pub const FILE_SIZE: usize = 6;
    /// Number of causes in a header.
    pub const CAUSES: usize = 8;
    /// Display name of each cause.
    pub const NAMES: [&str; CAUSES] = [
        "disk full",
        "log limit",
        "system call refused",
        "writer busy",
        "descriptor too large",
        "no descriptor or memory",
        "file size limit (ulimit -f)",
        "",
    ];
}

/// Fixed part of the header page. Texts are UTF-8 or raw bytes from the system, cut at their
/// array's length, and padded with zeros.
#[repr(C)]
pub struct FileHeader {
    /// Value [`MAGIC`]; stored last, with release ordering.
    pub magic: AtomicU64,
    /// Value [`VERSION`].
    pub version: u32,
    /// Value [`HEADER_BYTES`].
    pub header_bytes: u32,
    /// Value [`CHUNK_BYTES`].
    pub chunk_bytes: u32,
    /// Clock of the ticks, one of [`tick`].
    pub tick_clock: u32,
    /// Number of bits by which the cycle counter is shifted right to give a tick.
    pub tick_shift: u32,
    /// Id of the process.
    pub pid: u32,
    /// Id of the process's parent.
    pub parent_pid: u32,
    /// Id of the process's user.
    pub uid: u32,
    /// Start of the process: an anchor like a chunk's.
    pub start: Anchor,
    /// The kernel's random id of this boot.
    pub boot_id: [u8; 16],
    /// Progress of the process, one of [`state`].
    pub state: AtomicU32,
    /// Number of chunks assigned so far.
    pub chunks: AtomicU32,
    /// Number of records lost, by cause, see [`lost`].
    pub lost: [AtomicU64; lost::CAUSES],
    /// Name of the host, from the user (`SOCKCAP_HOST`) or from the kernel.
    pub host: [u8; 128],
    /// Path of the executable.
    pub executable: [u8; 1024],
    /// Arguments, each ended by a zero byte.
    pub arguments: [u8; ARGUMENTS_BYTES],
    /// Largest size of the log, in bytes; 0 if it has no limit.
    pub limit: u64,
    /// Whether a full log continues in place of its oldest chunks ([`KEEPS_NEWEST`]) or ends (0).
    pub keeps_newest: u32,
    /// Source of the log, one of [`source`].
    pub source: u32,
    /// Inode of the process's network namespace when the log began; 0 if it is not known.
    pub namespace: u64,
    /// Inode of the pid namespace of the process; 0 if it is not known.
    pub pid_namespace: u64,
    /// Control groups of the process when the log began, in the form of `/proc/self/cgroup`.
    pub cgroup: [u8; 240],
    /// Ancestors of this process in the form described at [`ANCESTORS_BYTES`], the nearest last.
    pub ancestors: [u8; ANCESTORS_BYTES],
    /// Number of processes of this process's family that used sockets and have no log, since there
    /// was no space for one.
    pub without_log: AtomicU64,
    /// Whether resources are recorded in addition to messages: files, sleeps and hand-offs (1), or
    /// not (0).
    pub resources: u32,
    /// Whether snippets of messages are recorded (1), or not (0).
    pub heads: u32,
    /// Id of the recording ([`RecordingId`](crate::RecordingId)) that the log belongs to; zeros if
    /// there is none.
    pub recording: [u8; RECORDING_BYTES],
    /// Evidence that the user had left out, flags of [`left_out`]; 0 in older logs.
    pub left_out: u32,
}

/// One moment on the three clocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anchor {
    /// Time in ticks of the file, see [`FileHeader::tick_clock`].
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic: i64,
    /// `CLOCK_REALTIME`, in nanoseconds since the Unix epoch.
    pub realtime: i64,
}

/// Beginning of each chunk.
#[repr(C)]
pub struct ChunkHeader {
    /// Value [`CHUNK_MAGIC`]; stored last, with release ordering.
    pub magic: AtomicU32,
    /// Id of the thread that writes this chunk.
    pub tid: u32,
    /// Time when the thread was given the chunk, and the thread's latest anchor for the following
    /// records.
    pub anchor: Anchor,
}

const _: () = assert!(size_of::<FileHeader>() <= HEADER_BYTES);
const _: () = assert!(size_of::<ChunkHeader>() == 32);
#[cfg(target_endian = "big")]
compile_error!("the log is little-endian and so must be the machine that writes it");

/// Kinds of records: the low eight bits of a record's first word.
pub mod kind {
    /// Bytes sent on a stream: the common record.
    pub const SEND: u8 = 1;
    /// Bytes received on a stream: the common record.
    pub const RECEIVE: u8 = 2;
    /// Bytes sent on a stream: the long form.
    pub const SEND_LONG: u8 = 3;
    /// Bytes received on a stream: the long form.
    pub const RECEIVE_LONG: u8 = 4;
    /// A datagram sent.
    pub const SEND_DATAGRAM: u8 = 5;
    /// A datagram received.
    pub const RECEIVE_DATAGRAM: u8 = 6;
    /// One moment on the three clocks.
    pub const ANCHOR: u8 = 7;
    /// A flow begins, or is seen for the first time.
    pub const FLOW: u8 = 8;
    /// Names of a flow's ends.
    pub const ENDPOINTS: u8 = 9;
    /// A descriptor of a flow was closed.
    pub const CLOSE: u8 = 10;
    /// One or both directions of a flow were shut down.
    pub const SHUTDOWN: u8 = 11;
    /// The other end closed its direction: a receive returned zero bytes.
    pub const END_OF_FILE: u8 = 12;
    /// A call on a flow failed.
    pub const FAILURE: u8 = 13;
    /// Two flows are the two ends of one `socketpair`.
    pub const PAIR: u8 = 14;
    /// A descriptor was duplicated.
    pub const DUPLICATE: u8 = 15;
    /// Event of the process: fork, spawn, exec, exit.
    pub const PROCESS: u8 = 16;
    /// A thread waited for descriptors (`SOCKCAP_WAITS`).
    pub const WAIT: u8 = 18;
    /// CPU time of the thread at the previous record (`SOCKCAP_CPU`).
    pub const CPU: u8 = 19;
    /// Checksum of the first bytes of one direction of a stream (`SOCKCAP_FINGERPRINT`).
    pub const FINGERPRINT: u8 = 20;
    /// Bytes sent on a stream: the shortest form.
    pub const SEND_SHORT: u8 = 22;
    /// Bytes received on a stream: the shortest form.
    pub const RECEIVE_SHORT: u8 = 23;
    /// Call in which libc moves bytes unseen.
    pub const CALL: u8 = 17;
    /// The thread was started by another thread of the process.
    pub const THREAD: u8 = 21;
    /// Another thread continues in this chunk.
    pub const CONTINUED: u8 = 24;
    /// A datagram sent to the same peer as the latest [`SEND_DATAGRAM`] record of its flow in the
    /// same chunk.
    pub const SEND_DATAGRAM_SHORT: u8 = 25;
    /// A datagram received from the same peer as the latest [`RECEIVE_DATAGRAM`] record of its flow
    /// in the same chunk.
    pub const RECEIVE_DATAGRAM_SHORT: u8 = 26;
    /// Position in its stream of the following transfer.
    pub const POSITION: u8 = 27;
    /// A program was started that loads no library, so that nothing of it is recorded.
    pub const UNSEEN: u8 = 28;
    /// A file was read, written or flushed to the disk.
    pub const FILE: u8 = 29;
    /// A thread slept for a time.
    pub const SLEEP: u8 = 30;
    /// A thread gave a signal that another may wait for.
    pub const SIGNAL: u8 = 31;
    /// A thread has received a signal of another thread, or no longer waits for one.
    pub const WAKE: u8 = 32;
    /// Bytes by which a message is identified (`SOCKCAP_PROTOCOLS`).
    pub const SNIPPET: u8 = 33;
    /// The following records in the chunk are of a goroutine.
    pub const GOROUTINE: u8 = 34;
    /// A waiting goroutine was woken.
    pub const READY: u8 = 35;
    /// A goroutine was started.
    pub const STARTED: u8 = 36;
    /// Number of bytes that had been moved over a stream in one direction, as counted by the
    /// kernel.
    pub const COUNTED: u8 = 37;
    /// Uncaptured event of the process: a socket of another kind, `io_uring`, system calls past
    /// libc.
    pub const UNCAPTURED: u8 = 38;
    /// Number of bytes in the receive queue of a unix stream.
    pub const QUEUED: u8 = 39;
    /// The kernel's id of the socket at the other end of a unix socket.
    pub const OTHER_END: u8 = 40;
    /// Hashes of the rare words of the preceding transfer or datagram.
    pub const RARE_WORDS: u8 = 41;
    /// The start of a context, written with the first record of it.
    pub const STARTED_BY: u8 = 42;
    /// A record that its writer began and did not finish; only its length is known.
    pub const RESERVED: u8 = 255;
}
