//! Timelines: what the threads of all hosts did, by thread and time.

use std::ops::Range;

use out_of_core::{NameId, Names, SpillableVec};
use rustc_hash::FxHashMap;

use super::entry::{Entry, Sched, State, What};

/// What the threads of all hosts did.
pub(super) struct Timelines {
    entries: SpillableVec<Entry>,
    threads: Vec<Thread>,
    numbers: FxHashMap<(NameId, i32, i32), u32>,
    hosts: Names,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// Its host and the id of its process.
    pub process: (NameId, i32),
    /// Its id.
    pub id: i32,
    /// Whether it was seen in events, not in messages only.
    pub is_recorded: bool,
    /// How it was before its first entry.
    pub before: Sched,
    /// Places of its entries.
    pub entries: Range<usize>,
    /// How long it was on a processor, in nanoseconds.
    pub running_ns: i64,
    /// Whether it handled a message.
    pub has_messages: bool,
}

/// A time in which the state of a thread does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub from: i64,
    pub to: i64,
    pub state: State,
}

impl Timelines {
    /// Timelines of entries in order. Puts into each entry how its thread is from then on.
    pub(super) fn new(
        mut entries: SpillableVec<Entry>,
        mut threads: Vec<Thread>,
        numbers: FxHashMap<(NameId, i32, i32), u32>,
        hosts: Names,
    ) -> Timelines {
        let mut open: Option<(u32, State, i64)> = None;
        let mut place = 0;
        entries.for_each_mut(0..entries.len(), |entry| {
            let Some(thread) = threads.get_mut(entry.thread as usize) else { return };
            let (state, since) = match open {
                Some((number, state, since)) if number == entry.thread => (state, since),
                _ => {
                    thread.entries = place..place;
                    (State { sched: thread.before, ..State::default() }, entry.time)
                }
            };
            if state.sched == Sched::Running {
                thread.running_ns += entry.time - since;
            }
            thread.has_messages |= matches!(entry.what, What::Mark { .. });
            entry.state = state.after(entry);
            open = Some((entry.thread, entry.state, entry.time));
            place += 1;
            thread.entries.end = place;
        });
        Timelines { entries, threads, numbers, hosts }
    }

    /// Number of a host's name; `None` where no thread of it is known.
    pub(super) fn host(&self, host: &str) -> Option<NameId> {
        self.hosts.find(host)
    }

    /// The thread of that host, process and id, where events tell of it.
    pub(super) fn thread(&self, host: NameId, process: i32, id: i32) -> Option<u32> {
        let number = *self.numbers.get(&(host, process, id))?;
        self.of(number).filter(|thread| thread.is_recorded).map(|_| number)
    }

    /// Name of a host by its number.
    pub(super) fn host_name(&self, host: NameId) -> &str {
        self.hosts.text(host)
    }

    /// All threads.
    pub(super) fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Entries of a thread from behind `from` until `to`, both in nanoseconds, in order.
    pub(super) fn within(
        &self,
        thread: u32,
        from: i64,
        to: i64,
    ) -> impl DoubleEndedIterator<Item = &Entry> {
        let begin = self.behind(thread, from);
        let end = self.behind(thread, to).max(begin);
        self.entries.range(begin..end)
    }

    /// The intervals of a thread that make up the time from `from` to `to`, in order.
    pub(super) fn intervals(
        &self,
        thread: u32,
        from: i64,
        to: i64,
        mut each: impl FnMut(Interval),
    ) {
        let mut state = self.state(thread, from);
        let mut since = from;
        for entry in self.within(thread, from, to) {
            if entry.time > since {
                each(Interval { from: since, to: entry.time, state });
                since = entry.time;
            }
            state = entry.state;
        }
        if to > since {
            each(Interval { from: since, to, state });
        }
    }

    /// How a thread is at that time, behind everything that happens to it then.
    pub(super) fn state(&self, thread: u32, time: i64) -> State {
        let Some(of) = self.of(thread) else { return State::default() };
        let place = self.behind(thread, time);
        let last = place.checked_sub(1).filter(|last| of.entries.contains(last));
        let before = || State { sched: of.before, ..State::default() };
        last.and_then(|last| self.entries.get(last)).map_or_else(before, |entry| entry.state)
    }

    fn of(&self, thread: u32) -> Option<&Thread> {
        self.threads.get(thread as usize)
    }

    /// The first place of a thread's entries that is later than `time`.
    fn behind(&self, thread: u32, time: i64) -> usize {
        let range = self.of(thread).map_or(0..0, |thread| thread.entries.clone());
        self.entries.partition_point(range, |entry| entry.time <= time)
    }
}
