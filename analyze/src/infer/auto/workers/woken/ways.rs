//! The ways from a goroutine to the one that holds a request: forwards along those whom each one
//! lets go on, and backwards along those who let it go on or started it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::in_order::TimedIds;
use crate::tuning::auto::workers::MAX_STEPS;

/// What goroutines hold, and whom they let go on.
pub(super) struct WakeUpGraph {
    /// The requests that each thread receives and answers itself: when from, until when, and which.
    pub(super) bound: FxHashMap<u32, Vec<(i64, i64, u32)>>,
    /// When each thread let which other one go on.
    pub(super) from: FxHashMap<u32, TimedIds>,
    /// When each thread was let go on or started, and by which other one.
    pub(super) to: FxHashMap<u32, TimedIds>,
    /// When each thread made a call.
    pub(super) made: FxHashMap<u32, Vec<i64>>,
    /// When each thread received an answer.
    pub(super) received: FxHashMap<u32, Vec<i64>>,
    /// The threads that serve connections with several calls at once.
    pub(super) shared: FxHashSet<u32>,
    /// Whom the answers that those have read let go on, by the calls.
    pub(super) waited: FxHashMap<u32, (i64, u32)>,
    /// The threads that were started for a request that is not known.
    pub(super) unknown: FxHashSet<u32>,
}

impl WakeUpGraph {
    /// The request that a thread holds at a time.
    pub(super) fn bound_request(&self, thread: u32, time: i64) -> Option<u32> {
        let held = self.bound.get(&thread)?;
        let last = held.partition_point(|(begin, ..)| *begin <= time).checked_sub(1)?;
        held.get(last).filter(|(_, end, _)| *end >= time).map(|(.., request)| *request)
    }

    /// The request of a goroutine that was let go on, or of whom it lets go on next.
    pub(super) fn woken_request(&self, thread: u32, time: i64) -> Option<u32> {
        let held = self.bound_request(thread, time);
        held.or_else(|| Some(self.follow_forwards(thread, time)?.request))
    }

    /// The request of who waits for the answer of a call, or of who started that one.
    pub(super) fn waiting_request(&self, call: u32) -> Option<RequestClaim> {
        let (time, thread) = *self.waited.get(&call)?;
        let held =
            self.bound_request(thread, time).map(|request| RequestClaim { request, by: None });
        let said = held.or_else(|| self.follow_forwards(thread, time));
        said.or_else(|| self.follow_backwards(thread, time - 1))
    }

    /// The request of whom a thread lets go on next, or that one, and so on.
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

    /// The request of who let a thread go on, or of who let that one, and so on.
    pub(super) fn follow_backwards(&self, mut thread: u32, mut time: i64) -> Option<RequestClaim> {
        let mut first = None;
        for _ in 0..MAX_STEPS {
            if self.shared.contains(&thread) || self.unknown.contains(&thread) {
                return None;
            }
            let before = self.to.get(&thread)?;
            let last = before.partition_point(|(at, _)| *at <= time).checked_sub(1)?;
            let hand_off = *before.get(last)?;
            let made = self.made.get(&thread);
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

/// How many of these times are from the one to the other, both included.
pub(super) fn count_between(times: &[i64], first: i64, last: i64) -> usize {
    let until = times.partition_point(|time| *time <= last);
    until.saturating_sub(times.partition_point(|time| *time < first))
}

/// What is said of a call's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestClaim {
    pub(super) request: u32,
    /// The hand-off that was followed first: when and with whom, and whose it was. `None` where a
    /// goroutine holds the request itself.
    pub(super) by: Option<((i64, u32), u32)>,
}
