//! Records of processes and threads, and of time.

use super::numbered_enum::numbered;
use super::transfers::Direction;
use super::words::{LongWords, RecordWords, padded_words};
use crate::api::Api;
use crate::layout::{Anchor, kind};

numbered! {
    /// Event of a process.
    pub enum ProcessEvent {
        /// The process made a child with a copy of its memory; the value is the child's pid.
        Fork = 1,
        /// The process made a child that begins with another program; the value is the child's pid.
        Spawn = 2,
        /// The process is about to become another program; the value is 0, or the error for which
        /// the new program cannot load the library (for example, its path is invalid after
        /// `chroot`).
        Exec = 3,
        /// The process ends; the value is its status.
        Exit = 4,
    }

    /// Uncaptured event of a process.
    pub enum UncapturedEvent {
        /// The process has a socket of an uncaptured kind.
        Socket = 1,
        /// The process set up `io_uring`, by which bytes move without calls.
        Ring = 2,
        /// The process has a socket that no call visible to the library made, or used.
        OutOfSight = 3,
        /// The process has loaded an object (its program or a library) that makes system calls by
        /// itself, past libc.
        Object = 4,
        /// The process has a runtime that switches threads between tasks, and these are not
        /// followed.
        Runtime = 5,
    }

    /// Calls by which a thread waits for descriptors.
    pub enum WaitCall {
        /// `poll` and `ppoll`.
        Poll = 1,
        /// `select` and `pselect`.
        Select = 2,
        /// `epoll_wait` and its variants.
        Epoll = 3,
    }
}

/// Record of one moment on the three clocks.
#[inline]
pub fn anchor_record(anchor: &Anchor) -> RecordWords {
    let mut words = RecordWords::new(kind::ANCHOR, 0, anchor.ticks, (anchor.ticks >> 32) as u32);
    words.push_u64(anchor.monotonic as u64);
    words.push_u64(anchor.realtime as u64);
    words.finish()
}

/// Record after which the chunk is written by the thread `tid`. The record is an anchor, too.
#[inline]
pub fn continued_record(anchor: &Anchor, tid: u32) -> RecordWords {
    let mut words = RecordWords::new(kind::CONTINUED, 0, anchor.ticks, (anchor.ticks >> 32) as u32);
    words.push_u64(anchor.monotonic as u64);
    words.push_u64(anchor.realtime as u64);
    words.push(tid);
    words.finish()
}

/// Record of an event of the process; for the meaning of `value` see [`ProcessEvent`].
#[inline]
pub fn process_record(ticks: u64, event: ProcessEvent, value: i32) -> RecordWords {
    RecordWords::new(kind::PROCESS, event as u16, ticks, value as u32).finish()
}

/// Call in which libc moves bytes unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibcCall {
    /// Function that was called.
    pub api: Api,
    /// Number of the flow that the call was about; 0 if unknown.
    pub flow: u32,
    /// Duration of the call, in ticks.
    pub duration: u64,
    /// Result of the call; for a function that returns a pointer 0, and -1 for a null pointer.
    pub result: i32,
}

/// Record of a call in which libc moves bytes unseen. `ticks`, when the call was made, is stored in
/// full, so it is right however long the call took.
#[inline]
pub fn libc_call_record(ticks: u64, call: &LibcCall) -> RecordWords {
    let mut words = RecordWords::new(kind::CALL, call.api as u16, ticks, call.flow);
    words.push((ticks >> 32) as u32);
    words.push_u64(call.duration);
    words.push(call.result as u32);
    words.finish()
}

/// Record of a thread, written by the thread itself, which the thread `creator` started. `handle`
/// is the new thread's `pthread_t`, 0 if it is not recorded.
#[inline]
pub fn thread_record(ticks: u64, creator: u32, handle: u64) -> RecordWords {
    let mut words = RecordWords::new(kind::THREAD, 0, ticks, creator);
    if handle != 0 {
        words.push_u64(handle);
    }
    words.finish()
}

