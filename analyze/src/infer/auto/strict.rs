//! FIFO services. The request that has waited longest to make a call of a kind makes the next one,
//! and the request that first received the response to its last call is answered next. That leaves
//! one assignment, which needs no delays. Whether it is right can be tested, too: a request is
//! answered after all its calls, and in FIFO order. If the order is not kept, responses soon
//! contradict it. So an assignment that responses never contradict needs no model.

mod counted;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::assignment::Assignment;
use super::events::calls_by_request;
use super::service::{MadeCallId, OPEN, RequestId, Service};
use crate::evidence::Evidence;
use crate::tuning::auto::search::strict::{CASES_PER_EXCEPTION, MIN_ANSWERS, PLAN_SHARE};
pub(super) use counted::CallPlans;

/// A FIFO order that was rejected: the calls that requests have, and the request that each call
/// would have in this order.
#[derive(Debug, Default)]
pub(super) struct RejectedFifo {
    pub(super) plans: CallPlans,
    pub(super) request_of_call: Vec<Option<RequestId>>,
}

/// Assigns each call by FIFO order, if that is hardly ever contradicted. `found` is the assignment
/// of the model: it shows which calls a request has. Returns the rejected order if it is
/// contradicted.
pub(super) fn commit_fifo(service: &Service, found: &mut Assignment) -> Option<RejectedFifo> {
    let is_applicable = service.is_fifo()
        && service.bound_to.is_empty()
        && !service.one_way
        && [Evidence::Turns, Evidence::Nesting].iter().all(|kind| service.evidence.contains(*kind));
    if !is_applicable {
        return None;
    }
    let plans = plans(service, &found.request_of_call);
    let events = events(service);
    let learned = FifoAssignment::from_events(service, &events, &plans, usize::MAX);
    let (kept, not_kept) = match learned {
        Some(fifo) if fifo.is_kept() => (Some(fifo), None),
        not_kept => (count_based_assignment(service, &events), not_kept),
    };
    let Some(fifo) = kept else {
        return not_kept
            .map(|FifoAssignment { request_of_call, .. }| RejectedFifo { plans, request_of_call });
    };
    let sure = fifo.share();
    for ((call, request), shares) in (0..).zip(&fifo.request_of_call).zip(&mut found.shares) {
        if request.is_none() {
            continue;
        }
        let others = shares.iter().filter(|(of, _)| of != request);
        let all: f64 = others.clone().map(|(_, share)| share).sum();
        let rest = others.map(|(of, share)| (*of, (1.0 - sure) * share / all));
        let rest: Vec<(Option<RequestId>, f64)> =
            rest.filter(|(_, share)| share.is_finite()).collect();
        let own = if rest.is_empty() { 1.0 } else { sure };
        *shares = std::iter::once((*request, own)).chain(rest).collect();
        found.request_of_call[call] = *request;
    }
    None
}

/// The only assignment in FIFO order that is hardly ever contradicted, among those that follow from
/// the frequencies of calls; `None` if there is none, or several.
fn count_based_assignment(
    service: &Service,
    events: &[(i64, FifoEvent)],
) -> Option<FifoAssignment> {
    let is_case = |event: &FifoEvent| matches!(event, FifoEvent::Call(_) | FifoEvent::Reply(_));
    let cases = events.iter().filter(|(_, event)| is_case(event)).count();
    let most = cases / CASES_PER_EXCEPTION;
    let plans = counted::plans(service);
    let tried =
        plans.iter().filter_map(|plans| FifoAssignment::from_events(service, events, plans, most));
    let mut kept = tried.filter(FifoAssignment::is_kept);
    kept.next().filter(|_| kept.next().is_none())
}

/// The kinds of the calls that requests of each kind mostly have; `request_of_call` is the request
/// of each call.
pub(super) fn plans(service: &Service, request_of_call: &[Option<RequestId>]) -> CallPlans {
    let mut seen: FxHashMap<u32, FxHashMap<Vec<u32>, usize>> = FxHashMap::default();
    for (request, made) in service.requests.iter().zip(calls_by_request(service, request_of_call)) {
        let kinds = made.iter().map(|call| service.calls[call.index()].kind).collect();
        *seen.entry(request.kind).or_default().entry(kinds).or_default() += 1;
    }
    let plan = |(kind, seen): (u32, FxHashMap<Vec<u32>, usize>)| {
        let all: usize = seen.values().sum();
        let (plan, count) =
            seen.into_iter().max_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)))?;
        (count as f64 >= PLAN_SHARE * all as f64).then_some((kind, plan))
    };
    seen.into_iter().filter_map(plan).collect()
}

