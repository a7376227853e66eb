//! Chain of hand-offs: the threads that worked between two messages of a step. Either different
//! threads handled the two messages, or one thread handled both and waited for another in between.
//!
//! ```text
//! a   received ---- signal
//! b                   | woken --------- signal
//! c                                       | woken - sent
//! ```
//!
//! A signal is what makes a waiting thread runnable, such as the release of a lock or a write to a
//! pipe. A wake records the signalling thread and the time of the signal. From the thread of the
//! later message, wakes lead back to the thread of the earlier one.

use super::timeline_entry::{NO_THREAD, TimelineChange, TimelineEntry};
use super::timelines::ThreadTimelines;
use crate::tuning::{MAX_CHAIN_LINKS, MAX_CHAIN_WAKES, MAX_WAKE_ENTRIES};

/// The time between two consecutive messages of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageGap {
    /// Identity of the step, as in the timeline entries of its messages.
    pub step: i64,
    /// The thread that handled the earlier message, and the time of the message in nanoseconds
    /// since the Unix epoch.
    pub from: (u32, i64),
    /// The thread that handled the later message, and the time of the message in nanoseconds since
    /// the Unix epoch.
    pub to: (u32, i64),
}

/// A time span in which one thread worked for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadSpan {
    /// The thread; [`NO_THREAD`] if it is not known which thread worked.
    pub thread: u32,
    /// Begin of the span, in nanoseconds since the Unix epoch; if another thread signalled, the
    /// time of the signal.
    pub from: i64,
    /// The time at which the thread continued after the signal, in nanoseconds since the Unix
    /// epoch; equal to `from` if there was none.
    pub woken: i64,
    /// When the span ends, in nanoseconds since the Unix epoch.
    pub to: i64,
}

/// A wake on the way back from the later message to the earlier one. Times are nanoseconds since
/// the Unix epoch.
#[derive(Clone, Copy)]
struct WakeLink {
    /// The thread that was woken.
    thread: u32,
    woken: i64,
    signalled: i64,
    /// The object that both threads used for the wake.
    object: u32,
}

/// Finder of chains, with reusable buffers.
#[derive(Default)]
pub(super) struct ChainFinder {
    links: Vec<WakeLink>,
    /// Number of wakes that may still be examined.
    remaining_wakes: usize,
    /// Number of timeline entries that may still be examined.
    remaining_entries: usize,
}

impl ChainFinder {
    /// Appends the parts of a gap to `parts`, in order. The parts add up to the gap.
    pub(super) fn find_spans(
        &mut self,
        timelines: &ThreadTimelines,
        gap: MessageGap,
        parts: &mut Vec<ThreadSpan>,
    ) {
        let begin = parts.len();
        let (first, from) = gap.from;
        let (mut thread, mut to) = gap.to;
        if first == NO_THREAD || thread == NO_THREAD {
            parts.push(ThreadSpan { thread: NO_THREAD, from, woken: from, to });
            return;
        }
        self.remaining_wakes = MAX_CHAIN_WAKES;
        self.remaining_entries = MAX_WAKE_ENTRIES;
        loop {
            self.links.clear();
            let end = MessageGap { to: (thread, to), ..gap };
            if !self.find_wake_chain(timelines, end, thread, to) {
                break;
            }
            for link in &self.links {
                let WakeLink { thread, woken, signalled, .. } = *link;
                parts.push(ThreadSpan { thread, from: signalled, woken, to });
                to = signalled;
            }
            thread = first;
        }
        let thread = if thread == first { first } else { NO_THREAD };
        parts.push(ThreadSpan { thread, from, woken: from, to });
        parts[begin..].reverse();
    }

    /// Whether wakes lead from `thread` at the time `to` back to a signal that the gap's first
    /// thread gave. If so, the links are in [`ChainFinder::links`], the latest wake first.
    fn find_wake_chain(
        &mut self,
        timelines: &ThreadTimelines,
        gap: MessageGap,
        thread: u32,
        to: i64,
    ) -> bool {
        let ((first, from), (last, end)) = (gap.from, gap.to);
        if self.links.len() >= MAX_CHAIN_LINKS {
            return false;
        }
        let depth = self.links.len();
        for entry in timelines.entries_within(thread, from.saturating_sub(1), to).rev() {
            if self.remaining_entries == 0 {
                return false;
            }
            self.remaining_entries -= 1;
            let is_of_other_step =
                matches!(entry.what, TimelineChange::Message { .. }) && entry.number != gap.step;
            if is_of_other_step && entry.time < end && entry.time > from {
                // Until this message of another step, the thread worked for that step.
                return false;
            }
            let TimelineEntry { by, number: signalled, time: woken, object, .. } = *entry;
            if entry.what != TimelineChange::Wake || by == NO_THREAD || by == thread {
                continue;
            }
            if signalled < from || signalled > to || self.remaining_wakes == 0 {
                continue;
            }
            self.remaining_wakes -= 1;
            // A thread for which another thread waits did not work for that thread if it had
            // another step to serve.
            if first == last && thread != first && entry.state.is_busy {
                continue;
            }
            let link = WakeLink { thread, woken, signalled, object };
            if by == first {
                // If two threads wake each other by one object, the object is a lock, and neither
                // thread worked for the other.
                if self.links.last().is_some_and(|back| back.object == object && first == last) {
                    continue;
                }
                self.links.push(link);
                return true;
            }
            self.links.push(link);
            if self.find_wake_chain(timelines, gap, by, signalled) {
                return true;
            }
            self.links.truncate(depth);
        }
        false
    }
}
