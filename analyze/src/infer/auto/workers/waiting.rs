//! Calls that others write for threads that hold requests. A thread that writes to a connection
//! takes along what others want to send there, so the thread of a call may hold no request, or the
//! writer may be a thread of a library. Two things tell for whom it wrote:
//!
//! - Who reads the answer lets go on who waits for it ([`resumed`]). How often that is right is
//!   told by the calls that threads write themselves; where that is seldom, it is left out.
//! - Of the other calls, the one that waits longest has the first. A thread that waits for an
//!   answer does nothing else until it has come. So each signal that it gives shows since when it
//!   waits at the earliest, and one that it gives between a call and its answer shows that the call
//!   is not its. While a connection is being made, calls wait elsewhere, and not in turn: those
//!   that were sent before its first answer are doubted.
//!
//! Most calls must be made by the threads that hold their requests ([`holders`]), as these tell
//! which calls a request has, and which signals are given by threads that do not wait: a thread
//! that polls for others gives some while it waits itself.

mod acts;
mod planned;
mod resumed;
mod threads;

use rustc_hash::FxHashMap;

use super::run::AttributedCall;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{OPEN, Service};
use crate::infer::auto::{NONE, holders, strict};
use crate::tuning::auto::workers::waiting::{
    FIRST_RIVALS_SHARE, MAX_MISSING, MAX_WRONG, RIVALS_SHARE,
};
use acts::ThreadActs;
use planned::PlannedCalls;
use threads::ThreadBindings;

/// The requests of the calls that others wrote. `None` where most calls are not made by who holds
/// the request, or requests differ in their calls.
pub(super) fn find_delegated_writes(
    service: &Service,
    hand_offs: &[ServiceHandoff],
) -> Option<Vec<AttributedCall>> {
    let mut held = holders::bound_requests(service);
    // A thread may write a call of its own and one of another thread together; then all are held.
    let is_shared = || held.contains(&NONE) || !service.shared_writes.is_empty();
    if hand_offs.is_empty() || held.is_empty() || !is_shared() {
        return None;
    }
    let acts = ThreadActs::from_handoffs(service, &held, hand_offs)?;
    let threads = ThreadBindings::from_service(service);
    let told = ResponseWakeUps::from_resumed(
        service,
        &mut held,
        resumed::woken_requests(service, &threads, &acts, hand_offs),
    );
    let mut written: Vec<u32> =
        (0..).zip(&held).filter(|(_, request)| **request == NONE).map(|(call, _)| call).collect();
    let is_answered = |call: &u32| service.calls[*call as usize].end != OPEN;
    written.retain(|call| is_answered(call) && !service.is_unsure(*call));
    if written.is_empty() {
        return None;
    }
    let requests = PlannedCalls::from_bound(service, &held, &strict::plans(service, &held))?;
    if requests.missing_count() as f64 > MAX_MISSING * written.len() as f64 {
        return None;
    }
    written.sort_by_key(|call| (service.calls[*call as usize].begin, *call));
    let mut waiting = DelegatedWrites { service, acts, threads, requests, found: Vec::new() };
    let rest = waiting.assign_by_wake_ups(written, &told);
    waiting.assign_longest_waiting(rest);
    Some(waiting.found)
}

/// Whom the answers of calls let go on, and how far that is to be believed.
struct ResponseWakeUps {
    /// The request that each call is told to be for; [`NONE`] where that is not told.
    requests: Vec<u32>,
    /// Probability that it is another one.
    wrong: f64,
}

impl ResponseWakeUps {
    /// What `resumed` says is compared with the requests that are `held`. Of the calls that one
    /// write has sent together, the writer may have held the request of one only; those that are
    /// told to be for others are not held any more.
    fn from_resumed(service: &Service, held: &mut [u32], resumed: Vec<u32>) -> ResponseWakeUps {
        let both =
            || held.iter().zip(&resumed).filter(|(of, told)| ![**of, **told].contains(&NONE));
        let (all, agreeing) = (both().count(), both().filter(|(of, told)| of == told).count());
        let wrong = (all - agreeing + 1) as f64 / (all + 1) as f64;
        if wrong > MAX_WRONG {
            return ResponseWakeUps { requests: vec![NONE; resumed.len()], wrong };
        }
        for (call, (held, told)) in (0_u32..).zip(held.iter_mut().zip(&resumed)) {
            let is_other = *told != NONE && *held != NONE && told != held;
            if is_other && service.shared_write(service.calls[call as usize].begin).is_some() {
                *held = NONE;
            }
        }
        ResponseWakeUps { requests: resumed, wrong }
    }
}

