//! Threads: whether each runs, since when, and why not.

use events::Event;
use out_of_core::NameId;
use rustc_hash::FxHashMap;

use crate::demands::WaitTimes;
use crate::schema::WaitReason;
use crate::tuning::MAX_SLOTS;

/// Usage and waits of a thread since its last event in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingUsage {
    /// Processor time in nanoseconds.
    pub processor_ns: i64,
    /// Times in which the thread was blocked.
    pub waits: WaitTimes,
}

/// A thread, with its state and usage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadAccount {
    pub host: NameId,
    pub id: i32,
    /// Process of the thread, 0 if it is not known.
    pub process: i32,
    /// Live sector of the thread: the interval in which it works for one request. If there is none,
    /// [`ThreadAccount::NO_SECTOR`].
    pub sector: u32,
    /// Processor on which the thread last ran; [`Event::NO_PROCESSOR`] if it is not known.
    pub processor: i32,
    /// State of the thread.
    pub state: ThreadRunState,
    /// Time until which the state is accounted for, in nanoseconds since the Unix epoch.
    pub since: i64,
    /// Reason of the thread's next wait, if the event with which it blocks does not state one.
    pub wait_reason: WaitReason,
    /// Usage of the thread since its last event in a request.
    pub pending: PendingUsage,
    /// All processor time of the thread, in nanoseconds.
    pub total_ns: i64,
    /// Time of the thread's last event, in nanoseconds since the Unix epoch.
    pub last_event: i64,
    /// Kind of the event whose attributes the thread keeps for a later event (AFTER in a schema);
    /// `None` if none are kept.
    pub kept_kind: Option<u16>,
    /// Bits that mark which of `kept` are present.
    pub kept_present: u8,
    /// Values of the kept attributes, by slot.
    pub kept: [u64; MAX_SLOTS],
}

/// State of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThreadRunState {
    /// The state is unknown.
    #[default]
    Unknown,
    /// On a processor.
    Running,
    /// Ready to run, but its processor is in an interrupt.
    Interrupted,
    /// Not running, for the given reason.
    Off(WaitReason),
}

impl ThreadAccount {
    /// Value of [`ThreadAccount::sector`] if there is none.
    pub(crate) const NO_SECTOR: u32 = u32::MAX;

    /// Adds the time from `since` until `now` to the thread's usage or waits, by its state.
    pub(crate) fn account_until(&mut self, now: i64) {
        let time = (now - self.since).max(0);
        self.since = now;
        let is_in_request = self.sector != ThreadAccount::NO_SECTOR;
        match self.state {
            ThreadRunState::Running => {
                self.total_ns += time;
                if is_in_request {
                    self.pending.processor_ns += time;
                }
            }
            ThreadRunState::Off(why) if is_in_request => {
                *wait_time_mut(&mut self.pending.waits, why) += time
            }
            ThreadRunState::Off(_) | ThreadRunState::Interrupted | ThreadRunState::Unknown => {}
        }
    }

    /// Changes the state of the thread at the time `now`.
    pub(crate) fn change_state(&mut self, state: ThreadRunState, now: i64) {
        self.account_until(now);
        self.state = state;
    }

    /// Takes the usage of the thread since its last event in a request, and resets it.
    pub(crate) fn take_pending(&mut self) -> PendingUsage {
        std::mem::take(&mut self.pending)
    }
}

fn wait_time_mut(waits: &mut WaitTimes, why: WaitReason) -> &mut i64 {
    match why {
        WaitReason::Runnable => &mut waits.runnable_ns,
        WaitReason::Disk => &mut waits.disk_ns,
        WaitReason::Lock => &mut waits.lock_ns,
        WaitReason::Peer => &mut waits.peer_ns,
        WaitReason::Asleep => &mut waits.asleep_ns,
        WaitReason::Unknown => &mut waits.unknown_ns,
    }
}

/// All threads seen so far, by number.
#[derive(Debug, Default)]
pub(crate) struct ThreadAccounts {
    threads: Vec<ThreadAccount>,
    /// Numbers of forgotten threads, which are given to new threads.
    free: Vec<u32>,
    /// Number of each thread, by host and id.
    numbers: FxHashMap<(NameId, i32), u32>,
}

impl ThreadAccounts {
    /// Number of the thread with this id, which is added if it is new and is then accounted for
    /// from `now` on.
    pub(crate) fn intern_thread(&mut self, host: NameId, id: i32, now: i64) -> u32 {
        if let Some(number) = self.numbers.get(&(host, id)) {
            return *number;
        }
        let thread = ThreadAccount {
            host,
            id,
            sector: ThreadAccount::NO_SECTOR,
            processor: Event::NO_PROCESSOR,
            since: now,
            last_event: now,
            ..ThreadAccount::default()
        };
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.threads.push(ThreadAccount::default());
                self.threads.len() as u32 - 1
            }
        };
        if let Some(place) = self.threads.get_mut(number as usize) {
            *place = thread;
        }
        self.numbers.insert((host, id), number);
        number
    }

    /// The thread with this id, if it was seen.
    pub(crate) fn find_thread(&self, host: NameId, id: i32) -> Option<&ThreadAccount> {
        self.numbers.get(&(host, id)).and_then(|number| self.threads.get(*number as usize))
    }

    /// The thread with this number.
    pub(crate) fn get(&self, number: u32) -> Option<&ThreadAccount> {
        self.threads.get(number as usize)
    }

    /// The thread with this number, to be changed.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut ThreadAccount> {
        self.threads.get_mut(number as usize)
    }

    /// Number of threads.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// All threads.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ThreadAccount> {
        self.numbers.values().filter_map(|number| self.threads.get(*number as usize))
    }

    /// Forgets the threads that are in no request and had no event since `until`; each is passed to
    /// `forgotten` first.
    pub(crate) fn forget_silent(&mut self, until: i64, mut forgotten: impl FnMut(&ThreadAccount)) {
        let (threads, free) = (&self.threads, &mut self.free);
        self.numbers.retain(|_, number| {
            let Some(thread) = threads.get(*number as usize) else { return false };
            let stays = thread.sector != ThreadAccount::NO_SECTOR || thread.last_event >= until;
            if !stays {
                forgotten(thread);
                free.push(*number);
            }
            stays
        });
    }
}
