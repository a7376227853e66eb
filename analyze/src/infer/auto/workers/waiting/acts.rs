//! Acts of threads that exclude waiting.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service};
use crate::tuning::auto::workers::waiting::{LAG, MAX_WAITING};

/// Times at which each thread acted in a way that excludes waiting, in order.
pub(super) struct ThreadActs {
    /// The times, in order, of each thread.
    times: FxHashMap<u32, Vec<i64>>,
    /// Objects that only threads which are not waiting signal.
    objects: FxHashSet<i64>,
}

impl ThreadActs {
    /// Collects the acts; `None` if waiting threads act like others.
    pub(super) fn from_handoffs(
        service: &Service,
        held: &[Option<RequestId>],
        hand_offs: &[ServiceHandoff],
    ) -> Option<ThreadActs> {
        let mut waits: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
        for (call, _) in MadeCallId::ids().zip(held).filter(|(_, request)| request.is_some()) {
            let span = service.calls[call.index()];
            if span.end != OPEN {
                waits.entry(service.calling_thread(call)).or_default().push((span.begin, span.end));
            }
        }
        waits.values_mut().for_each(|waits| waits.sort_unstable());
        // Shortly after a call the thread may not have begun to wait yet.
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

    /// Time since which a thread has been waiting, if it waits until a call is answered.
    pub(super) fn waits_since(
        &self,
        thread: u32,
        service: &Service,
        call: MadeCallId,
    ) -> Option<i64> {
        let span = service.calls[call.index()];
        let acts = self.times.get(&thread)?;
        let until = acts.partition_point(|act| *act <= span.begin.saturating_add(LAG));
        let is_idle = acts.get(until).is_none_or(|act| *act >= span.end);
        let last = acts.get(until.checked_sub(1)?)?;
        is_idle.then_some(*last)
    }

    /// Returns whether waiting threads do not signal this object.
    pub(super) fn has(&self, object: i64) -> bool {
        self.objects.contains(&object)
    }

    /// The first act of a thread after that time.
    pub(super) fn next(&self, thread: u32, time: i64) -> Option<i64> {
        let acts = self.times.get(&thread)?;
        acts.get(acts.partition_point(|act| *act <= time)).copied()
    }
}
