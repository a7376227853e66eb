//! Timeline entry: a change in the timeline of a thread, and the state of the thread after it.

/// A change in the timeline of a thread. Entries are sorted by [`TimelineEntry::sort_key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimelineEntry {
    /// Time in nanoseconds since the Unix epoch, on the common clock.
    pub time: i64,
    /// For a message, the identity of its step; for the end of a call, the moved bytes; for a wake,
    /// the time of the signal; for scheduler entries, the processor as in
    /// [`ThreadState::processor`].
    pub number: i64,
    /// Number of the thread.
    pub thread: u32,
    /// For a wake, the signalling thread.
    pub by: u32,
    /// For a wake, the object that both threads used for it.
    pub object: u32,
    /// The change of the thread.
    pub what: TimelineChange,
    /// The state of the thread from then on, until the next entry.
    pub state: ThreadState,
}

/// A change of a thread. The order is that of changes at one moment; scheduler changes stay in the
/// order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimelineChange {
    /// A scheduler state change.
    Scheduled(SchedulerState),
    /// The thread's call ends.
    Ended,
    /// Another thread starts or wakes the thread.
    Wake,
    /// The thread handles a message. After the last message of a step, the step no longer uses the
    /// thread.
    Message {
        /// Whether the message is the last one of its step.
        last: bool,
    },
    /// The thread begins a call.
    Began(BlockingCall),
    /// Another thread has signalled: the thread's wait can end.
    Signalled,
}

/// State of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadState {
    /// Scheduler state of the thread.
    pub sched: SchedulerState,
    /// The current call, if any.
    pub call: Option<BlockingCall>,
    /// Whether the thread has handled a message of an unfinished step, and has not polled since.
    pub is_busy: bool,
    /// The number of the thread's current or last processor, plus one; 0 if it is not known.
    pub processor: u16,
}

/// Scheduler state of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchedulerState {
    /// It is unknown whether the thread runs.
    #[default]
    Unknown,
    /// On a processor.
    Running,
    /// Off the processor, but runnable.
    Runnable,
    /// Off the processor voluntarily.
    Blocked,
}

/// A call in which a thread may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlockingCall {
    /// A call on a file.
    File,
    /// A wait for a lock or another thread.
    Lock,
    /// A wait with a condition that is met: the thread only needs a processor.
    Woken,
    /// A sleep.
    Sleep,
    /// A call that sends or receives.
    Socket,
    /// A poll, select or similar call that found something.
    Poll,
    /// A poll, select or similar call that timed out.
    TimedOutPoll,
}

/// Stands for an unknown thread.
pub(super) const NO_THREAD: u32 = u32::MAX;

impl TimelineChange {
    /// Rank among changes at one moment.
    fn sort_rank(self) -> u8 {
        match self {
            TimelineChange::Scheduled(_) => 0,
            TimelineChange::Ended => 1,
            TimelineChange::Wake => 2,
            TimelineChange::Message { .. } => 3,
            TimelineChange::Began(_) => 4,
            TimelineChange::Signalled => 5,
        }
    }
}

impl TimelineEntry {
    /// An entry without other data.
    pub(super) fn new(thread: u32, time: i64, what: TimelineChange) -> TimelineEntry {
        let state = ThreadState::default();
        TimelineEntry { time, number: 0, thread, by: NO_THREAD, object: 0, what, state }
    }

    /// Key of the order.
    pub(super) fn sort_key(&self) -> (u32, i64, u8) {
        (self.thread, self.time, self.what.sort_rank())
    }
}

impl ThreadState {
    /// The state after `entry`.
    pub(super) fn after_entry(self, entry: &TimelineEntry) -> ThreadState {
        match entry.what {
            TimelineChange::Scheduled(sched) => {
                ThreadState { sched, processor: entry.number as u16, ..self }
            }
            TimelineChange::Ended => ThreadState { call: None, ..self },
            TimelineChange::Wake => self,
            TimelineChange::Message { last } => ThreadState { is_busy: !last, ..self },
            TimelineChange::Began(call @ (BlockingCall::Poll | BlockingCall::TimedOutPoll)) => {
                ThreadState { call: Some(call), is_busy: false, ..self }
            }
            TimelineChange::Began(call) => ThreadState { call: Some(call), ..self },
            TimelineChange::Signalled => {
                ThreadState { call: self.call.map(|_| BlockingCall::Woken), ..self }
            }
        }
    }

    /// Whether the thread waits, so that a signal wakes it.
    pub(super) fn is_waiting(self) -> bool {
        match self.sched {
            SchedulerState::Blocked => true,
            SchedulerState::Unknown => self.call.is_some(),
            SchedulerState::Running | SchedulerState::Runnable => false,
        }
    }
}
