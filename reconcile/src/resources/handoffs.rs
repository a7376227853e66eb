//! Hand-offs: which signal let which wait end, for one object of one process. A pure function of
//! the object's signals and waits.
//!
//! A condition or a futex keeps nothing: a signal reaches who waits at that moment, one or several,
//! in the order in which they began to wait. What a semaphore, a pipe or an event counter is given
//! stays there until somebody takes it.

mod amounts;
mod waiters;

#[cfg(test)]
mod cases;

pub(crate) use amounts::AmountMatcher;
pub(crate) use waiters::WaiterMatcher;

/// A thread of a process that was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedThread {
    /// The process, by its place.
    pub(crate) process: u32,
    pub(crate) thread: i32,
}

/// A call that lets others go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandoffSignal {
    /// When it was called.
    pub(crate) time: i64,
    /// When it returned.
    pub(crate) end: i64,
    pub(crate) by: RecordedThread,
    /// Of conditions and futexes, how many it can wake; of others, how much it gives.
    pub(crate) amount: u64,
}

/// A call that waits until another lets it go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandoffWait {
    /// When it was called.
    pub(crate) begin: i64,
    /// When it returned.
    pub(crate) end: i64,
    pub(crate) of: RecordedThread,
    /// Whether it ended for another reason than a signal.
    pub(crate) gave_up: bool,
    /// How much it took, of what keeps what it is given.
    pub(crate) amount: u64,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandoffOutcome {
    /// The signal let the wait end. A wait has several of them where it took what several gave.
    HandOff(HandoffSignal, HandoffWait),
    /// Each wait once: by which signal it went on, as far as that is known.
    Woken(HandoffWait, Option<HandoffSignal>),
    /// A signal that woke nobody.
    Unreceived(HandoffSignal),
}

/// What happens at an object, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandoffEvent {
    Signal(HandoffSignal),
    Wait(HandoffWait),
}
