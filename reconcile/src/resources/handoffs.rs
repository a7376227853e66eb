//! Hand-offs: which signal ended which wait, for one object of one process. A pure function of the
//! object's signals and waits.
//!
//! A condition or a futex stores nothing: a signal reaches the threads that wait at that moment,
//! one or several, in the order in which they began to wait. An amount that is given to a
//! semaphore, a pipe or an event counter stays there until a thread takes it.

mod amounts;
mod waiters;

#[cfg(test)]
mod cases;

pub(crate) use amounts::AmountMatcher;
pub(crate) use waiters::WaiterMatcher;

use crate::indices::ProcessIndex;

/// A thread of a recorded process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedThread {
    pub(crate) process: ProcessIndex,
    pub(crate) thread: i32,
}

/// A call that unblocks other threads. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandoffSignal {
    /// Time when the call was made.
    pub(crate) time: i64,
    /// Time when the call returned.
    pub(crate) end: i64,
    /// The thread that called.
    pub(crate) by: RecordedThread,
    /// For conditions and futexes, the number of threads that the signal can wake; for others, the
    /// amount that it gives.
    pub(crate) amount: u64,
}

/// A call that waits until another unblocks it. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandoffWait {
    /// Time when the call was made.
    pub(crate) begin: i64,
    /// Time when the call returned.
    pub(crate) end: i64,
    /// The thread that waited.
    pub(crate) of: RecordedThread,
    /// Whether the wait ended for another reason than a signal.
    pub(crate) gave_up: bool,
    /// Amount that the wait took from an object that stores amounts.
    pub(crate) amount: u64,
}

/// Outcome of the matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandoffOutcome {
    /// The signal ended the wait. A wait has several outcomes of this kind if it took the amounts
    /// of several signals.
    HandOff(HandoffSignal, HandoffWait),
    /// Each wait once, with the signal that ended it, if known.
    Woken(HandoffWait, Option<HandoffSignal>),
    /// A signal that woke no thread.
    Unreceived(HandoffSignal),
}

/// Signals and waits at an object, sorted by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandoffEvent {
    Signal(HandoffSignal),
    Wait(HandoffWait),
}
