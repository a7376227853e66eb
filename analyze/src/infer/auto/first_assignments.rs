//! Initial assignments of restarts, each by one simple rule.

use rustc_hash::FxHashMap;

use super::events::ServiceEvent;
use super::service::{MadeCallId, RequestId, Service, UNKNOWN_THREAD};
use super::thread_time;
use crate::tuning::auto::learning::beginnings::MIN_SOLO;

/// Rule that selects the initial request of a call among the open requests that cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitialRule {
    /// The request that was received first.
    Oldest,
    /// The request that was received last.
    Newest,
    /// The request that is answered next.
    EndsFirst,
    /// The request that is answered last.
    EndsLast,
    /// The request with the fewest calls of that kind so far, and among these the one that is
    /// answered first, with calls in the order of their ends: responses are forwarded FIFO.
    Delegated,
    /// The request for which the calling thread acted last.
    Thread,
    /// The request with the fewest calls of that kind so far.
    Fewest,
    /// The request with the fewest calls of any kind so far, and among these the one that was
    /// received first: a FIFO queue.
    Fifo,
    /// The request that was answered last, for kinds of calls that are seen after responses.
    Answered,
    /// The request that was received first, but the first model is learned only from requests that
    /// shared the service with the fewest others.
    Solo,
    /// The request that was woken first, by its receipt or by responses, and has not acted since.
    Woken,
    /// No rule: delays are taken from the lags by which events follow each other more often than by
    /// chance.
    Correlated,
}

impl InitialRule {
    pub(super) const ALL: [InitialRule; 12] = [
        InitialRule::Woken,
        InitialRule::Solo,
        InitialRule::Correlated,
        InitialRule::Thread,
        InitialRule::Fewest,
        InitialRule::Fifo,
        InitialRule::Answered,
        InitialRule::Oldest,
        InitialRule::Newest,
        InitialRule::EndsFirst,
        InitialRule::EndsLast,
        InitialRule::Delegated,
    ];

    /// Returns whether the data that the rule needs is known for the service.
    pub(super) fn is_known(self, service: &Service) -> bool {
        match self {
            InitialRule::Thread => !service.call_threads.is_empty(),
            InitialRule::Answered => !service.after_answer.is_empty(),
            InitialRule::Woken => service.has_thread_time(),
            _ => true,
        }
    }
}

/// Assigns the calls by a rule.
pub(super) fn assign_by_rule(
    service: &Service,
    events: &[(i64, ServiceEvent)],
    choice: InitialRule,
) -> Vec<Option<RequestId>> {
    if choice == InitialRule::Delegated {
        return delegated_requests(service);
    }
    let mut request_of_call = vec![None; service.calls.len()];
    let mut open: Vec<RequestId> = Vec::new();
    let mut made: Vec<Vec<MadeCallId>> = vec![Vec::new(); service.requests.len()];
    let mut counts: FxHashMap<(RequestId, u32), u32> = FxHashMap::default();
    let mut totals: FxHashMap<RequestId, u32> = FxHashMap::default();
    // The request for which each thread acted last.
    let mut did_last: FxHashMap<u32, Option<RequestId>> = FxHashMap::default();
    let known = |by: &[u32; 2]| Some(by[0]).filter(|thread| *thread != UNKNOWN_THREAD);
    let thread_of_call = |call: MadeCallId| service.call_threads.get(call.index()).and_then(known);
    for (time, event) in events {
        match event {
            ServiceEvent::Receipt(request) => {
                open.push(*request);
                let thread = service.request_threads.get(request.index()).and_then(known);
                did_last.extend(thread.map(|thread| (thread, Some(*request))));
            }
            ServiceEvent::Answer(_) => {}
            ServiceEvent::Reply(request) => open.retain(|open| open != request),
            ServiceEvent::Call(call) => {
                let kind = service.calls[call.index()].kind;
                let bound = service.bound_request(*call).filter(|bound| open.contains(bound));
                let covering = open
                    .iter()
                    .filter(|request| service.covers(**request, *call))
                    .filter(|request| bound.is_none_or(|bound| **request == bound));
                let count =
                    |request: &&RequestId| counts.get(&(**request, kind)).copied().unwrap_or(0);
                let end = |request: &&RequestId| service.requests[request.index()].end;
                let unanswered = |request: &&RequestId| {
                    service.requests[request.index()].end >= service.calls[call.index()].begin
                };
                let answered = open
                    .iter()
                    .rfind(|request| !unanswered(request) && service.covers(**request, *call));
                let is_afterwards =
                    answered.is_some() && service.after_answer.binary_search(&kind).is_ok();
                let mut covering = covering.filter(|request| unanswered(request));
                let chosen = match choice {
                    InitialRule::Answered if is_afterwards => answered,
                    InitialRule::Answered => covering.min_by_key(count),
                    InitialRule::Oldest | InitialRule::Solo | InitialRule::Correlated => {
                        covering.next()
                    }
                    InitialRule::Newest => covering.next_back(),
                    InitialRule::Fewest => covering.min_by_key(count),
                    InitialRule::Woken => covering.min_by_key(|request| {
                        let made = made.get(request.index()).map_or(&[][..], Vec::as_slice);
                        thread_time::fifo_rank(service, **request, made, *time)
                    }),
                    InitialRule::Fifo => {
                        covering.min_by_key(|request| totals.get(*request).copied().unwrap_or(0))
                    }
                    InitialRule::Thread => {
                        let last = thread_of_call(*call)
                            .and_then(|thread| did_last.get(&thread).copied().flatten());
                        covering
                            .clone()
                            .find(|request| Some(**request) == last)
                            .or_else(|| covering.min_by_key(count))
                    }
                    InitialRule::EndsFirst | InitialRule::Delegated => covering.min_by_key(end),
                    InitialRule::EndsLast => covering.max_by_key(end),
                };
                let chosen = chosen.or(answered).or(open.last()).copied();
                did_last.extend(thread_of_call(*call).map(|thread| (thread, chosen)));
                if let Some(chosen) = chosen {
                    *counts.entry((chosen, kind)).or_default() += 1;
                    *totals.entry(chosen).or_default() += 1;
                    made[chosen.index()].push(*call);
                }
                request_of_call[call.index()] = chosen;
            }
        }
    }
    request_of_call
}

