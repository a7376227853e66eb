//! The wake-up graph of goroutines, with paths to the goroutine that is bound to a request:
//! forwards along the goroutines that each one wakes, and backwards along those that woke or
//! started it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::in_order::TimedIds;
use crate::infer::auto::service::{MadeCallId, RequestId};
use crate::tuning::auto::workers::MAX_STEPS;

/// Bindings of goroutines to requests, and the wake-up edges between them.
pub(super) struct WakeUpGraph {
    /// The requests that each thread receives and answers itself: beginning, end, and request.
    pub(super) bound: FxHashMap<u32, Vec<(i64, i64, RequestId)>>,
    /// The threads that each thread woke, with the times.
    pub(super) from: FxHashMap<u32, TimedIds>,
    /// The threads that woke or started each thread, with the times.
    pub(super) to: FxHashMap<u32, TimedIds>,
    /// The threads with a single edge, from their start: all that they do is for their starter.
    pub(super) only_started: FxHashSet<u32>,
    /// Times at which each thread made a call, in nanoseconds.
    pub(super) made: FxHashMap<u32, Vec<i64>>,
    /// Times at which each thread received a response, in nanoseconds.
    pub(super) received: FxHashMap<u32, Vec<i64>>,
    /// The threads that serve connections with several concurrent calls.
    pub(super) shared: FxHashSet<u32>,
    /// The goroutines woken by the responses that the threads in `shared` have read, with the
    /// times, by call.
    pub(super) waited: FxHashMap<MadeCallId, (i64, u32)>,
    /// The threads that were started for an unknown request.
    pub(super) unknown: FxHashSet<u32>,
}

impl WakeUpGraph {
    /// The request that a thread is bound to at a time.
    pub(super) fn bound_request(&self, thread: u32, time: i64) -> Option<RequestId> {
        let bound = self.bound.get(&thread)?;
        let last = bound.partition_point(|(begin, ..)| *begin <= time).checked_sub(1)?;
        bound.get(last).filter(|(_, end, _)| *end >= time).map(|(.., request)| *request)
    }

    /// The request of a goroutine that was woken at `time`, or of the goroutine that it wakes next.
    pub(super) fn woken_request(&self, thread: u32, time: i64) -> Option<RequestId> {
        let bound = self.bound_request(thread, time);
        bound.or_else(|| Some(self.follow_forwards(thread, time)?.request))
    }

    /// The request of the goroutine that waits for the response of a call, or of the goroutine that
    /// it wakes next or that woke it.
    pub(super) fn waiting_request(&self, call: MadeCallId) -> Option<RequestClaim> {
        let (time, thread) = *self.waited.get(&call)?;
        let bound =
            self.bound_request(thread, time).map(|request| RequestClaim { request, by: None });
        let claim = bound.or_else(|| self.follow_forwards(thread, time));
        claim.or_else(|| self.follow_backwards(thread, time - 1))
    }

    /// The request of the goroutine that a thread wakes next after `time`, or of the goroutine that
    /// this one wakes, and so on; `None` if none of them is bound to a request.
    pub(super) fn follow_forwards(&self, mut thread: u32, mut time: i64) -> Option<RequestClaim> {
        let mut first = None;
        for _ in 0..MAX_STEPS {
            if self.shared.contains(&thread) || self.unknown.contains(&thread) {
                return None;
            }
            let next = self.from.get(&thread)?;
            let hand_off = *next.get(next.partition_point(|(at, _)| *at < time))?;
            first = first.or(Some((hand_off, thread)));
            (time, thread) = hand_off;
            if let Some(request) = self.bound_request(thread, time) {
                return Some(RequestClaim { request, by: first });
            }
        }
        None
    }

    /// The request of the goroutine that woke a thread last before `time`, or of the goroutine that
    /// woke this one, and so on; `None` if none of them is bound to a request.
    pub(super) fn follow_backwards(&self, mut thread: u32, mut time: i64) -> Option<RequestClaim> {
        let mut first = None;
        for _ in 0..MAX_STEPS {
            if self.shared.contains(&thread) || self.unknown.contains(&thread) {
                return None;
            }
            let before = self.to.get(&thread)?;
            let last = before.partition_point(|(at, _)| *at <= time).checked_sub(1)?;
            let hand_off = *before.get(last)?;
            let made = self.made.get(&thread).filter(|_| !self.only_started.contains(&thread));
            if made.is_some_and(|made| count_between(made, hand_off.0 + 1, time - 1) > 0) {
                return None;
            }
            first = first.or(Some((hand_off, thread)));
            (time, thread) = hand_off;
            if let Some(request) = self.bound_request(thread, time) {
                return Some(RequestClaim { request, by: first });
            }
        }
        None
    }
}

/// Number of the `times` from `first` to `last`, both included.
pub(super) fn count_between(times: &[i64], first: i64, last: i64) -> usize {
    let until = times.partition_point(|time| *time <= last);
    until.saturating_sub(times.partition_point(|time| *time < first))
}

/// A claim about the request of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestClaim {
    pub(super) request: RequestId,
    /// The hand-off that was followed first: its time, the other goroutine, and the goroutine that
    /// was followed. `None` if a goroutine is bound to the request itself.
    pub(super) by: Option<((i64, u32), u32)>,
}
