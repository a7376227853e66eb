//! Shared connections: goroutines that serve connections with several concurrent calls, as for
//! HTTP/2. One goroutine sends for all callers, and another one receives all responses. The
//! wake-ups of the sender, and the next wake-up by the receiver, are no evidence about a single
//! call. But a receiver of responses wakes the goroutines that wait for them in the order of the
//! responses, before it reads more ([`in_order`](super::super::in_order)).

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::in_order::{ReaderBehaviour, TimedIds, pairs, times_within};
use crate::infer::auto::service::{MadeCallId, OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::MAX_EXCEPTIONS;

/// The threads that send calls, or receive responses, on connections with other open calls.
pub(super) fn threads(service: &Service) -> FxHashSet<u32> {
    let mut counts: FxHashMap<u32, [usize; 2]> = FxHashMap::default();
    for (call, threads) in MadeCallId::ids().zip(&service.call_threads) {
        let before = service.previous_call(call);
        let is_open = before.is_some_and(|before| {
            let [ended, own] = [before, call].map(|call| service.calls[call.index()]);
            !service.is_unsure(before) && ended.end != OPEN && ended.end > own.begin
        });
        for thread in threads {
            let [open, all] = counts.entry(*thread).or_default();
            (*open, *all) = (*open + usize::from(is_open), *all + 1);
        }
    }
    counts.remove(&UNKNOWN_THREAD);
    let is_shared = |[open, all]: [usize; 2]| open as f64 > MAX_EXCEPTIONS * all as f64;
    counts.retain(|_, counts| is_shared(*counts));
    counts.into_keys().collect()
}

/// The threads that receive and answer several concurrent requests, such as Tokio tasks with an
/// HTTP/2 connection. They are bound to none of these requests.
pub(super) fn receivers(service: &Service) -> FxHashSet<u32> {
    let mut received: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
    for (span, [receiver, answerer]) in service.requests.iter().zip(&service.request_threads) {
        if receiver == answerer && *receiver != UNKNOWN_THREAD && span.end != OPEN {
            received.entry(*receiver).or_default().push((span.begin, span.end));
        }
    }
    received.retain(|_, spans| {
        spans.sort_unstable();
        let mut latest = i64::MIN;
        let is_open = |(begin, end): &(i64, i64)| {
            let is_open = *begin < latest;
            latest = latest.max(*end);
            is_open
        };
        let open = spans.iter().map(is_open).filter(|is_open| *is_open).count();
        open as f64 > MAX_EXCEPTIONS * spans.len() as f64
    });
    received.into_keys().collect()
}

/// The goroutine that the response of each call woke, and the time of the wake-up, by the order of
/// the responses that `shared` threads read. `woken` are the threads that each thread woke.
/// `waiters` selects the threads that may wait for responses at all, and `may_wait` states whether
/// a thread may be waiting for the response of a call at a time.
pub(super) fn woken_by_response(
    service: &Service,
    woken: &FxHashMap<u32, TimedIds>,
    shared: &FxHashSet<u32>,
    waiters: impl Fn(&[(i64, u32)]) -> TimedIds,
    may_wait: impl Fn(u32, i64, MadeCallId) -> bool,
) -> FxHashMap<MadeCallId, (i64, u32)> {
    let mut responses: FxHashMap<u32, TimedIds<MadeCallId>> = FxHashMap::default();
    for (call, (span, [_, receiver])) in
        MadeCallId::ids().zip(service.calls.iter().zip(&service.call_threads))
    {
        if span.end != OPEN && shared.contains(receiver) {
            responses.entry(*receiver).or_default().push((span.end, call));
        }
    }
    let begin = |call: MadeCallId| service.calls[call.index()].begin;
    let mut waited = FxHashMap::default();
    for (receiver, mut responses) in responses {
        responses.sort_unstable();
        let Some(woken) = woken.get(&receiver) else { continue };
        // The previous wake-up of the same goroutine by the reader, if any.
        let mut last: FxHashMap<u32, i64> = FxHashMap::default();
        let mut before: FxHashMap<(i64, u32), i64> = FxHashMap::default();
        for (time, to) in woken {
            before.insert((*time, *to), last.insert(*to, *time).unwrap_or(i64::MIN));
        }
        let before = |act: (i64, u32)| before.get(&act).copied().unwrap_or(i64::MIN);
        let woken_in = |first: i64, until: i64| {
            let from = responses.partition_point(|(time, _)| *time < first).saturating_sub(1);
            let responses = responses.iter().skip(from).take_while(|(time, _)| *time < until);
            let latest = responses.map(|(_, call)| begin(*call)).max().unwrap_or(i64::MIN);
            let mut woken = waiters(times_within(woken, first, until));
            // The sender is woken, too, and waits for no response. A goroutine that was woken by
            // the beginning of a response may be woken again by its end.
            woken.retain(|act| before(*act) < latest);
            woken
        };
        let fits = |call: MadeCallId, act: (i64, u32)| {
            before(act) < begin(call) && may_wait(act.1, act.0, call)
        };
        waited.extend(pairs(ReaderBehaviour::ActsOnAll, &responses, woken_in, fits));
    }
    waited
}
