//! Threads that responses resume. The thread that reads a response (the reader) wakes the thread
//! that waits for it, before it reads anything else. The reader may wake other threads, too, such
//! as one that is to read in its place. But a thread that is woken to read continues to wait for
//! its own response, so it is woken again before it acts. Hence the last wake-up of a thread before
//! it acts comes from the reader of its response, and the response belongs to the last read before
//! that wake-up. A thread that reads for all may also read its own response.

use rustc_hash::FxHashMap;

use super::acts::ThreadActs;
use super::threads::ThreadBindings;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::infer::auto::workers::in_order::{TimedIds, align_acts, times_within};

/// The request whose thread was woken by the response of each call; `None` if that is not known.
pub(super) fn woken_requests(
    service: &Service,
    threads: &ThreadBindings,
    acts: &ThreadActs,
    hand_offs: &[ServiceHandoff],
) -> Vec<Option<RequestId>> {
    let reads = reads(service);
    let woken = woken_threads(service, threads, acts, hand_offs);
    let bound_meanwhile = |thread: u32, call: MadeCallId| {
        let span = service.calls[call.index()];
        let request = threads.bound_request(thread, span.end)?;
        let is_open = service.requests[request.index()].begin <= span.begin;
        (is_open && acts.waits_since(thread, service, call).is_some()).then_some(request)
    };
    let fits = |call: MadeCallId, (_, thread): (i64, u32)| bound_meanwhile(thread, call).is_some();
    let mut requests = vec![None; service.calls.len()];
    for (reader, read) in reads {
        let Some(woken) = woken.get(&reader) else { continue };
        let mut end = 0;
        // Messages of one system call are a nanosecond apart.
        for items in read.chunk_by(|one, next| next.0.saturating_sub(one.0) <= 1) {
            end += items.len();
            let since = items.first().map_or(i64::MIN, |(time, _)| *time);
            let until = read.get(end).map_or(i64::MAX, |(time, _)| *time);
            for (call, (_, thread)) in align_acts(items, times_within(woken, since, until), fits) {
                requests[call.index()] = bound_meanwhile(thread, call);
            }
        }
    }
    requests
}

/// The calls with responses that each thread read, in order.
fn reads(service: &Service) -> FxHashMap<u32, TimedIds<MadeCallId>> {
    let mut reads: FxHashMap<u32, TimedIds<MadeCallId>> = FxHashMap::default();
    for (call, (span, [_, receiver])) in
        MadeCallId::ids().zip(service.calls.iter().zip(&service.call_threads))
    {
        if span.end != OPEN && *receiver != UNKNOWN_THREAD && !service.is_unsure(call) {
            reads.entry(*receiver).or_default().push((span.end, call));
        }
    }
    reads.values_mut().for_each(|read| read.sort_unstable());
    reads
}

/// The threads that each thread woke before they acted, in order.
fn woken_threads(
    service: &Service,
    threads: &ThreadBindings,
    acts: &ThreadActs,
    hand_offs: &[ServiceHandoff],
) -> FxHashMap<u32, TimedIds> {
    // Times at which each bound thread was woken, and the threads that woke it.
    let mut wakes: FxHashMap<u32, TimedIds> =
        threads.all_threads().map(|thread| (thread, TimedIds::new())).collect();
    let mut add_wake_up = |thread: u32, time: i64, by: u32| {
        wakes.get_mut(&thread).into_iter().for_each(|wakes| wakes.push((time, by)));
    };
    for hand_off in hand_offs.iter().filter(|hand_off| !acts.are_signals_of(hand_off.object)) {
        add_wake_up(hand_off.to, hand_off.signalled, hand_off.from);
    }
    for (span, [_, receiver]) in service.calls.iter().zip(&service.call_threads) {
        if span.end != OPEN {
            add_wake_up(*receiver, span.end, *receiver);
        }
    }
    let mut woken: FxHashMap<u32, TimedIds> = FxHashMap::default();
    for (thread, mut wakes) in wakes {
        wakes.sort_unstable();
        for (at, (time, by)) in wakes.iter().enumerate() {
            let next = wakes.get(at + 1).map_or(i64::MAX, |(time, _)| *time);
            if acts.next(thread, *time).is_some_and(|act| act < next) {
                woken.entry(*by).or_default().push((*time, thread));
            }
        }
    }
    woken.values_mut().for_each(|woken| woken.sort_unstable());
    woken
}
