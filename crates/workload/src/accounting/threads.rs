//! Threads: whether each runs, since when, and why not.

use events::Event;
use out_of_core::NameId;
use rustc_hash::FxHashMap;

use crate::demands::WaitTimes;
use crate::schema::WaitReason;
use crate::tuning::SLOTS;

/// What a thread used and how it waited since its last event in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingUsage {
    /// Processor time in nanoseconds.
    pub processor_ns: i64,
    /// Times in which it could not go on.
    pub waits: WaitTimes,
}

/// A thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadAccount {
    pub host: NameId,
    pub id: i32,
    /// Its process, 0 where it is not known.
    pub process: i32,
    /// Its live sector; none is [`ThreadAccount::NO_SECTOR`].
    pub sector: u32,
    /// Processor that it ran on last; [`Event::NO_PROCESSOR`] where that
    /// is not known.
    pub processor: i32,
    /// What it does.
    pub state: ThreadRunState,
    /// Since when that is accounted for.
    pub since: i64,
    /// What it waits for if it blocks.
    pub inside: WaitReason,
    /// What it used since its last event in a request.
    pub pending: PendingUsage,
    /// All processor time that it used, in nanoseconds.
    pub total_ns: i64,
    /// Time of its last event.
    pub active: i64,
    /// Kind of the event whose attributes it keeps.
    pub kept_kind: Option<u16>,
    /// Which values it keeps, by bits.
    pub kept_present: u8,
    /// The values that it keeps.
    pub kept: [u64; SLOTS],
}

/// What a thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThreadRunState {
    /// Nobody can tell.
    #[default]
    Unknown,
    /// It runs.
    Running,
    /// It would run, but an interrupt has its processor.
    Interrupted,
    /// It does not run.
    Off(WaitReason),
}

impl ThreadAccount {
    /// Value of [`ThreadAccount::sector`] where there is none.
    pub(crate) const NO_SECTOR: u32 = u32::MAX;

    /// Accounts for the time until `now`.
    pub(crate) fn account_until(&mut self, now: i64) {
        let time = (now - self.since).max(0);
        self.since = now;
        let belongs = self.sector != ThreadAccount::NO_SECTOR;
        match self.state {
            ThreadRunState::Running => {
                self.total_ns += time;
                if belongs {
                    self.pending.processor_ns += time;
                }
            }
            ThreadRunState::Off(why) if belongs => {
                *wait_time_mut(&mut self.pending.waits, why) += time
            }
            ThreadRunState::Off(_) | ThreadRunState::Interrupted | ThreadRunState::Unknown => {}
        }
    }

    /// It does something else from `now` on.
    pub(crate) fn change_state(&mut self, state: ThreadRunState, now: i64) {
        self.account_until(now);
        self.state = state;
    }

    /// What it used since its last event, which is taken.
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

/// All threads that were seen, by number.
#[derive(Debug, Default)]
pub(crate) struct ThreadAccounts {
    threads: Vec<ThreadAccount>,
    free: Vec<u32>,
    numbers: FxHashMap<(NameId, i32), u32>,
}

impl ThreadAccounts {
    /// Number of the thread of that id, a new one where it is new.
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
            active: now,
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

    /// The thread of that id, where it was seen.
    pub(crate) fn find_thread(&self, host: NameId, id: i32) -> Option<&ThreadAccount> {
        self.numbers.get(&(host, id)).and_then(|number| self.threads.get(*number as usize))
    }

    /// The thread of that number.
    pub(crate) fn get(&self, number: u32) -> Option<&ThreadAccount> {
        self.threads.get(number as usize)
    }

    /// The thread of that number, to change it.
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

    /// Forgets the threads that are in no request and silent since `until`, but gives them to
    /// `forgotten` first.
    pub(crate) fn forget_silent(&mut self, until: i64, mut forgotten: impl FnMut(&ThreadAccount)) {
        let (threads, free) = (&self.threads, &mut self.free);
        self.numbers.retain(|_, number| {
            let Some(thread) = threads.get(*number as usize) else { return false };
            let stays = thread.sector != ThreadAccount::NO_SECTOR || thread.active >= until;
            if !stays {
                forgotten(thread);
                free.push(*number);
            }
            stays
        });
    }
}
