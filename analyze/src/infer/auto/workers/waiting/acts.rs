//! Acts of threads which show that the thread is not waiting for a response: receipts of requests,
//! and signals at objects that waiting threads do not signal.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service};
use crate::tuning::auto::workers::waiting::{MAX_WAITING, WAIT_LAG};

/// Acts which show that a thread is not waiting.
pub(super) struct ThreadActs {
    /// Times of the acts of each thread, in nanoseconds, in order.
    times: FxHashMap<u32, Vec<i64>>,
    /// Objects that only threads which are not waiting signal.
    objects: FxHashSet<i64>,
}

impl ThreadActs {
    /// Collects the acts. `bound` has the request that the thread of each call is bound to. `None`
    /// if waiting threads signal the same objects as others.
    pub(super) fn from_handoffs(
        service: &Service,
        bound: &[Option<RequestId>],
        hand_offs: &[ServiceHandoff],
    ) -> Option<ThreadActs> {
        let mut waits: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
        for (call, _) in MadeCallId::ids().zip(bound).filter(|(_, request)| request.is_some()) {
            let span = service.calls[call.index()];
            if span.end != OPEN {
                waits.entry(service.calling_thread(call)).or_default().push((span.begin, span.end));
            }
        }
        waits.values_mut().for_each(|waits| waits.sort_unstable());
        // Whether a signal was sent in the second half of a call: shortly after the beginning of a
        // call the thread may not have begun to wait yet.
        let is_late = |hand_off: &ServiceHandoff| {
            let waits = waits.get(&hand_off.from)?;
            let last = waits.partition_point(|(begin, _)| *begin <= hand_off.signalled);
            let (begin, end) = *waits.get(last.checked_sub(1)?)?;
            Some(hand_off.signalled > begin + (end - begin) / 2 && hand_off.signalled < end)
        };
        let mut seen: FxHashMap<i64, [usize; 2]> = FxHashMap::default();
        for hand_off in hand_offs.iter().filter(|hand_off| waits.contains_key(&hand_off.from)) {
            let [late, all] = seen.entry(hand_off.object).or_default();
            *late += usize::from(is_late(hand_off) == Some(true));
            *all += 1;
        }
        let is_act = |[late, all]: [usize; 2]| {
            all >= service.requests.len() && late as f64 <= MAX_WAITING * all as f64
        };
        let objects: FxHashSet<i64> =
            seen.into_iter().filter(|(_, seen)| is_act(*seen)).map(|(object, _)| object).collect();
        let mut times: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
        for hand_off in hand_offs.iter().filter(|hand_off| objects.contains(&hand_off.object)) {
            times.entry(hand_off.from).or_default().push(hand_off.signalled);
        }
        for (span, [thread, _]) in service.requests.iter().zip(&service.request_threads) {
            times.entry(*thread).or_default().push(span.begin);
        }
        times.values_mut().for_each(|times| times.sort_unstable());
        (!objects.is_empty()).then_some(ThreadActs { times, objects })
    }

    /// Time since which a thread has been waiting, if it may wait for the response to `call`: it
    /// does not act between the call and the response. Otherwise `None`.
    pub(super) fn waits_since(
        &self,
        thread: u32,
        service: &Service,
        call: MadeCallId,
    ) -> Option<i64> {
        let span = service.calls[call.index()];
        let acts = self.times.get(&thread)?;
        let until = acts.partition_point(|act| *act <= span.begin.saturating_add(WAIT_LAG));
        let is_idle = acts.get(until).is_none_or(|act| *act >= span.end);
        let last = acts.get(until.checked_sub(1)?)?;
        is_idle.then_some(*last)
    }

    /// Returns whether signals at this object are such acts.
    pub(super) fn are_signals_of(&self, object: i64) -> bool {
        self.objects.contains(&object)
    }

    /// Time of the first act of a thread after `time`.
    pub(super) fn next(&self, thread: u32, time: i64) -> Option<i64> {
        let acts = self.times.get(&thread)?;
        acts.get(acts.partition_point(|act| *act <= time)).copied()
    }
}