/// An event, in the order that applies at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FifoEvent {
    Receipt(RequestId),
    /// The response to a call was received.
    Returned(MadeCallId),
    Call(MadeCallId),
    Reply(RequestId),
}

/// The events of the service, in the order of time.
fn events(service: &Service) -> Vec<(i64, FifoEvent)> {
    let mut events: Vec<(i64, FifoEvent)> = Vec::new();
    for (at, request) in RequestId::ids().zip(&service.requests) {
        events.push((request.begin, FifoEvent::Receipt(at)));
        events.push((request.end, FifoEvent::Reply(at)));
    }
    for (at, call) in MadeCallId::ids().zip(&service.calls) {
        events.push((call.begin, FifoEvent::Call(at)));
        events.push((call.end, FifoEvent::Returned(at)));
    }
    events.retain(|(time, _)| *time != OPEN);
    events.sort_unstable();
    events
}

/// The assignment in FIFO order.
struct FifoAssignment {
    request_of_call: Vec<Option<RequestId>>,
    /// Number of calls and responses.
    cases: usize,
    /// Number of calls and responses that contradict the assignment.
    against: usize,
    /// Number of responses that could have contradicted the assignment.
    answers: usize,
}

impl FifoAssignment {
    /// Builds the assignment; `None` if it is not known which calls a request has, or if more than
    /// `most` of the `events` contradict it.
    fn from_events(
        service: &Service,
        events: &[(i64, FifoEvent)],
        plans: &CallPlans,
        most: usize,
    ) -> Option<FifoAssignment> {
        if !service.requests.iter().all(|request| plans.contains_key(&request.kind)) {
            return None;
        }
        // A connection begins with calls that are made rarely and that no request has.
        let mut own = counted::counts(&service.calls);
        own.retain(|kind, count| {
            let is_rare = counted::is_rare(*count, service.calls.len());
            is_rare && !plans.values().any(|plan| plan.contains(kind))
        });
        let mut found = FifoAssignment {
            request_of_call: vec![None; service.calls.len()],
            cases: 0,
            against: 0,
            answers: 0,
        };
        // The requests that wait for a call of each kind or, under `None`, for the response, and
        // since when.
        let mut waiting: FxHashMap<Option<u32>, BTreeSet<(i64, RequestId)>> = FxHashMap::default();
        let mut made = vec![0_usize; service.requests.len()];
        let mut open = 0_usize;
        let waits_for = |request: RequestId, made: &[usize]| {
            let plan = plans.get(&service.requests[request.index()].kind)?;
            plan.get(made[request.index()]).copied()
        };
        for (time, event) in events.iter().copied() {
            if found.against > most {
                return None;
            }
            match event {
                FifoEvent::Receipt(request) => {
                    open += 1;
                    let queue = waiting.entry(waits_for(request, &made)).or_default();
                    queue.insert((time, request));
                }
                FifoEvent::Returned(call) => {
                    if let Some(request) = found.request_of_call[call.index()] {
                        let queue = waiting.entry(waits_for(request, &made)).or_default();
                        queue.insert((time, request));
                    }
                }
                FifoEvent::Call(call) => {
                    let kind = service.calls[call.index()].kind;
                    if own.contains_key(&kind) {
                        continue;
                    }
                    let queue = waiting.entry(Some(kind)).or_default();
                    let next = queue.pop_first().map(|(_, request)| request);
                    let fits = next.is_some_and(|request| service.covers(request, call));
                    found.count(fits);
                    if let Some(request) = next {
                        found.request_of_call[call.index()] = Some(request);
                        made[request.index()] += 1;
                    }
                }
                FifoEvent::Reply(request) => {
                    let queue = waiting.entry(None).or_default();
                    let fits = queue.first().is_some_and(|(_, first)| *first == request);
                    queue.retain(|(_, of)| *of != request);
                    found.count(fits);
                    found.answers += usize::from(open > 1);
                    open = open.saturating_sub(1);
                }
            }
        }
        Some(found)
    }

    /// Counts a call or response that `fits` the order or contradicts it.
    fn count(&mut self, fits: bool) {
        self.cases += 1;
        self.against += usize::from(!fits);
    }

    /// Returns whether the order is kept, as far as can be tested.
    fn is_kept(&self) -> bool {
        self.answers >= MIN_ANSWERS && self.against * CASES_PER_EXCEPTION <= self.cases
    }

    /// Probability that the request of a call is right: as if one more case contradicted the order.
    fn share(&self) -> f64 {
        1.0 - (self.against as f64 + 1.0) / (self.cases as f64 + 2.0)
    }
}

#[cfg(test)]
#[path = "strict_tests.rs"]
pub(super) mod tests;
