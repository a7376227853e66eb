//! Evidence from threads. If each request has a thread of its own, the thread of a call identifies
//! its request. If any free thread takes the next work, the thread is no evidence. If one thread
//! hands over to another, the thread of the previous event may be evidence. Which case applies is
//! learned for each kind of call: how often a call is made by the thread that received the request,
//! by the thread of the request's last event, or by a thread that acted for the request earlier,
//! and how often by any thread.
//!
//! All of this evidence is a ratio to the share of the calls of the kind that a thread makes
//! anyway. So nothing changes if threads are not known, or if there is only one.

use rustc_hash::FxHashMap;

use super::request_state::RequestState;
use super::service::REPLY;
use super::service::{Service, UNKNOWN_THREAD};
use super::trigger::last_event;
use crate::tuning::auto::model::threads::{EM_ITERATIONS, PRIOR, PRIOR_NONE};

/// Number of relations of the thread that makes a call to a request: it is the thread that received
/// the request, that of the last event of the request, or that of an earlier event.
const RELATIONS: usize = 3;

/// Evidence from the threads of one service.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadEvidence {
    /// Weights of the relations and of none of them, by the kinds of the request and the call.
    weights: FxHashMap<(u32, u32), [f64; RELATIONS + 1]>,
    /// Share of the calls of a kind that a thread makes, by the kind and the thread.
    usual: FxHashMap<(u32, u32), f64>,
}

/// A call that was made for a request: how its thread is related to the request, and the share of
/// the calls of its kind that the thread makes.
pub(super) type ThreadSample = ([bool; RELATIONS], f64);

impl ThreadEvidence {
    /// Usual calls of each thread of `service`, for any request. Their weight as evidence is not
    /// learned yet.
    pub(super) fn from_service(service: &Service) -> ThreadEvidence {
        let mut usual: FxHashMap<(u32, u32), f64> = FxHashMap::default();
        let mut totals: FxHashMap<u32, f64> = FxHashMap::default();
        let calls = service
            .call_threads
            .iter()
            .zip(&service.calls)
            .map(|([thread, _], call)| (call.kind, *thread));
        let replies = service.request_threads.iter().map(|[_, thread]| (REPLY, *thread));
        for (kind, thread) in calls.chain(replies).filter(|(_, thread)| *thread != UNKNOWN_THREAD) {
            *usual.entry((kind, thread)).or_default() += 1.0;
            *totals.entry(kind).or_default() += 1.0;
        }
        for ((kind, _), count) in &mut usual {
            *count /= totals.get(kind).copied().unwrap_or(1.0);
        }
        ThreadEvidence { weights: FxHashMap::default(), usual }
    }

    /// This evidence, which was learned from a part of `service`, for all of it.
    pub(super) fn in_all_of(self, service: &Service) -> ThreadEvidence {
        ThreadEvidence { usual: ThreadEvidence::from_service(service).usual, ..self }
    }

    /// A call of the kind `kind` (or the reply) for the request in the state `at`, which `thread`
    /// made at `time`, as a sample; `None` if the thread is no evidence.
    pub(super) fn sample(
        &self,
        service: &Service,
        at: &RequestState<'_>,
        kind: u32,
        thread: u32,
        time: i64,
    ) -> Option<ThreadSample> {
        // A thread that makes all calls of the kind is no evidence.
        let usual = self.usual.get(&(kind, thread)).copied().filter(|usual| *usual < 1.0)?;
        let [receipt, _] = *service.request_threads.get(at.request.index())?;
        let last = match last_event(service, at.made, time) {
            Some((call, is_end)) => service.call_threads.get(call.index())?[usize::from(is_end)],
            None => receipt,
        };
        let earlier = at.made.iter().filter_map(|call| service.call_threads.get(call.index())).any(
            |threads| {
                let [begin, end] = *threads;
                begin == thread || end == thread
            },
        );
        Some(([receipt == thread, last == thread, earlier], usual))
    }

    /// Learns why threads make calls of one kind for requests of one kind, from samples of these
    /// calls: expectation maximisation over the relations. If several relations hold, any of them
    /// may be the reason.
    pub(super) fn learn(&mut self, request: u32, call: u32, samples: &[ThreadSample]) {
        if samples.is_empty() {
            return;
        }
        let mut weights = [1.0 / (RELATIONS + 1) as f64; RELATIONS + 1];
        for _ in 0..EM_ITERATIONS {
            let mut sums = [PRIOR; RELATIONS + 1];
            sums[RELATIONS] = PRIOR_NONE;
            for sample in samples {
                let parts = relation_shares(&weights, *sample);
                let total: f64 = parts.iter().sum();
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part / total);
            }
            let total: f64 = sums.iter().sum();
            weights = sums.map(|sum| sum / total);
        }
        self.weights.insert((request, call), weights);
    }

    /// Log-odds of a sample against chance, which is the usual share of the thread.
    pub(super) fn odds(&self, request: u32, call: u32, sample: Option<ThreadSample>) -> f64 {
        match (self.weights.get(&(request, call)), sample) {
            (Some(weights), Some(sample)) => {
                relation_shares(weights, sample).iter().sum::<f64>().ln()
            }
            _ => 0.0,
        }
    }
}

/// Share of each relation, and of none of them, in a sample.
fn relation_shares(
    weights: &[f64; RELATIONS + 1],
    (related, usual): ThreadSample,
) -> [f64; RELATIONS + 1] {
    let mut parts = *weights;
    for (part, related) in parts.iter_mut().zip(related) {
        *part = if related { *part / usual } else { 0.0 };
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 threads that make equally many calls; `by_receipt` of the samples are by the thread of
    /// the receipt.
    fn learned(by_receipt: usize) -> ThreadEvidence {
        let mut threads = ThreadEvidence::default();
        let samples: Vec<ThreadSample> =
            (0..1000).map(|at| ([at < by_receipt, false, at % 100 == 0], 0.01)).collect();
        threads.learn(1, 2, &samples);
        threads
    }

    #[test]
    fn a_thread_per_request_proves_nearly_all() {
        let threads = learned(990);
        let odds = |receipt| threads.odds(1, 2, Some(([receipt, false, false], 0.01)));
        // Of ten unrelated samples most are by chance: 0.99 of 1 in a hundred threads against 0.01.
        assert!(
            (odds(true) - 99f64.ln()).abs() < 0.02 && (odds(false) + 100f64.ln()).abs() < 0.1,
            "{threads:?}"
        );
        assert_eq!(
            (threads.odds(1, 3, Some(([true; 3], 0.01))), threads.odds(1, 2, None)),
            (0.0, 0.0)
        );
    }

    #[test]
    fn chance_frequencies_prove_nothing() {
        let threads = learned(10);
        for receipt in [true, false] {
            assert!(
                threads.odds(1, 2, Some(([receipt, false, false], 0.01))).abs() < 0.3,
                "{threads:?}"
            );
        }
    }

    #[test]
    fn a_lone_thread_proves_nothing() {
        let mut threads = ThreadEvidence::default();
        threads.learn(1, 2, &[([true, true, true], 1.0); 50]);
        assert!(threads.odds(1, 2, Some(([true, true, true], 1.0))).abs() < 1e-9);
    }
}
