//! Timelines: the activity of the threads of all hosts, by thread and time.

use std::ops::Range;

use out_of_core::{NameId, NameInterner, SpillableVec};
use rustc_hash::FxHashMap;

use super::timeline_entry::{SchedulerState, ThreadState, TimelineChange, TimelineEntry};

/// The activity of the threads of all hosts.
pub(super) struct ThreadTimelines {
    entries: SpillableVec<TimelineEntry>,
    threads: Vec<TimelineThread>,
    numbers: FxHashMap<(NameId, i32, i32), u32>,
    hosts: NameInterner,
}

/// A thread with its timeline.
#[derive(Clone, Debug, Default)]
pub(super) struct TimelineThread {
    /// Host of the thread and id of its process.
    pub process: (NameId, i32),
    /// Id of the thread.
    pub id: i32,
    /// Whether the thread was seen in events, and not only in messages.
    pub is_recorded: bool,
    /// State of the thread before its first entry.
    pub before: SchedulerState,
    /// Range of the thread's entries.
    pub entries: Range<usize>,
    /// Total time of the thread on processors, in nanoseconds.
    pub running_ns: i64,
    /// Whether the thread handled a message.
    pub has_messages: bool,
}

/// A time span in which the state of a thread does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateInterval {
    pub from: i64,
    pub to: i64,
    pub state: ThreadState,
}

impl ThreadTimelines {
    /// Timelines of sorted entries. Sets [`TimelineEntry::state`] of each entry.
    pub(super) fn new(
        mut entries: SpillableVec<TimelineEntry>,
        mut threads: Vec<TimelineThread>,
        numbers: FxHashMap<(NameId, i32, i32), u32>,
        hosts: NameInterner,
    ) -> ThreadTimelines {
        let mut open: Option<(u32, ThreadState, i64)> = None;
        let mut place = 0;
        entries.for_each_mut(0..entries.len(), |entry| {
            let Some(thread) = threads.get_mut(entry.thread as usize) else { return };
            let (state, since) = match open {
                Some((number, state, since)) if number == entry.thread => (state, since),
                _ => {
                    thread.entries = place..place;
                    (ThreadState { sched: thread.before, ..ThreadState::default() }, entry.time)
                }
            };
            if state.sched == SchedulerState::Running {
                thread.running_ns += entry.time - since;
            }
            thread.has_messages |= matches!(entry.what, TimelineChange::Message { .. });
            entry.state = state.after_entry(entry);
            open = Some((entry.thread, entry.state, entry.time));
            place += 1;
            thread.entries.end = place;
        });
        ThreadTimelines { entries, threads, numbers, hosts }
    }

    /// Number of a host's name; `None` if no thread of the host is known.
    pub(super) fn find_host(&self, host: &str) -> Option<NameId> {
        self.hosts.find_id(host)
    }

    /// Number of the thread of this host, process and id, if events describe it.
    pub(super) fn find_thread(&self, host: NameId, process: i32, id: i32) -> Option<u32> {
        let number = *self.numbers.get(&(host, process, id))?;
        self.get_thread(number).filter(|thread| thread.is_recorded).map(|_| number)
    }

    /// Name of a host by its number.
    pub(super) fn host_name(&self, host: NameId) -> &str {
        self.hosts.name_of(host)
    }

    /// All threads with timelines.
    pub(super) fn threads(&self) -> &[TimelineThread] {
        &self.threads
    }

    /// Entries of a thread after `from` and until `to`, both in nanoseconds, in order.
    pub(super) fn entries_within(
        &self,
        thread: u32,
        from: i64,
        to: i64,
    ) -> impl DoubleEndedIterator<Item = &TimelineEntry> {
        let begin = self.first_entry_after(thread, from);
        let end = self.first_entry_after(thread, to).max(begin);
        self.entries.range(begin..end)
    }

    /// The intervals of a thread that make up the time from `from` to `to`, in order.
    pub(super) fn for_each_interval(
        &self,
        thread: u32,
        from: i64,
        to: i64,
        mut each: impl FnMut(StateInterval),
    ) {
        let mut state = self.state_at(thread, from);
        let mut since = from;
        for entry in self.entries_within(thread, from, to) {
            if entry.time > since {
                each(StateInterval { from: since, to: entry.time, state });
                since = entry.time;
            }
            state = entry.state;
        }
        if to > since {
            each(StateInterval { from: since, to, state });
        }
    }

    /// The state of a thread at the time `time`, after all changes at this time.
    pub(super) fn state_at(&self, thread: u32, time: i64) -> ThreadState {
        let Some(of) = self.get_thread(thread) else { return ThreadState::default() };
        let place = self.first_entry_after(thread, time);
        let last = place.checked_sub(1).filter(|last| of.entries.contains(last));
        let before = || ThreadState { sched: of.before, ..ThreadState::default() };
        last.and_then(|last| self.entries.get(last)).map_or_else(before, |entry| entry.state)
    }

    fn get_thread(&self, thread: u32) -> Option<&TimelineThread> {
        self.threads.get(thread as usize)
    }

    /// The index of the first entry of a thread that is later than `time`.
    fn first_entry_after(&self, thread: u32, time: i64) -> usize {
        let range = self.get_thread(thread).map_or(0..0, |thread| thread.entries.clone());
        self.entries.partition_point(range, |entry| entry.time <= time)
    }
}
