//! Records of resources other than messages: files, sleeps, and hand-offs between threads.
//!
//! Zero words at the end of these records are left out, as most are zero.

use super::numbered_enum::numbered;
use super::words::RecordWords;
use crate::layout::kind;

numbered! {
    /// Operation on a file.
    pub enum FileOperation {
        /// The file's bytes are read.
        Read = 1,
        /// Bytes are written to the file.
        Write = 2,
        /// Written data is flushed to the disk.
        Sync = 3,
    }

    /// Object by which one thread hands off to another.
    pub enum HandoffObject {
        /// Condition variable.
        Condition = 1,
        /// Semaphore.
        Semaphore = 2,
        /// Eventfd.
        Eventfd = 3,
        /// Pipe, named or anonymous.
        Pipe = 4,
        /// Word of memory used with the kernel's `futex` through `syscall`.
        Futex = 5,
        /// Mutex.
        Mutex = 6,
        /// Read-write lock.
        ReadWriteLock = 7,
        /// Thread: others wait for its end.
        Thread = 8,
        /// Barrier.
        Barrier = 9,
        /// Goroutine, which another one woke or started. Goroutines have the records
        /// [`READY`](crate::layout::kind::READY) and [`STARTED`](crate::layout::kind::STARTED)
        /// instead of signals and wakes.
        Goroutine = 10,
    }
}

impl HandoffObject {
    /// Name in tables and on screen.
    pub const fn display_name(self) -> &'static str {
        match self {
            HandoffObject::Condition => "condition",
            HandoffObject::Semaphore => "semaphore",
            HandoffObject::Eventfd => "eventfd",
            HandoffObject::Pipe => "pipe",
            HandoffObject::Futex => "futex",
            HandoffObject::Mutex => "mutex",
            HandoffObject::ReadWriteLock => "rwlock",
            HandoffObject::Thread => "thread",
            HandoffObject::Barrier => "barrier",
            HandoffObject::Goroutine => "goroutine",
        }
    }
}

/// Flags of records of resources, in the high 8 bits of their aux field.
pub mod resource_flag {
    /// The call failed: nothing was read, written or flushed to the disk.
    pub const FAILED: u16 = 1 << 8;
    /// The bytes were moved to or from another descriptor within the kernel (`sendfile` and its
    /// variants), in a call that may be recorded for that descriptor too.
    pub const MOVED: u16 = 1 << 9;
    /// The signal is for all waiting threads.
    pub const ALL: u16 = 1 << 8;
    /// The wait timed out.
    pub const TIMED_OUT: u16 = 1 << 9;
    /// The wait was ended by a signal handler.
    pub const INTERRUPTED: u16 = 1 << 10;
}

/// Use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// Kind of use.
    pub operation: FileOperation,
    /// Number of bytes; 0 for a sync.
    pub bytes: u64,
    /// Duration of the call, in ticks.
    pub duration: u64,
    /// Whether the call failed.
    pub failed: bool,
    /// Whether the bytes were moved to or from another descriptor within the kernel.
    pub moved: bool,
}

/// Signal that a thread gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalRecord {
    /// Kind of object.
    pub what: HandoffObject,
    /// Which object: an address, or the kernel's number of it, as defined by the log's format.
    pub object: u64,
    /// Whether the signal is for all waiting threads.
    pub all: bool,
    /// Bytes written to a pipe, number added to an eventfd, number of threads that the kernel woke
    /// by a futex; 0 for others.
    pub amount: u32,
    /// Duration of the call, in ticks, if it is long enough to measure (pipes); otherwise 0.
    pub duration: u64,
}

/// End of a wait for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeRecord {
    /// Kind of object.
    pub what: HandoffObject,
    /// Which object, as in [`SignalRecord::object`].
    pub object: u64,
    /// Whether the wait timed out.
    pub timed_out: bool,
    /// Whether a signal handler ended the wait.
    pub interrupted: bool,
    /// Bytes read from a pipe, number read from an eventfd; 0 for others.
    pub amount: u32,
    /// Duration of the wait, in ticks.
    pub duration: u64,
}

/// Record of the use of a file that ended at `ticks`.
#[inline]
pub fn file_use_record(ticks: u64, file: &FileUse) -> RecordWords {
    let failed = if file.failed { resource_flag::FAILED } else { 0 };
    let flags = failed | if file.moved { resource_flag::MOVED } else { 0 };
    let aux = file.operation as u16 | flags;
    let mut words = RecordWords::new(kind::FILE, aux, ticks, file.bytes as u32);
    words.push(file.duration as u32);
    words.push_u64(file.bytes >> 32 | file.duration & !0xffff_ffff);
    words.without_zeros(3)
}

/// Record of a sleep of `duration` ticks that ended at `ticks`.
#[inline]
pub fn sleep_record(ticks: u64, duration: u64) -> RecordWords {
    let mut words = RecordWords::new(kind::SLEEP, 0, ticks, duration as u32);
    words.push((duration >> 32) as u32);
    words.without_zeros(3)
}

/// Record of a signal that was given by a call at `ticks`.
#[inline]
pub fn signal_record(ticks: u64, signal: &SignalRecord) -> RecordWords {
    let flags = if signal.all { resource_flag::ALL } else { 0 };
    let SignalRecord { what, object, amount, duration, .. } = *signal;
    handoff_record(kind::SIGNAL, ticks, what, flags, object, duration, amount)
}

/// Record of a wait that ended at `ticks`.
#[inline]
pub fn wake_record(ticks: u64, wake: &WakeRecord) -> RecordWords {
    let timed_out = if wake.timed_out { resource_flag::TIMED_OUT } else { 0 };
    let flags = timed_out | if wake.interrupted { resource_flag::INTERRUPTED } else { 0 };
    let WakeRecord { what, object, amount, duration, .. } = *wake;
    handoff_record(kind::WAKE, ticks, what, flags, object, duration, amount)
}

/// Record of the kind `kind` (a signal or a wake) with these facts.
#[inline]
fn handoff_record(
    kind: u8,
    ticks: u64,
    what: HandoffObject,
    flags: u16,
    object: u64,
    duration: u64,
    amount: u32,
) -> RecordWords {
    let mut words = RecordWords::new(kind, what as u16 | flags, ticks, object as u32);
    words.push((object >> 32) as u32);
    words.push(duration as u32);
    words.push(amount);
    words.push((duration >> 32) as u32);
    words.without_zeros(4)
}
