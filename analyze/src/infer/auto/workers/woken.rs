//! Follows recorded wake-up edges between goroutines from a call to the goroutine that is bound to
//! a request, which received it and will answer it.
//!
//! - *Forwards*: a goroutine that works for another one wakes the other one when the work is done.
//!   That also holds for a worker that is always busy and is never woken.
//! - *Backwards*: a goroutine that works for another one was woken or started by the other one,
//!   unless it was busy. If it has made another call since it was woken, it may have been woken for
//!   that other call. But if it was only started and never woken, all that it does is for its
//!   starter.
//!
//! Each call is followed from its beginning and from its end. Its request is the one that most
//! hand-offs lead to, if that request was open all the time; duplicate edges count once. A wake-up
//! may only have released a lock, so a single wake-up may lead to an unrelated request; the first
//! wake-up after the response least often does. If no request has a majority, the call is
//! ambiguous.
//!
//! Workers that make calls themselves, one after the other, wake others for two reasons ([`busy`]).
//! Some goroutines serve connections with several concurrent calls ([`shared`]), some answer
//! requests that others receive ([`answering`]), and some were started for a request that others
//! receive and answer ([`started`]).

mod answering;
mod busy;
mod shared;
mod started;
mod ways;

use rustc_hash::{FxHashMap, FxHashSet};