/// Record of a process `pid` that starts a program which loads no library, for the reason `cause`.
/// Of a long path the end is kept.
#[inline(never)]
pub fn unseen_record(ticks: u64, cause: u16, pid: u32, path: &[u8]) -> LongWords {
    const MAX_PATH_BYTES: usize = 256;
    let kept = path.get(path.len().saturating_sub(MAX_PATH_BYTES)..).unwrap_or(path);
    let mut words: LongWords = RecordWords::new(kind::UNSEEN, cause, ticks, pid);
    words.push(kept.len() as u32);
    padded_words(kept).for_each(|word| words.push(word));
    words.finish()
}

/// Nature of a socket, as in the arguments of `socket(2)`: family, type and protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketKind {
    /// Address family.
    pub domain: u8,
    /// Type, such as `SOCK_RAW`.
    pub kind: u8,
    /// Protocol, such as `IPPROTO_ICMP`.
    pub protocol: u16,
}

/// Record of an uncaptured event: `value` is the descriptor, or for an object its calls (flags of
/// [`uncaptured`](crate::layout::uncaptured)).
#[inline(never)]
pub fn uncaptured_record(
    ticks: u64,
    what: UncapturedEvent,
    value: u32,
    socket: SocketKind,
) -> RecordWords {
    let mut words = RecordWords::new(kind::UNCAPTURED, what as u16, ticks, value);
    let SocketKind { domain, kind, protocol } = socket;
    words.push(u32::from(domain) | u32::from(kind) << 8 | u32::from(protocol) << 16);
    words.finish()
}

/// Record of an object at `path` that makes system calls past libc. Of a long path the end is kept.
#[inline]
pub fn uncaptured_object_record(ticks: u64, calls: u32, path: &[u8]) -> LongWords {
    named_record(ticks, UncapturedEvent::Object, calls, path)
}

/// Record of a runtime called `name` whose tasks are not followed; `flags` of
/// [`runtime`](crate::layout::runtime).
#[inline]
pub fn unfollowed_runtime_record(ticks: u64, name: &[u8], flags: u32) -> LongWords {
    named_record(ticks, UncapturedEvent::Runtime, flags, name)
}

/// Record of an uncaptured event that is about something with a name. Of a long name the end is
/// kept.
#[inline(never)]
fn named_record(ticks: u64, what: UncapturedEvent, value: u32, name: &[u8]) -> LongWords {
    const MAX_NAME_BYTES: usize = 256;
    let kept = name.get(name.len().saturating_sub(MAX_NAME_BYTES)..).unwrap_or(name);
    let mut words: LongWords = RecordWords::new(kind::UNCAPTURED, what as u16, ticks, value);
    words.push(0);
    words.push(kept.len() as u32);
    padded_words(kept).for_each(|word| words.push(word));
    words.finish()
}

/// Record of a wait that began `duration` ticks before `ticks` and ended at `ticks`; `result` is
/// the call's result.
#[inline]
pub fn wait_record(ticks: u64, call: WaitCall, result: i32, duration: u64) -> RecordWords {
    let mut words = RecordWords::new(kind::WAIT, call as u16, ticks, result as u32);
    words.push_u64(duration);
    words.finish()
}

/// Record of the CPU time that the thread had used at `ticks`, in nanoseconds.
#[inline]
pub fn cpu_time_record(ticks: u64, nanoseconds: u64) -> RecordWords {
    let mut words = RecordWords::new(kind::CPU, 0, ticks, nanoseconds as u32);
    words.push((nanoseconds >> 32) as u32);
    words.finish()
}

/// Record of the CRC-32 of the first `bytes` bytes of one direction of a stream.
#[inline]
pub fn fingerprint_record(
    ticks: u64,
    flow: u32,
    direction: Direction,
    bytes: u32,
    checksum: u32,
) -> RecordWords {
    let mut words = RecordWords::new(
        kind::FINGERPRINT,
        u16::from(direction == Direction::Receive),
        ticks,
        flow,
    );
    words.push(bytes);
    words.push(checksum);
    words.finish()
}
