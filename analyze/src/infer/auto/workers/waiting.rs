//! Delegated writes: calls that other threads write for threads that are bound to requests. A
//! thread that writes to a connection also sends pending data of others, so the thread of a call
//! may be bound to no request, or the writer may be a thread of a library. Two kinds of evidence
//! show the thread for which the writer wrote:
//!
//! - The thread that reads the response wakes the thread that waits for it ([`resumed`]). How often
//!   the woken thread is the right one is measured on the calls that threads write themselves; if
//!   it is rarely right, this evidence is left out.
//! - Among the other calls, the first call belongs to the longest-waiting thread. A thread that
//!   waits for a response does nothing else until it has arrived. So each signal that the thread
//!   sends bounds the start of its wait, and a signal between a call and its response shows that
//!   the call belongs to another thread. While a connection is being made, calls wait elsewhere,
//!   and not FIFO: calls that were sent before the first response on their connection are
//!   ambiguous.
//!
//! Most calls must be made by the threads that are bound to their requests ([`holders`]), since
//! these calls show which calls a request makes, and which signals are sent only by threads that
//! are not waiting: a thread that polls for others sends some signals while it waits itself.

mod acts;
mod planned;
mod resumed;
mod threads;

use rustc_hash::FxHashMap;

use super::run::AttributedCall;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service};
use crate::infer::auto::{holders, strict};
use crate::tuning::auto::workers::waiting::{
    FIRST_RIVALS_SHARE, MAX_MISSING, MAX_WRONG, RIVALS_SHARE,
};
use acts::ThreadActs;
use planned::PlannedCalls;
use threads::ThreadBindings;

/// The requests of the delegated writes. `None` if most calls are not made by the thread that is
/// bound to the request, or if requests differ in their calls.
pub(super) fn find_delegated_writes(
    service: &Service,
    hand_offs: &[ServiceHandoff],
) -> Option<Vec<AttributedCall>> {
    let mut bound = holders::bound_requests(service);
    // A thread may write a call of its own and one of another thread together; then all calls have
    // a bound request.
    let is_shared = || bound.contains(&None) || !service.shared_writes.is_empty();
    if hand_offs.is_empty() || bound.is_empty() || !is_shared() {
        return None;
    }
    let acts = ThreadActs::from_handoffs(service, &bound, hand_offs)?;
    let threads = ThreadBindings::from_service(service);
    let wake_ups = ResponseWakeUps::from_resumed(
        service,
        &mut bound,
        resumed::woken_requests(service, &threads, &acts, hand_offs),
    );
    let unbound = MadeCallId::ids().zip(&bound).filter(|(_, request)| request.is_none());
    let mut written: Vec<MadeCallId> = unbound.map(|(call, _)| call).collect();
    let is_answered = |call: &MadeCallId| service.calls[call.index()].end != OPEN;
    written.retain(|call| is_answered(call) && !service.is_unsure(*call));
    if written.is_empty() {
        return None;
    }
    let requests = PlannedCalls::from_bound(service, &bound, &strict::plans(service, &bound))?;
    if requests.missing_count() as f64 > MAX_MISSING * written.len() as f64 {
        return None;
    }
    written.sort_by_key(|call| (service.calls[call.index()].begin, *call));
    let mut waiting = DelegatedWrites { service, acts, threads, requests, found: Vec::new() };
    let rest = waiting.assign_by_wake_ups(written, &wake_ups);
    waiting.assign_longest_waiting(rest);
    Some(waiting.found)
}

/// Requests that were woken by the responses of calls, and how reliable they are.
struct ResponseWakeUps {
    /// The request of each call according to wake-ups; `None` if they do not show it.
    requests: Vec<Option<RequestId>>,
    /// Probability that such a request is wrong.
    wrong: f64,
}

impl ResponseWakeUps {
    /// Compares the requests that wake-ups show, `resumed`, with the requests that threads are
    /// bound to, `bound`. If one write sent several calls, the writer may have been bound to the
    /// request of one of them only; the calls for which wake-ups show another request are removed
    /// from `bound`.
    fn from_resumed(
        service: &Service,
        bound: &mut [Option<RequestId>],
        resumed: Vec<Option<RequestId>>,
    ) -> ResponseWakeUps {
        let both =
            || bound.iter().zip(&resumed).filter(|(of, woken)| of.is_some() && woken.is_some());
        let (all, agreeing) = (both().count(), both().filter(|(of, woken)| of == woken).count());
        let wrong = (all - agreeing + 1) as f64 / (all + 1) as f64;
        if wrong > MAX_WRONG {
            return ResponseWakeUps { requests: vec![None; resumed.len()], wrong };
        }
        for (call, (bound, woken)) in MadeCallId::ids().zip(bound.iter_mut().zip(&resumed)) {
            let is_contradicted = woken.is_some() && bound.is_some() && woken != bound;
            if is_contradicted && service.shared_write(service.calls[call.index()].begin).is_some()
            {
                *bound = None;
            }
        }
        ResponseWakeUps { requests: resumed, wrong }
    }
}