use super::in_order::{self, TimedIds};
use super::run::AttributedCall;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{MadeCallId, NodeSpan, OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{CONTRADICTED_SHARE, MIN_FOLLOWED};
use busy::WorkerCall;
use ways::{RequestClaim, WakeUpGraph, count_between};

/// The object of hand-offs to goroutines that were waiting.
pub(super) const GOROUTINE: i64 = 0;
/// The object of hand-offs to goroutines that were started.
const STARTED: i64 = 1;

/// The requests of the calls of goroutines that are not bound to a request. `None` if this is not a
/// service of goroutines, or if few calls lead to a request.
pub(super) fn find_woken_calls(
    service: &Service,
    hand_offs: &[ServiceHandoff],
) -> Option<Vec<AttributedCall>> {
    let graph = WakeUpGraph::from_handoffs(service, hand_offs)?;
    let busy = graph.calls_of_workers(service);
    let of = |call: MadeCallId| busy.get(&call).copied().or_else(|| graph.request(service, call));
    let found: Vec<AttributedCall> = service.call_ids().filter_map(of).collect();
    let is_rule = found.len() as f64 >= MIN_FOLLOWED * service.calls.len() as f64;
    is_rule.then_some(found)
}

/// The hand-offs between threads; empty if they are between goroutines.
pub(super) fn thread_handoffs(hand_offs: &[ServiceHandoff]) -> &[ServiceHandoff] {
    if hand_offs.iter().any(is_of_goroutines) { &[] } else { hand_offs }
}

/// Returns whether a hand-off is between goroutines, or other tasks of a runtime.
fn is_of_goroutines(hand_off: &ServiceHandoff) -> bool {
    [GOROUTINE, STARTED].contains(&hand_off.object)
}

impl WakeUpGraph {
    /// The graph of the hand-offs between goroutines; `None` if there are none.
    fn from_handoffs(service: &Service, hand_offs: &[ServiceHandoff]) -> Option<WakeUpGraph> {
        let mut graph = WakeUpGraph {
            bound: FxHashMap::default(),
            from: FxHashMap::default(),
            to: FxHashMap::default(),
            only_started: FxHashSet::default(),
            made: FxHashMap::default(),
            received: FxHashMap::default(),
            shared: shared::threads(service),
            waited: FxHashMap::default(),
            unknown: FxHashSet::default(),
        };
        let mut starts: FxHashMap<u32, TimedIds> = FxHashMap::default();
        for hand_off in hand_offs.iter().filter(|hand_off| is_of_goroutines(hand_off)) {
            let ServiceHandoff { signalled, woken, from, to, object } = *hand_off;
            let of = if object == STARTED { &mut starts } else { &mut graph.from };
            of.entry(from).or_default().push((signalled, to));
            let edges = graph.to.entry(to).or_default();
            edges.push((woken, from));
            if object == STARTED && edges.len() == 1 {
                graph.only_started.insert(to);
            } else {
                graph.only_started.remove(&to);
            }
        }
        if graph.to.is_empty() {
            return None;
        }
        let receivers = shared::receivers(service);
        for (request, (span, [receiver, answerer])) in
            RequestId::ids().zip(service.requests.iter().zip(&service.request_threads))
        {
            let is_own = receiver == answerer && !receivers.contains(receiver);
            if is_own && span.end != OPEN && *receiver != UNKNOWN_THREAD {
                let interval = (span.begin, span.end, request);
                graph.bound.entry(*receiver).or_default().push(interval);
            }
        }
        for (span, [caller, receiver]) in service.calls.iter().zip(&service.call_threads) {
            graph.made.entry(*caller).or_default().push(span.begin);
            graph.received.entry(*receiver).or_default().push(span.end);
        }
        let all = graph.from.values_mut().chain(graph.to.values_mut());
        all.chain(starts.values_mut()).for_each(|times| times.sort_unstable());
        let all = graph.made.values_mut().chain(graph.received.values_mut());
        all.for_each(|times| times.sort_unstable());
        let started::StartedGoroutines { found, unknown, serving } =
            started::from_starts(service, &starts, &graph.from, &receivers);
        graph.unknown = unknown;
        let answering = answering::from_answers(service, &graph.to, &graph.only_started);
        let answerers: FxHashSet<u32> = answering.iter().map(|(thread, _)| *thread).collect();
        let others = found.into_iter().filter(|(thread, _)| !answerers.contains(thread));
        for (thread, request) in answering.iter().copied().chain(others) {
            let span = service.requests[request.index()];
            graph.bound.entry(thread).or_default().push((span.begin, span.end, request));
            graph.unknown.remove(&thread);
        }
        graph.bound.values_mut().for_each(|intervals| intervals.sort_unstable());
        graph.waited = graph.woken_by_responses(service, &serving);
        Some(graph)
    }

    /// The goroutine that was woken by each response that the reader of a shared connection
    /// received, with the time of the wake-up. `serving` are goroutines that read or write for
    /// others.
    fn woken_by_responses(
        &self,
        service: &Service,
        serving: &FxHashSet<u32>,
    ) -> FxHashMap<MadeCallId, (i64, u32)> {
        let may_wait = |thread: u32, time: i64, call: MadeCallId| {
            let call = service.calls[call.index()];
            self.woken_request(thread, time).is_none_or(|request| {
                let request = service.requests[request.index()];
                request.begin <= call.begin && request.end >= call.end
            })
        };
        let waiters = |woken: &[(i64, u32)]| -> TimedIds {
            let mut led = FxHashSet::default();
            let mut waits = |(time, thread): &(i64, u32)| {
                if self.shared.contains(thread) || serving.contains(thread) {
                    return false;
                }
                // The goroutine that is bound to the request continues with the rest of a response
                // after another one received its beginning.
                if let Some(request) = self.bound_request(*thread, *time) {
                    return !led.contains(&request);
                }
                let request = self.follow_forwards(*thread, *time).map(|claim| claim.request);
                led.extend(request);
                // A goroutine that wakes no other one has waited to send.
                request.is_some() || self.unknown.contains(thread)
            };
            woken.iter().copied().filter(|act| waits(act)).collect()
        };
        shared::woken_by_response(service, &self.from, &self.shared, waiters, may_wait)
    }

    /// The requests of the calls of workers: goroutines that are bound to no request and serve no
    /// connections.
    fn calls_of_workers(&self, service: &Service) -> FxHashMap<MadeCallId, AttributedCall> {
        let mut of: FxHashMap<u32, Vec<MadeCallId>> = FxHashMap::default();
        for (call, [caller, receiver]) in MadeCallId::ids().zip(&service.call_threads) {
            let is_special = [&self.shared, &self.unknown].iter().any(|of| of.contains(caller));
            let is_worker = !is_special && !self.bound.contains_key(caller);
            if caller == receiver && is_worker && self.from.contains_key(caller) {
                of.entry(*caller).or_default().push(call);
            }
        }
        let span = |call: MadeCallId| service.calls[call.index()];
        let is_open = |request: RequestId, call: MadeCallId| {
            let of = service.requests[request.index()];
            of.begin <= span(call).begin && of.end >= span(call).end
        };
        let mut found = FxHashMap::default();
        for (worker, mut calls) in of {
            calls.sort_unstable_by_key(|call| span(*call).begin);
            let ends = calls.windows(2).all(|two| span(two[0]).end < span(two[1]).begin);
            let are_known =
                calls.iter().all(|call| span(*call).end != OPEN && !service.is_unsure(*call));
            if !ends || !are_known {
                continue;
            }
            let next = self.from.get(&worker).map_or(&[][..], Vec::as_slice);
            let led = |first: i64, until: i64| -> Vec<RequestId> {
                let hand_offs = in_order::times_within(next, first, until);
                hand_offs.iter().filter_map(|(time, to)| self.woken_request(*to, *time)).collect()
            };
            let mut since = i64::MIN;
            let steps = calls.iter().map(|call| {
                let NodeSpan { begin, end, .. } = span(*call);
                let claimed = self.follow_backwards(worker, begin).map(|claim| claim.request);
                let step = WorkerCall {
                    call: *call,
                    since: led(since, begin),
                    claimed: claimed.into_iter().chain(led(begin, end)).collect(),
                };
                since = end;
                step
            });
            let steps: Vec<WorkerCall> = steps.collect();
            let of_worker = busy::requests(&steps, &led(since, i64::MAX), is_open);
            found.extend(of_worker.into_iter().map(|found| (found.call, found)));
        }
        found
    }

    /// The request of a call, by following wake-up edges; `None` if they lead to none.
    fn request(&self, service: &Service, call: MadeCallId) -> Option<AttributedCall> {
        let span = service.calls[call.index()];
        let [caller, receiver] = *service.call_threads.get(call.index())?;
        let is_answered = span.end != OPEN && !service.is_unsure(call);
        let until = if is_answered { span.end } else { span.begin };
        // Whether the request was open all the time.
        let open = |request: &RequestId| {
            let of = service.requests[request.index()];
            of.begin <= span.begin && of.end >= until
        };
        if let Some(request) = self.bound_request(caller, span.begin).filter(open) {
            return Some(AttributedCall { call, request, rival: None, is_recorded: false });
        }
        let after_end = || match self.bound_request(receiver, span.end) {
            Some(request) => Some(RequestClaim { request, by: None }),
            None if self.shared.contains(&receiver) => self.waiting_request(call),
            None => self.follow_forwards(receiver, span.end),
        };
        // Messages that are read or written together are a nanosecond apart.
        let is_alone = |times: &FxHashMap<u32, Vec<i64>>, thread: u32, time: i64| {
            times.get(&thread).is_none_or(|times| {
                count_between(times, time.saturating_sub(1), time.saturating_add(1)) < 2
            })
        };
        let begins = !self.shared.contains(&caller) && is_alone(&self.made, caller, span.begin);
        let ends = self.shared.contains(&receiver) || is_alone(&self.received, receiver, span.end);
        let claims = [
            (is_answered && ends).then(after_end).flatten(),
            begins.then(|| self.follow_forwards(caller, span.begin)).flatten(),
            begins.then(|| self.follow_backwards(caller, span.begin)).flatten(),
        ];
        let mut claims: Vec<RequestClaim> = claims.into_iter().flatten().collect();
        if claims.len() > 1 && claims[0] == claims[1] {
            // Between beginning and end no goroutine was woken, so it is the same hand-off.
            claims.remove(1);
        }
        let is_only = claims.len() == 1;
        claims.retain(|claim| open(&claim.request));
        let votes =
            |request: RequestId| claims.iter().filter(|claim| claim.request == request).count();
        // On a tie, the request of the first claim.
        let request = claims.iter().rev().max_by_key(|claim| votes(claim.request))?.request;
        let others = claims.iter().map(|claim| claim.request).filter(|other| *other != request);
        let rival = others.rev().max_by_key(|other| votes(*other));
        let rival = rival.filter(|other| votes(*other) == votes(request));
        let rival = rival.map(|other| (other, CONTRADICTED_SHARE));
        let is_recorded = rival.is_none() && (is_only || votes(request) > 1);
        Some(AttributedCall { call, request, rival, is_recorded })
    }
}

#[cfg(test)]
mod tests;
