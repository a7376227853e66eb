//! Evidence of hand-offs about requests: which requests were handed over, and which worker did the
//! work for a request that another thread answers.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service, UNKNOWN_THREAD};

/// The requests of `service` that were handed over: the receiving thread signalled an object of a
/// queue between the receipt of the request and its next receipt. A queue is an object with which a
/// receiving thread ever woke a thread that makes calls.
pub(super) fn handed_over_requests(
    service: &Service,
    hand_offs: &[ServiceHandoff],
) -> FxHashSet<RequestId> {
    let receivers: FxHashSet<u32> =
        service.request_threads.iter().map(|[receiver, _]| *receiver).collect();
    let callers: FxHashSet<u32> = service.call_threads.iter().map(|[caller, _]| *caller).collect();
    let is_over = |hand_off: &&ServiceHandoff| receivers.contains(&hand_off.from);
    let to_worker = |hand_off: &&ServiceHandoff| {
        hand_off.to != UNKNOWN_THREAD
            && callers.contains(&hand_off.to)
            && !receivers.contains(&hand_off.to)
    };
    let over = || hand_offs.iter().filter(is_over);
    let queues: FxHashSet<i64> = over().filter(to_worker).map(|hand_off| hand_off.object).collect();
    let mut given: Vec<(u32, i64)> = over()
        .filter(|hand_off| queues.contains(&hand_off.object))
        .map(|hand_off| (hand_off.from, hand_off.signalled))
        .collect();
    given.sort_unstable();
    let mut received: Vec<(u32, i64, RequestId)> = RequestId::ids()
        .zip(service.requests.iter().zip(&service.request_threads))
        .map(|(request, (span, [receiver, _]))| (*receiver, span.begin, request))
        .collect();
    received.sort_unstable();
    let mut known = FxHashSet::default();
    for (at, (thread, time, request)) in received.iter().enumerate() {
        let next = received.get(at + 1).filter(|(of, ..)| of == thread);
        let until = next.map_or(i64::MAX, |(_, time, _)| *time);
        let first = given.get(given.partition_point(|given| *given < (*thread, *time)));
        if first.is_some_and(|(of, signalled)| of == thread && *signalled < until) {
            known.insert(*request);
        }
    }
    known
}

/// A hand-off that seems to show which request a worker did: it woke a thread, and that thread
/// answered the request next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandoffWitness {
    /// The worker.
    pub(super) thread: u32,
    /// Time of the signal, in nanoseconds.
    pub(super) signalled: i64,
    pub(super) request: RequestId,
    pub(super) object: i64,
}

/// Witnesses from the hand-offs of calling threads to answering threads.
pub(super) fn witnesses(service: &Service, hand_offs: &[ServiceHandoff]) -> Vec<HandoffWitness> {
    let callers: FxHashSet<u32> = service.call_threads.iter().map(|[caller, _]| *caller).collect();
    let mut answers: Vec<(u32, i64, RequestId)> = RequestId::ids()
        .zip(service.requests.iter().zip(&service.request_threads))
        .filter(|(_, (span, _))| span.end != OPEN)
        .map(|(request, (span, [_, answerer]))| (*answerer, span.end, request))
        .collect();
    answers.sort_unstable();
    let by_callers = || hand_offs.iter().filter(|hand_off| callers.contains(&hand_off.from));
    let under_way = PendingHandoffs::from_handoffs(service, by_callers());
    let mut witnesses: Vec<HandoffWitness> = Vec::new();
    for hand_off in by_callers().filter(|hand_off| !under_way.has_other(hand_off)) {
        let next =
            answers.partition_point(|(of, end, _)| (*of, *end) < (hand_off.to, hand_off.woken));
        let next = answers.get(next).filter(|(of, ..)| *of == hand_off.to);
        witnesses.extend(next.map(|(.., request)| HandoffWitness {
            thread: hand_off.from,
            signalled: hand_off.signalled,
            request: *request,
            object: hand_off.object,
        }));
    }
    witnesses
}

/// Pending hand-overs by object: from the end of the last call of a worker, or its previous signal,
/// to its signal. The item is in the queue at some time in between, so a thread that is woken by
/// another one meanwhile may take it first.
struct PendingHandoffs {
    /// Times at which hand-overs at an object begin, and at which they end, in nanoseconds, both in
    /// order.
    by_object: FxHashMap<i64, [Vec<i64>; 2]>,
}

impl PendingHandoffs {
    fn from_handoffs<'a>(
        service: &Service,
        hand_offs: impl Iterator<Item = &'a ServiceHandoff>,
    ) -> PendingHandoffs {
        let mut ended: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
        for (call, span) in
            MadeCallId::ids().zip(&service.calls).filter(|(_, span)| span.end != OPEN)
        {
            ended.entry(service.calling_thread(call)).or_default().push(span.end);
        }
        ended.values_mut().for_each(|ends| ends.sort_unstable());
        let mut signals: Vec<(i64, u32, i64)> =
            hand_offs.map(|of| (of.object, of.from, of.signalled)).collect();
        signals.sort_unstable();
        // One signal may wake several threads.
        signals.dedup();
        let mut of: FxHashMap<i64, [Vec<i64>; 2]> = FxHashMap::default();
        let mut before = None;
        for (object, thread, signalled) in signals {
            let last = ended.get(&thread).and_then(|ends| {
                ends.get(ends.partition_point(|end| *end <= signalled).checked_sub(1)?)
            });
            let same = before.filter(|(of, by, _)| (*of, *by) == (object, thread));
            let begin = last.copied().max(same.map(|(.., signalled)| signalled));
            let [begins, ends] = of.entry(object).or_default();
            begins.push(begin.unwrap_or(signalled));
            ends.push(signalled);
            before = Some((object, thread, signalled));
        }
        of.values_mut().flatten().for_each(|times| times.sort_unstable());
        PendingHandoffs { by_object: of }
    }

    /// Returns whether another hand-over at the same object was pending at the signal.
    fn has_other(&self, ServiceHandoff { object, signalled, .. }: &ServiceHandoff) -> bool {
        self.by_object.get(object).is_some_and(|[begins, ends]| {
            let begun = begins.partition_point(|begin| begin <= signalled);
            begun > ends.partition_point(|end| end <= signalled)
        })
    }
}
