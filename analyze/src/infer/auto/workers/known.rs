//! What hand-offs show of requests: that they were handed over, and which worker did one that
//! another thread answers.

use rustc_hash::FxHashSet;

use crate::infer::auto::hand_offs::HandOff;
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};

/// The requests of `service` after whose receipt the thread that received them signalled an object
/// of a queue before it received the next one. A queue is what such a thread ever woke one with
/// that makes calls.
pub(super) fn given(service: &Service, hand_offs: &[HandOff]) -> FxHashSet<u32> {
    let receivers: FxHashSet<u32> =
        service.request_threads.iter().map(|[receiver, _]| *receiver).collect();
    let callers: FxHashSet<u32> = service.call_threads.iter().map(|[caller, _]| *caller).collect();
    let is_over = |hand_off: &&HandOff| receivers.contains(&hand_off.from);
    let to_worker = |hand_off: &&HandOff| {
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
    let mut received: Vec<(u32, i64, u32)> = (0..)
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

/// A hand-off that seems to show which request a worker did: it woke a thread, and what that one
/// answered next was the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Witness {
    /// The worker.
    pub(super) thread: u32,
    pub(super) signalled: i64,
    pub(super) request: u32,
    pub(super) object: i64,
}

/// What hand-offs from threads that make calls to those that answer requests show.
pub(super) fn witnesses(service: &Service, hand_offs: &[HandOff]) -> Vec<Witness> {
    let callers: FxHashSet<u32> = service.call_threads.iter().map(|[caller, _]| *caller).collect();
    let mut answers: Vec<(u32, i64, u32)> = (0..)
        .zip(service.requests.iter().zip(&service.request_threads))
        .filter(|(_, (span, _))| span.end != OPEN)
        .map(|(request, (span, [_, answerer]))| (*answerer, span.end, request))
        .collect();
    answers.sort_unstable();
    let mut witnesses: Vec<Witness> = Vec::new();
    for hand_off in hand_offs.iter().filter(|hand_off| callers.contains(&hand_off.from)) {
        let next =
            answers.partition_point(|(of, end, _)| (*of, *end) < (hand_off.to, hand_off.woken));
        let next = answers.get(next).filter(|(of, ..)| *of == hand_off.to);
        witnesses.extend(next.map(|(.., request)| Witness {
            thread: hand_off.from,
            signalled: hand_off.signalled,
            request: *request,
            object: hand_off.object,
        }));
    }
    witnesses
}