/// The calls that others wrote, and who may wait for them.
struct DelegatedWrites<'a> {
    service: &'a Service,
    acts: ThreadActs,
    threads: ThreadBindings,
    requests: PlannedCalls,
    found: Vec<AttributedCall>,
}

impl DelegatedWrites<'_> {
    /// The requests that can have a call, with the place that it would have there. Which waits
    /// longest comes first.
    fn possible_requests(&self, call: u32) -> Vec<(u32, usize)> {
        let begin = self.service.calls[call as usize].begin;
        let candidate = |(thread, request): (u32, u32)| {
            let place = self.requests.place(self.service, request, call)?;
            Some((self.acts.waits_since(thread, self.service, call)?, request, place))
        };
        let mut candidates: Vec<(i64, u32, usize)> =
            self.threads.bound_threads(begin).filter_map(candidate).collect();
        candidates.sort_unstable();
        candidates.into_iter().map(|(_, request, place)| (request, place)).collect()
    }

    /// Gives the calls whose answers let a request go on to these. Returns the others.
    fn assign_by_wake_ups(&mut self, calls: Vec<u32>, told: &ResponseWakeUps) -> Vec<u32> {
        let candidates: Vec<_> = calls.iter().map(|call| self.possible_requests(*call)).collect();
        let mut rest = Vec::new();
        for (call, candidates) in calls.into_iter().zip(candidates) {
            let of = told.requests[call as usize];
            let Some(place) = candidates.iter().find(|(request, _)| *request == of) else {
                rest.push(call);
                continue;
            };
            let place = &mut self.requests.of[of as usize][place.1].1;
            if *place != NONE {
                rest.push(call);
                continue;
            }
            *place = call;
            let rival = candidates.iter().map(|(request, _)| *request).find(|other| *other != of);
            let rival = rival.map(|rival| (rival, told.wrong));
            self.found.push(AttributedCall { call, request: of, rival, is_recorded: false });
        }
        rest
    }

    /// Gives calls, in the order in which they were written, to the requests that wait longest.
    fn assign_longest_waiting(&mut self, calls: Vec<u32>) {
        let answered = first_answers(self.service);
        // Calls whose requests may be exchanged with those of later ones, and where they are.
        let mut doubted: Vec<(u32, usize, u32)> = Vec::new();
        for call in calls {
            let candidates = self.possible_requests(call);
            let Some((request, place)) = candidates.first().copied() else { continue };
            let begin = self.service.calls[call as usize].begin;
            let is_first = answered.get(call as usize).is_some_and(|answered| begin < *answered);
            let share = if is_first { FIRST_RIVALS_SHARE } else { RIVALS_SHARE };
            let next = candidates.get(1).map(|(request, _)| *request);
            let rival = next.or_else(|| self.exchangeable_request(call, &doubted));
            self.requests.of[request as usize][place].1 = call;
            if rival.is_some() {
                doubted.push((request, place, call));
            }
            let rival = rival.map(|rival| (rival, share));
            self.found.push(AttributedCall { call, request, rival, is_recorded: false });
        }
    }

    /// The last of these requests that could have a call instead of the one that it was given.
    fn exchangeable_request(&mut self, call: u32, doubted: &[(u32, usize, u32)]) -> Option<u32> {
        doubted.iter().rev().find_map(|(request, place, given)| {
            self.requests.of[*request as usize][*place].1 = NONE;
            let candidates = self.possible_requests(call);
            self.requests.of[*request as usize][*place].1 = *given;
            candidates.iter().map(|(request, _)| *request).find(|other| other == request)
        })
    }
}

/// When the first call on the connection of each call was answered. Empty where no connection is
/// known.
fn first_answers(service: &Service) -> Vec<i64> {
    // The first call on the connection of each call.
    let mut first: Vec<u32> = Vec::new();
    let mut answered: FxHashMap<u32, i64> = FxHashMap::default();
    for (call, before) in (0..).zip(&service.call_before) {
        let of = first.get(*before as usize).copied().unwrap_or(call);
        first.push(of);
        let end = service.calls[call as usize].end;
        answered.entry(of).and_modify(|first| *first = end.min(*first)).or_insert(end);
    }
    first.iter().map(|of| answered.get(of).copied().unwrap_or(OPEN)).collect()
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
