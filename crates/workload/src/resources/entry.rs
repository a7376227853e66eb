//! Entry: what changes in the timeline of a thread at one moment, and how the thread is from then
//! on.

/// A change in the timeline of a thread. Entries are sorted by [`Entry::key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Time in nanoseconds since the Unix epoch, on the common clock.
    pub time: i64,
    /// Of a mark, whose message it is; of the end of a call, the bytes that it moved; of a wake,
    /// when the other thread signalled; of the scheduler's, the processor as in
    /// [`State::processor`].
    pub number: i64,
    /// The thread.
    pub thread: u32,
    /// Of a wake, the thread that signalled.
    pub by: u32,
    /// Of a wake, what both threads used for it.
    pub object: u32,
    /// What happens.
    pub what: What,
    /// How the thread is from then on, until the next entry.
    pub state: State,
}

/// What happens to a thread. The order is that of what happens at one moment; what concerns the
/// scheduler stays in the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The scheduler changes its mind.
    Scheduled(Sched),
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
    Began(Call),
    /// Another thread has signalled: what the thread waited for is there.
    Signalled,
}

/// How a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// For the scheduler.
    pub sched: Sched,
    /// Inside which call, if any.
    pub call: Option<Call>,
    /// Whether it has handled a message of a step that is not over, and has not polled since.
    pub is_busy: bool,
    /// The number of the processor that it is or was on, plus one; 0 where that is not known.
    pub processor: u16,
}

/// How a thread is for the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sched {
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
pub(super) enum Call {
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

impl What {
    /// Place among what happens at one moment.
    fn rank(self) -> u8 {
        match self {
            What::Scheduled(_) => 0,
            What::Ended => 1,
            What::Wake => 2,
            What::Mark { .. } => 3,
            What::Began(_) => 4,
            What::Signalled => 5,
        }
    }
}

impl Entry {
    /// An entry with nothing else known.
    pub(super) fn of(thread: u32, time: i64, what: What) -> Entry {
        let state = State::default();
        Entry { time, number: 0, thread, by: NO_THREAD, object: 0, what, state }
    }

    /// Key of the order.
    pub(super) fn key(&self) -> (u32, i64, u8) {
        (self.thread, self.time, self.what.rank())
    }
}

impl State {
    /// The state behind `entry`.
    pub(super) fn after(self, entry: &Entry) -> State {
        match entry.what {
            What::Scheduled(sched) => State { sched, processor: entry.number as u16, ..self },
            What::Ended => State { call: None, ..self },
            What::Wake => self,
            What::Mark { last } => State { is_busy: !last, ..self },
            What::Began(call @ (Call::Poll | Call::PollInVain)) => {
                State { call: Some(call), is_busy: false, ..self }
            }
            What::Began(call) => State { call: Some(call), ..self },
            What::Signalled => State { call: self.call.map(|_| Call::Woken), ..self },
        }
    }

    /// Whether it waits, so that a signal lets it go on.
    pub(super) fn is_waiting(self) -> bool {
        match self.sched {
            Sched::Blocked => true,
            Sched::Unknown => self.call.is_some(),
            Sched::Running | Sched::Runnable => false,
        }
    }
}
