//! Sums of moments: classification of each moment of a step.
//!
//! Work takes precedence over calls, and calls over waits: a moment in which a thread of the step
//! runs, is runnable or waits for a disk counts as that, whatever calls are open. Any other moment
//! with an open call counts as call time, however many are open. The remainder is what the thread
//! waited for.

use request_flow::{StepResource, WaitTimes};

use super::timeline_entry::{BlockingCall, NO_THREAD, SchedulerState, ThreadState, TimelineChange};
use super::timelines::{StateInterval, ThreadTimelines};
use super::wake_chain::{MessageGap, ThreadSpan};

/// Times of the moments of a step by classification, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MomentSums {
    pub processor_ns: i64,
    pub waits: WaitTimes,
    /// Time in nanoseconds with open calls, in which no thread worked.
    pub children_ns: i64,
    /// Bytes that were read from and written to files.
    pub disk_bytes: i64,
}

/// Times with open calls of a step: disjoint and in order.
#[derive(Default)]
pub(super) struct OpenCalls(Vec<(i64, i64)>);

impl OpenCalls {
    /// Sets the calls of the next step, as begins and ends in nanoseconds.
    pub(super) fn set_calls(&mut self, calls: impl IntoIterator<Item = (i64, i64)>) {
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

    /// Time between `from` and `to` with open calls.
    fn open_time_between(&self, from: i64, to: i64) -> i64 {
        let first = self.0.partition_point(|call| call.1 <= from);
        let open = self.0.iter().skip(first).take_while(|call| call.0 < to);
        open.map(|call| call.1.min(to) - call.0.max(from)).sum()
    }
}

impl MomentSums {
    /// Adds the time of `part`, a span of the gap between two messages of the step. `open` are the
    /// open calls of the step.
    pub(super) fn add_span(
        &mut self,
        timelines: &ThreadTimelines,
        gap: MessageGap,
        part: &ThreadSpan,
        open: &OpenCalls,
    ) {
        let ThreadSpan { thread, from, woken, to } = *part;
        if thread == NO_THREAD {
            self.add_time(StepResource::Unknown, from, to, open);
            return;
        }
        let woken = woken.clamp(from, to);
        // A thread that was busy when it was signalled began to work for this step only when it
        // woke.
        let was_free = timelines.state_at(thread, from).is_waiting() && {
            let marks = timelines.entries_within(thread, from, woken);
            marks
                .into_iter()
                .all(|entry| !is_of_other_step(entry.what, entry.number, gap, entry.time))
        };
        if was_free {
            self.add_thread_time(timelines, thread, from, woken, open);
        } else {
            self.add_time(StepResource::Unknown, from, woken, open);
        }
        self.add_work(timelines, gap, (thread, woken, to), open);
    }

    /// Adds the time in which a thread was free for the step. The thread's work for other steps in
    /// between is unknown time: from its first message of another step, or a poll before that
    /// message, to the end of its last poll.
    fn add_work(
        &mut self,
        timelines: &ThreadTimelines,
        gap: MessageGap,
        (thread, from, to): (u32, i64, i64),
        open: &OpenCalls,
    ) {
        let (mut leaves, mut polls) = (None, None);
        let (mut comes_back, mut is_away) = (to, false);
        for entry in timelines.entries_within(thread, from, to) {
            if is_of_other_step(entry.what, entry.number, gap, entry.time) {
                leaves = leaves.or(polls).or(Some(entry.time));
                (is_away, comes_back) = (true, to);
            } else if let TimelineChange::Began(BlockingCall::Poll | BlockingCall::TimedOutPoll) =
                entry.what
            {
                polls = polls.or(Some(entry.time));
            } else if entry.what == TimelineChange::Ended
                && is_away
                && was_polling(timelines, entry)
            {
                comes_back = entry.time;
            }
        }
        let leaves = leaves.unwrap_or(to);
        self.add_thread_time(timelines, thread, from, leaves, open);
        if leaves < to {
            self.add_time(StepResource::Unknown, leaves, comes_back, open);
            self.add_thread_time(timelines, thread, comes_back, to, open);
        }
    }

    /// Adds the time of a thread by its states, and the bytes of its file calls.
    fn add_thread_time(
        &mut self,
        timelines: &ThreadTimelines,
        thread: u32,
        from: i64,
        to: i64,
        open: &OpenCalls,
    ) {
        timelines.for_each_interval(thread, from, to, |StateInterval { from, to, state }| {
            self.add_time(resource_of_state(state), from, to, open);
        });
        let ends = timelines
            .entries_within(thread, from, to)
            .filter(|entry| entry.what == TimelineChange::Ended);
        self.disk_bytes += ends.map(|entry| entry.number).sum::<i64>();
    }

    /// Adds time of one classification. The part with open calls counts as call time if no thread
    /// worked.
    fn add_time(&mut self, resource: StepResource, from: i64, to: i64, open: &OpenCalls) {
        let took = (to - from).max(0);
        let children = match resource {
            StepResource::Processor | StepResource::Runnable | StepResource::Disk => 0,
            StepResource::Lock
            | StepResource::Peer
            | StepResource::Asleep
            | StepResource::Unknown => open.open_time_between(from, to),
        };
        let into = match resource {
            StepResource::Processor => &mut self.processor_ns,
            StepResource::Runnable => &mut self.waits.runnable_ns,
            StepResource::Disk => &mut self.waits.disk_ns,
            StepResource::Lock => &mut self.waits.lock_ns,
            StepResource::Peer => &mut self.waits.peer_ns,
            StepResource::Asleep => &mut self.waits.asleep_ns,
            StepResource::Unknown => &mut self.waits.unknown_ns,
        };
        *into += took - children;
        self.children_ns += children;
    }
}

/// Whether a change of the timeline is a message of another step than that of the gap. Messages at
/// the ends of the gap are its own, even with the identity of another step: a message with an
/// uncertain cause belongs to several requests.
fn is_of_other_step(what: TimelineChange, step: i64, gap: MessageGap, time: i64) -> bool {
    let is_message = matches!(what, TimelineChange::Message { .. });
    is_message && step != gap.step && time > gap.from.1 && time < gap.to.1
}

/// Whether a call that ends was a poll.
fn was_polling(timelines: &ThreadTimelines, ended: &super::timeline_entry::TimelineEntry) -> bool {
    let before = timelines.state_at(ended.thread, ended.time - 1);
    matches!(before.call, Some(BlockingCall::Poll | BlockingCall::TimedOutPoll))
}

/// The resource of a moment in this state.
pub(super) fn resource_of_state(state: ThreadState) -> StepResource {
    match (state.sched, state.call) {
        (SchedulerState::Running, _) => StepResource::Processor,
        (SchedulerState::Runnable, _) | (_, Some(BlockingCall::Woken)) => StepResource::Runnable,
        (_, Some(BlockingCall::File)) => StepResource::Disk,
        (_, Some(BlockingCall::Lock)) => StepResource::Lock,
        (_, Some(BlockingCall::Sleep | BlockingCall::TimedOutPoll)) => StepResource::Asleep,
        (_, Some(BlockingCall::Socket | BlockingCall::Poll)) => StepResource::Peer,
        (SchedulerState::Blocked | SchedulerState::Unknown, None) => StepResource::Unknown,
    }
}
