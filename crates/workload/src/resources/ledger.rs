//! Ledger: what each moment of a step is counted as.
//!
//! Work wins over calls, and calls over waits: a moment in which a thread of the step runs, could
//! run or waits for a disk is that, whatever calls are open. Another moment in which a call is open
//! is the call's, however many are open. What is left is what the thread waited for.

use request_flow::{Resource, Waits};

use super::chain::{Gap, Part};
use super::entry::{Call, NO_THREAD, Sched, State, What};
use super::timelines::{Interval, Timelines};

/// What the moments of a step were counted as, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub processor_ns: i64,
    pub waits: Waits,
    /// Calls were open, and nobody worked.
    pub children_ns: i64,
    /// Bytes that were read from and written to files.
    pub disk_bytes: i64,
}

/// Times in which calls of a step are open: disjoint and in order.
#[derive(Default)]
pub(super) struct OpenCalls(Vec<(i64, i64)>);

impl OpenCalls {
    /// Takes the calls of the next step.
    pub(super) fn set(&mut self, calls: impl IntoIterator<Item = (i64, i64)>) {
        let OpenCalls(open) = self;
        open.clear();
        open.extend(calls.into_iter().filter(|(from, to)| from < to));
        open.sort_unstable();
        open.dedup_by(|later, kept| {
            let overlaps = later.0 <= kept.1;
            if overlaps {
                kept.1 = kept.1.max(later.1);
            }
            overlaps
        });
    }

    /// How long calls are open between `from` and `to`.
    fn between(&self, from: i64, to: i64) -> i64 {
        let first = self.0.partition_point(|call| call.1 <= from);
        let open = self.0.iter().skip(first).take_while(|call| call.0 < to);
        open.map(|call| call.1.min(to) - call.0.max(from)).sum()
    }
}

impl Sums {
    /// Counts the time of a part of a gap.
    pub(super) fn add(&mut self, timelines: &Timelines, gap: Gap, part: &Part, open: &OpenCalls) {
        let Part { thread, from, woken, to } = *part;
        if thread == NO_THREAD {
            self.count(Resource::Unknown, from, to, open);
            return;
        }
        let woken = woken.clamp(from, to);
        // A thread that was busy when it was signalled turned to this step only when it woke.
        let was_free = timelines.state(thread, from).is_waiting() && {
            let marks = timelines.within(thread, from, woken);
            marks.into_iter().all(|entry| !is_of_another(entry.what, entry.number, gap, entry.time))
        };
        if was_free {
            self.thread(timelines, thread, from, woken, open);
        } else {
            self.count(Resource::Unknown, from, woken, open);
        }
        self.work(timelines, gap, (thread, woken, to), open);
    }

    /// Counts the time in which a thread was free for the step. What it did for other steps in
    /// between is not the step's: from when it handled a message of another or polled, to its last
    /// poll before it handled the step's next message.
    fn work(
        &mut self,
        timelines: &Timelines,
        gap: Gap,
        (thread, from, to): (u32, i64, i64),
        open: &OpenCalls,
    ) {
        let (mut leaves, mut polls) = (None, None);
        let (mut comes_back, mut is_away) = (to, false);
        for entry in timelines.within(thread, from, to) {
            if is_of_another(entry.what, entry.number, gap, entry.time) {
                leaves = leaves.or(polls).or(Some(entry.time));
                (is_away, comes_back) = (true, to);
            } else if let What::Began(Call::Poll | Call::PollInVain) = entry.what {
                polls = polls.or(Some(entry.time));
            } else if entry.what == What::Ended && is_away && was_polling(timelines, entry) {
                comes_back = entry.time;
            }
        }
        let leaves = leaves.unwrap_or(to);
        self.thread(timelines, thread, from, leaves, open);
        if leaves < to {
            self.count(Resource::Unknown, leaves, comes_back, open);
            self.thread(timelines, thread, comes_back, to, open);
        }
    }

    /// Counts what a thread did.
    fn thread(&mut self, timelines: &Timelines, thread: u32, from: i64, to: i64, open: &OpenCalls) {
        timelines.intervals(thread, from, to, |Interval { from, to, state }| {
            self.count(of(state), from, to, open);
        });
        let ends = timelines.within(thread, from, to).filter(|entry| entry.what == What::Ended);
        self.disk_bytes += ends.map(|entry| entry.number).sum::<i64>();
    }

    fn count(&mut self, resource: Resource, from: i64, to: i64, open: &OpenCalls) {
        let took = (to - from).max(0);
        let children = match resource {
            Resource::Processor | Resource::Runnable | Resource::Disk => 0,
            Resource::Lock | Resource::Peer | Resource::Asleep | Resource::Unknown => {
                open.between(from, to)
            }
        };
        let into = match resource {
            Resource::Processor => &mut self.processor_ns,
            Resource::Runnable => &mut self.waits.runnable_ns,
            Resource::Disk => &mut self.waits.disk_ns,
            Resource::Lock => &mut self.waits.lock_ns,
            Resource::Peer => &mut self.waits.peer_ns,
            Resource::Asleep => &mut self.waits.asleep_ns,
            Resource::Unknown => &mut self.waits.unknown_ns,
        };
        *into += took - children;
        self.children_ns += children;
    }
}

/// Whether it is a message of another step than the gap's. What came at the gap's own ends is the
/// gap's message, which is in several requests where its cause is not certain.
fn is_of_another(what: What, step: i64, gap: Gap, time: i64) -> bool {
    let is_mark = matches!(what, What::Mark { .. });
    is_mark && step != gap.step && time > gap.from.1 && time < gap.to.1
}

/// Whether a call that ends was a poll.
fn was_polling(timelines: &Timelines, ended: &super::entry::Entry) -> bool {
    let before = timelines.state(ended.thread, ended.time - 1);
    matches!(before.call, Some(Call::Poll | Call::PollInVain))
}

/// What a moment in that state is counted as.
pub(super) fn of(state: State) -> Resource {
    match (state.sched, state.call) {
        (Sched::Running, _) => Resource::Processor,
        (Sched::Runnable, _) | (_, Some(Call::Woken)) => Resource::Runnable,
        (_, Some(Call::File)) => Resource::Disk,
        (_, Some(Call::Lock)) => Resource::Lock,
        (_, Some(Call::Sleep | Call::PollInVain)) => Resource::Asleep,
        (_, Some(Call::Socket | Call::Poll)) => Resource::Peer,
        (Sched::Blocked | Sched::Unknown, None) => Resource::Unknown,
    }
}
