//! Entry: what changes in the timeline of a thread at one moment, and how the thread is from then
//! on.

/// A change in the timeline of a thread. Entries are sorted by [`TimelineEntry::sort_key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimelineEntry {
    /// Time in nanoseconds since the Unix epoch, on the common clock.
    pub time: i64,
    /// Of a mark, whose message it is; of the end of a call, the bytes that it moved; of a wake,
    /// when the other thread signalled; of the scheduler's, the processor as in
    /// [`ThreadState::processor`].
    pub number: i64,
    /// The thread.
    pub thread: u32,
    /// Of a wake, the thread that signalled.
    pub by: u32,
    /// Of a wake, what both threads used for it.
    pub object: u32,
    /// What happens.
    pub what: TimelineChange,
    /// How the thread is from then on, until the next entry.
    pub state: ThreadState,
}

/// What happens to a thread. The order is that of what happens at one moment; what concerns the
/// scheduler stays in the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimelineChange {
    /// The scheduler changes its mind.
    Scheduled(SchedulerState),
    /// A call ends.
    Ended,
    /// Another thread lets it begin or go on.
    Wake,
    /// It handles a message. A step whose last message this is has no more use for the thread.
    Mark {
        /// Whether it is the last message of its step.
        last: bool,
    },
    /// A call begins.
    Began(BlockingCall),
    /// Another thread has signalled: what the thread waited for is there.
    Signalled,
}

/// How a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadState {
    /// For the scheduler.
    pub sched: SchedulerState,
    /// Inside which call, if any.
    pub call: Option<BlockingCall>,
    /// Whether it has handled a message of a step that is not over, and has not polled since.
    pub is_busy: bool,
    /// The number of the processor that it is or was on, plus one; 0 if that is not known.
    pub processor: u16,
}

/// How a thread is for the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchedulerState {
    /// Nobody knows.
    #[default]
    Unknown,
    /// On a processor.
    Running,
    /// Off the processor, though it could run.
    Runnable,
    /// Off the processor by its own wish.
    Blocked,
}

/// A call in which a thread may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlockingCall {
    /// To a file.
    File,
    /// For a lock or another thread.
    Lock,
    /// A wait whose reason is over: the thread only needs a processor.
    Woken,
    /// A sleep.
    Sleep,
    /// Sending or receiving.
    Socket,
    /// Poll, select and their like, that found something.
    Poll,
    /// The same, when its time was over.
    PollInVain,
}

/// A thread that nobody knows.
pub(super) const NO_THREAD: u32 = u32::MAX;

impl TimelineChange {
    /// Place among what happens at one moment.
    fn sort_rank(self) -> u8 {
        match self {
            TimelineChange::Scheduled(_) => 0,
            TimelineChange::Ended => 1,
            TimelineChange::Wake => 2,
            TimelineChange::Mark { .. } => 3,
            TimelineChange::Began(_) => 4,
            TimelineChange::Signalled => 5,
        }
    }
}

impl TimelineEntry {
    /// An entry with nothing else known.
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
    /// The state behind `entry`.
    pub(super) fn after_entry(self, entry: &TimelineEntry) -> ThreadState {
        match entry.what {
            TimelineChange::Scheduled(sched) => {
                ThreadState { sched, processor: entry.number as u16, ..self }
            }
            TimelineChange::Ended => ThreadState { call: None, ..self },
            TimelineChange::Wake => self,
            TimelineChange::Mark { last } => ThreadState { is_busy: !last, ..self },
            TimelineChange::Began(call @ (BlockingCall::Poll | BlockingCall::PollInVain)) => {
                ThreadState { call: Some(call), is_busy: false, ..self }
            }
            TimelineChange::Began(call) => ThreadState { call: Some(call), ..self },
            TimelineChange::Signalled => {
                ThreadState { call: self.call.map(|_| BlockingCall::Woken), ..self }
            }
        }
    }

    /// Whether it waits, so that a signal lets it go on.
    pub(super) fn is_waiting(self) -> bool {
        match self.sched {
            SchedulerState::Blocked => true,
            SchedulerState::Unknown => self.call.is_some(),
            SchedulerState::Running | SchedulerState::Runnable => false,
        }
    }
}
