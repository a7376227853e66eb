//! Worker pools: threads that receive no requests and do the work of the threads that do, one item
//! after the other. The calls that a worker makes for one item are a run: all of them are for one
//! request.
//!
//! - A worker that answers itself ([`own_answers`]) shows its request by the response. That is
//!   certain. Responses that other threads write for it are found by their order ([`passed_on`]).
//! - If another thread answers, runs are separated by the signals of workers, if hand-offs were
//!   recorded, or by a kind of call that each run begins with ([`runs`]). The requests are those
//!   that fit the order of the queues at both ends ([`both_ends`]): the run that begins first has
//!   the request received first, and the run that ends first is answered first. Two runs that are
//!   so near to each other at one end that their order is ambiguous there are mostly far apart at
//!   the other.
//! - Wake-up edges between goroutines are always recorded ([`woken`]).
//! - If threads are bound to requests, others may write some of their calls ([`waiting`]).
//!
//! It is not assumed that a process works this way: calls that are open across a response, runs
//! that begin before their request or end after it, and requests that overtake each other all the
//! time show that it does not, and then nothing is attributed here.

mod both_ends;
mod in_order;
mod known;
mod overtaking;
mod own_answers;
mod passed_on;
mod run;
mod runs;
mod stretches;
mod waiting;
mod woken;

#[cfg(test)]
mod cases;

use rustc_hash::{FxHashMap, FxHashSet};

use super::hand_offs::ServiceHandoff;
use super::service::{OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::call_evidence::CallEvidence;
use crate::calls::CallId;
use crate::infer::call_links::WorkItem;
use crate::tuning::auto::workers::MIN_REQUESTS;
use both_ends::QueuedRun;
use run::AttributedCall;

impl Service {
    /// Finds the requests of calls that workers make. `hand_offs` are the hand-offs between the
    /// threads of this service, in the order of the signals; empty if none were recorded. Returns
    /// the calls, as calls of the trace, for which recorded hand-offs show the request.
    pub(super) fn find_workers(&mut self, hand_offs: &[ServiceHandoff]) -> FxHashSet<CallId> {
        let has_jobs = self.request_calls.iter().any(|item| item.is_delivery());
        let has_few = self.requests.len() < MIN_REQUESTS || self.call_threads.is_empty();
        if self.one_way || has_jobs || has_few {
            return FxHashSet::default();
        }
        let by = |evidence: CallEvidence| move |found: Vec<AttributedCall>| (found, evidence);
        let found = woken::find_woken_calls(self, hand_offs).map(by(CallEvidence::Tasks));
        let found = found.or_else(|| {
            let hand_offs = woken::thread_handoffs(hand_offs);
            let given = known::handed_over_requests(self, hand_offs);
            let found = own_answers::find_worker_replies(self, hand_offs, &given);
            let found = found.map(by(CallEvidence::Threads));
            let queued = || self.queued_calls(hand_offs, &given).map(by(CallEvidence::Inferred));
            let written = || waiting::find_delegated_writes(self, hand_offs);
            found.or_else(queued).or_else(|| written().map(by(CallEvidence::HandOffs)))
        });
        let mut recorded = FxHashSet::default();
        let (found, evidence) = found.unwrap_or((Vec::new(), CallEvidence::Inferred));
        for AttributedCall { call, request, rival, is_recorded } in found {
            let made = self.made_calls[call.index()];
            let of = |request: RequestId| self.request_calls[request.index()];
            self.attributed_to.insert(made, of(request));
            if let Some((rival, share)) = rival {
                self.alternative_request.insert(made, (of(rival), share));
                continue;
            }
            // The order of a queue shows the request of a run only if hand-offs confirm it.
            let is_confirmed = is_recorded && evidence == CallEvidence::Inferred;
            let evidence = if is_confirmed { CallEvidence::HandOffs } else { evidence };
            self.shown_by.insert(made, evidence);
            if is_recorded {
                recorded.insert(made);
            }
        }
        recorded
    }

    /// The requests of calls of workers whose requests are answered by other threads. The requests
    /// `given` were handed over according to recorded hand-offs. `None` if there are no such
    /// workers.
    fn queued_calls(
        &self,
        hand_offs: &[ServiceHandoff],
        given: &FxHashSet<RequestId>,
    ) -> Option<Vec<AttributedCall>> {
        let workers = runs::workers(self)?;
        let answered: Vec<RequestId> = self
            .request_ids()
            .filter(|request| self.requests[request.index()].end != OPEN)
            .collect();
        // If a separate thread answers the requests that were handed over, the receiver answers the
        // rest.
        let handed_over = |request: &RequestId| {
            let [receiver, answerer] = self.request_threads[request.index()];
            answerer != UNKNOWN_THREAD && answerer != receiver
        };
        let others: Vec<RequestId> = answered.iter().copied().filter(handed_over).collect();
        let requests = if 2 * others.len() >= answered.len() { others } else { answered };
        if requests.len() < MIN_REQUESTS {
            return None;
        }
        let witnesses = known::witnesses(self, hand_offs);
        let variants = runs::split_runs(self, &workers, hand_offs, requests.len());
        variants.into_iter().find_map(|(runs, is_recorded)| {
            let queued = both_ends::match_runs(&self.requests, &requests, &runs, &witnesses)?;
            let mut found = Vec::new();
            for (run, QueuedRun { request, rival, is_shown }) in runs.iter().zip(queued) {
                let Some(request) = request.map(|place| requests[place]) else { continue };
                let rival = rival.map(|(place, share)| (requests[place], share));
                let is_recorded = is_shown || is_recorded && given.contains(&request);
                found.extend(run.calls.iter().map(|call| AttributedCall {
                    call: *call,
                    request,
                    rival,
                    is_recorded,
                }));
            }
            Some(found)
        })
    }
}

/// Lowers the share of the request of each call of a worker by the part for which the request is
/// ambiguous.
pub(super) fn calibrate_shares(service: &Service, shares: &mut [Vec<(Option<RequestId>, f64)>]) {
    if service.alternative_request.is_empty() {
        return;
    }
    let places: FxHashMap<WorkItem, RequestId> =
        service.request_calls.iter().copied().zip(RequestId::ids()).collect();
    for ((made, shares), bound) in service.made_calls.iter().zip(shares).zip(&service.bound_to) {
        let Some((rival, share)) = service.alternative_request.get(made) else { continue };
        let is_bound = !shares.is_empty() && shares.iter().all(|(request, _)| request == bound);
        if let Some(rival) = places.get(rival).filter(|_| is_bound) {
            *shares = vec![(*bound, 1.0 - share), (Some(*rival), *share)];
        }
    }
}