/// The assignment by [`InitialRule::Delegated`]. With calls in the order of their beginnings, a
/// request that is skipped at its call is never compensated for: each later request gets the call
/// of the next one. With calls in the order of their ends, at most the responses in between are
/// exchanged.
fn delegated_requests(service: &Service) -> Vec<Option<RequestId>> {
    let mut request_of_call = vec![None; service.calls.len()];
    let mut counts: FxHashMap<(RequestId, u32), u32> = FxHashMap::default();
    let mut order: Vec<MadeCallId> = service.call_ids().collect();
    order.sort_by_key(|call| service.calls[call.index()].end);
    // Times at which all requests up to each one are closed.
    let closed = service.request_ids().scan(i64::MIN, |latest, request| {
        *latest = service.closed_at(request).max(*latest);
        Some(*latest)
    });
    let closed: Vec<i64> = closed.collect();
    for call in order {
        let span = service.calls[call.index()];
        let begun = service.requests.partition_point(|request| request.begin <= span.begin);
        let oldest = closed.partition_point(|closed| *closed < span.begin);
        let is_open = |request: &RequestId| service.closed_at(*request) >= span.begin;
        let bound = service.bound_request(call);
        let bound = bound.filter(|bound| bound.index() < begun && is_open(bound));
        let covering = (oldest..begun).map(RequestId::from_index).filter(|request| {
            service.requests[request.index()].end >= span.begin
                && service.covers(*request, call)
                && bound.is_none_or(|bound| *request == bound)
        });
        let key = |request: &RequestId| {
            let count = counts.get(&(*request, span.kind)).copied().unwrap_or(0);
            (count, service.requests[request.index()].end)
        };
        let last = || begun.checked_sub(1).map(RequestId::from_index).filter(is_open);
        if let Some(chosen) = covering.min_by_key(key).or_else(last) {
            *counts.entry((chosen, span.kind)).or_default() += 1;
            request_of_call[call.index()] = Some(chosen);
        }
    }
    request_of_call
}

/// Returns for each request whether it shared the service with the fewest others: mostly requests
/// that were open alone.
pub(super) fn solo_requests(service: &Service, events: &[(i64, ServiceEvent)]) -> Vec<bool> {
    let mut most = vec![0u32; service.requests.len()];
    let mut open: Vec<RequestId> = Vec::new();
    for (_, event) in events {
        match event {
            ServiceEvent::Receipt(request) => {
                open.push(*request);
                let others = open.len() as u32 - 1;
                for request in &open {
                    let most = &mut most[request.index()];
                    *most = others.max(*most);
                }
            }
            ServiceEvent::Reply(request) => open.retain(|open| open != request),
            ServiceEvent::Call(_) | ServiceEvent::Answer(_) => {}
        }
    }
    let mut sorted = most.clone();
    sorted.sort_unstable();
    let bound = sorted.get(MIN_SOLO.min(sorted.len()).saturating_sub(1)).copied().unwrap_or(0);
    most.into_iter().map(|most| most <= bound).collect()
}

#[cfg(test)]
#[path = "first_assignments_tests.rs"]
mod tests;