/// The state of the search for delegated writes: the threads that may wait, and the calls that were
/// assigned so far.
struct DelegatedWrites<'a> {
    service: &'a Service,
    acts: ThreadActs,
    threads: ThreadBindings,
    requests: PlannedCalls,
    found: Vec<AttributedCall>,
}

impl DelegatedWrites<'_> {
    /// The requests that can have made a call, each with the place of the call among its planned
    /// calls. The longest-waiting request comes first.
    fn possible_requests(&self, call: MadeCallId) -> Vec<(RequestId, usize)> {
        let begin = self.service.calls[call.index()].begin;
        let candidate = |(thread, request): (u32, RequestId)| {
            let place = self.requests.place(self.service, request, call)?;
            Some((self.acts.waits_since(thread, self.service, call)?, request, place))
        };
        let mut candidates: Vec<(i64, RequestId, usize)> =
            self.threads.bound_threads(begin).filter_map(candidate).collect();
        candidates.sort_unstable();
        candidates.into_iter().map(|(_, request, place)| (request, place)).collect()
    }

    /// Assigns the calls with responses that wake a request to that request. Returns the other
    /// calls.
    fn assign_by_wake_ups(
        &mut self,
        calls: Vec<MadeCallId>,
        wake_ups: &ResponseWakeUps,
    ) -> Vec<MadeCallId> {
        let candidates: Vec<_> = calls.iter().map(|call| self.possible_requests(*call)).collect();
        let mut rest = Vec::new();
        for (call, candidates) in calls.into_iter().zip(candidates) {
            let of = wake_ups.requests[call.index()];
            let place = candidates.iter().find(|(request, _)| Some(*request) == of);
            let Some((of, place)) = place.copied() else {
                rest.push(call);
                continue;
            };
            let place = &mut self.requests.of_requests[of.index()][place].1;
            if place.is_some() {
                rest.push(call);
                continue;
            }
            *place = Some(call);
            let rival = candidates.iter().map(|(request, _)| *request).find(|other| *other != of);
            let rival = rival.map(|rival| (rival, wake_ups.wrong));
            self.found.push(AttributedCall { call, request: of, rival, is_recorded: false });
        }
        rest
    }

    /// Assigns calls, in the order in which they were written, to the longest-waiting requests.
    fn assign_longest_waiting(&mut self, calls: Vec<MadeCallId>) {
        let answered = first_answers(self.service);
        // Ambiguous calls, which may be exchanged with later ones: the request, the place, the
        // call.
        let mut ambiguous: Vec<(RequestId, usize, MadeCallId)> = Vec::new();
        for call in calls {
            let candidates = self.possible_requests(call);
            let Some((request, place)) = candidates.first().copied() else { continue };
            let begin = self.service.calls[call.index()].begin;
            let is_first = answered.get(call.index()).is_some_and(|answered| begin < *answered);
            let share = if is_first { FIRST_RIVALS_SHARE } else { RIVALS_SHARE };
            let next = candidates.get(1).map(|(request, _)| *request);
            let rival = next.or_else(|| self.exchangeable_request(call, &ambiguous));
            self.requests.of_requests[request.index()][place].1 = Some(call);
            if rival.is_some() {
                ambiguous.push((request, place, call));
            }
            let rival = rival.map(|rival| (rival, share));
            self.found.push(AttributedCall { call, request, rival, is_recorded: false });
        }
    }

    /// The last request in `ambiguous` that could have made `call` instead of its assigned call.
    fn exchangeable_request(
        &mut self,
        call: MadeCallId,
        ambiguous: &[(RequestId, usize, MadeCallId)],
    ) -> Option<RequestId> {
        ambiguous.iter().rev().find_map(|(request, place, given)| {
            self.requests.of_requests[request.index()][*place].1 = None;
            let candidates = self.possible_requests(call);
            self.requests.of_requests[request.index()][*place].1 = Some(*given);
            candidates.iter().map(|(request, _)| *request).find(|other| other == request)
        })
    }
}

/// Time at which the first call on the connection of each call was answered. Empty if no connection
/// is known.
fn first_answers(service: &Service) -> Vec<i64> {
    // The first call on the connection of each call.
    let mut first: Vec<MadeCallId> = Vec::new();
    let mut answered: FxHashMap<MadeCallId, i64> = FxHashMap::default();
    for (call, before) in MadeCallId::ids().zip(&service.call_before) {
        let of = before.and_then(|before| first.get(before.index()).copied()).unwrap_or(call);
        first.push(of);
        let end = service.calls[call.index()].end;
        answered.entry(of).and_modify(|first| *first = end.min(*first)).or_insert(end);
    }
    first.iter().map(|of| answered.get(of).copied().unwrap_or(OPEN)).collect()
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
