//! Threads: whether each runs, since when, and why not.

use events::Event;
use out_of_core::NameId;
use rustc_hash::FxHashMap;

use crate::demands::Waits;
use crate::schema::Why;
use crate::tuning::SLOTS;

/// What a thread used and how it waited since its last event in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Processor time in nanoseconds.
    pub processor_ns: i64,
    /// Times in which it could not go on.
    pub waits: Waits,
}

/// A thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thread {
    pub host: NameId,
    pub id: i32,
    /// Its process, 0 where it is not known.
    pub process: i32,
    /// Its live sector; none is [`Thread::NO_SECTOR`].
    pub sector: u32,
    /// Processor that it ran on last; [`Event::NO_PROCESSOR`] where that
    /// is not known.
    pub processor: i32,
    /// What it does.
    pub state: Doing,
    /// Since when that is accounted for.
    pub since: i64,
    /// What it waits for if it blocks.
    pub inside: Why,
    /// What it used since its last event in a request.
    pub pending: Pending,
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
pub(crate) enum Doing {
    /// Nobody can tell.
    #[default]
    Unknown,
    /// It runs.
    Running,
    /// It would run, but an interrupt has its processor.
    Interrupted,
    /// It does not run.
    Off(Why),
}

impl Thread {
    /// Value of [`Thread::sector`] where there is none.
    pub(crate) const NO_SECTOR: u32 = u32::MAX;

    /// Accounts for the time until `now`.
    pub(crate) fn settle(&mut self, now: i64) {
        let time = (now - self.since).max(0);
        self.since = now;
        let belongs = self.sector != Thread::NO_SECTOR;
        match self.state {
            Doing::Running => {
                self.total_ns += time;
                if belongs {
                    self.pending.processor_ns += time;
                }
            }
            Doing::Off(why) if belongs => *of_waits(&mut self.pending.waits, why) += time,
            Doing::Off(_) | Doing::Interrupted | Doing::Unknown => {}
        }
    }

    /// It does something else from `now` on.
    pub(crate) fn turn(&mut self, state: Doing, now: i64) {
        self.settle(now);
        self.state = state;
    }

    /// What it used since its last event, which is taken.
    pub(crate) fn take_pending(&mut self) -> Pending {
        std::mem::take(&mut self.pending)
    }
}

fn of_waits(waits: &mut Waits, why: Why) -> &mut i64 {
    match why {
        Why::Runnable => &mut waits.runnable_ns,
        Why::Disk => &mut waits.disk_ns,
        Why::Lock => &mut waits.lock_ns,
        Why::Peer => &mut waits.peer_ns,
        Why::Asleep => &mut waits.asleep_ns,
        Why::Unknown => &mut waits.unknown_ns,
    }
}

/// All threads that were seen, by number.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    threads: Vec<Thread>,
    free: Vec<u32>,
    numbers: FxHashMap<(NameId, i32), u32>,
}

impl Threads {
    /// Number of the thread of that id, a new one where it is new.
    pub(crate) fn number(&mut self, host: NameId, id: i32, now: i64) -> u32 {
        if let Some(number) = self.numbers.get(&(host, id)) {
            return *number;
        }
        let thread = Thread {
            host,
            id,
            sector: Thread::NO_SECTOR,
            processor: Event::NO_PROCESSOR,
            since: now,
            active: now,
            ..Thread::default()
        };
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.threads.push(Thread::default());
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
    pub(crate) fn find(&self, host: NameId, id: i32) -> Option<&Thread> {
        self.numbers.get(&(host, id)).and_then(|number| self.threads.get(*number as usize))
    }

    /// The thread of that number.
    pub(crate) fn get(&self, number: u32) -> Option<&Thread> {
        self.threads.get(number as usize)
    }

    /// The thread of that number, to change it.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Thread> {
        self.threads.get_mut(number as usize)
    }

    /// Number of threads.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// All threads.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.numbers.values().filter_map(|number| self.threads.get(*number as usize))
    }

    /// Forgets the threads that are in no request and silent since `until`, but gives them to
    /// `forgotten` first.
    pub(crate) fn forget(&mut self, until: i64, mut forgotten: impl FnMut(&Thread)) {
        let (threads, free) = (&self.threads, &mut self.free);
        self.numbers.retain(|_, number| {
            let Some(thread) = threads.get(*number as usize) else { return false };
            let stays = thread.sector != Thread::NO_SECTOR || thread.active >= until;
            if !stays {
                forgotten(thread);
                free.push(*number);
            }
            stays
        });
    }
}
