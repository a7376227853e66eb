//! Queue discipline: the order in which waiting requests are served. Delays alone, treated as
//! independent, predict this order poorly, since a delay of one request mostly delays the next one
//! as well. So requests overtake each other less often than their delays predict, and never if a
//! service is first in, first out. The reduction is learned for each kind of call from the observed
//! overtaking rate.

use rustc_hash::FxHashMap;

use super::events::ServiceEvent;
use super::model::ServiceModel;
use super::request_state::RequestState;
use super::service::{MadeCallId, RequestId, Service, recent_calls};
use super::shapes::Shapes;
use crate::tuning::auto::learning::discipline::{
    LOOP_NATS, LOOP_PRIOR, MAX_NATS, MIN_NATS, PRIOR, TOGETHER_NS,
};
use crate::tuning::auto::search::hypotheses::MAX_OPEN_REQUESTS;

/// Assumes, before anything is learned, a reduced overtaking rate: an event loop serves requests
/// that wait for the same result first in, first out.
pub(super) fn suppose_fifo(service: &Service, model: &mut ServiceModel) {
    if service.is_fifo() {
        model.overtaking.extend(service.calls.iter().map(|call| (call.kind, LOOP_NATS)));
    }
}

/// Beginning of the wait of a request that does not wait.
pub(super) const NEVER: i64 = i64::MAX;

/// Nats added because requests that wait for the same result are mostly served FIFO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Precedence {
    /// Time since which the longest-waiting request waits, in nanoseconds.
    first: i64,
    /// Nats added to the log-likelihood that the call is for the longest-waiting request.
    ahead: f64,
    /// Nats added to the log-likelihood that the call is for a request that overtakes it.
    overtaking: f64,
}

impl Precedence {
    /// Creates the precedence by which it is `less` nats less likely that a call is for a request
    /// while another one has waited longer for a call of this kind, whichever client made the other
    /// request: a connection pool has one queue for all. The sum over all waiting requests is
    /// unchanged. `waiting` are the times since which requests wait, `weights` how likely each is,
    /// 0 for requests that do not wait. Returns `None` if no request would overtake.
    pub(super) fn from_waiting_times(
        waiting: &[i64],
        weights: &[f64],
        less: f64,
    ) -> Option<Precedence> {
        const LANES: usize = 8;
        let first = waiting.iter().copied().min().filter(|first| *first != NEVER)?;
        // Several sums in parallel, so that an addition need not wait for the previous one.
        let (mut ahead, mut all) = ([0.0; LANES], [0.0; LANES]);
        for (waiting, weights) in waiting.chunks(LANES).zip(weights.chunks(LANES)) {
            for (lane, (since, weight)) in waiting.iter().zip(weights).enumerate() {
                all[lane] += weight;
                ahead[lane] += if *since == first { *weight } else { 0.0 };
            }
        }
        let [ahead, all] = [ahead, all].map(|sums| sums.iter().sum::<f64>());
        let overtakes = |since: &i64| *since > first && *since != NEVER;
        let after = ahead + (all - ahead) * (-less).exp();
        let rest = (all / after).ln();
        let counts = rest.is_finite() && waiting.iter().any(overtakes);
        counts.then_some(Precedence { first, ahead: rest, overtaking: rest - less })
    }

    /// Nats added for a request that has waited since the time `since`.
    pub(super) fn added_nats(&self, since: i64) -> f64 {
        match since {
            NEVER => 0.0,
            _ if since > self.first => self.overtaking,
            _ => self.ahead,
        }
    }
}

/// Learns from an assignment how much less often requests overtake than their delays predict.
pub(super) fn learn(
    service: &Service,
    events: &[(i64, ServiceEvent)],
    request_of_call: &[Option<RequestId>],
    shapes: &mut Shapes,
    model: &mut ServiceModel,
) {
    // Probability of overtaking by the delays alone, and whether it happened, by kind.
    let mut seen: FxHashMap<u32, Vec<(f64, bool)>> = FxHashMap::default();
    let mut open: Vec<(RequestId, Vec<MadeCallId>, u32)> = Vec::new();
    for (_, event) in events {
        match event {
            ServiceEvent::Receipt(request) => {
                if open.len() >= MAX_OPEN_REQUESTS {
                    open.remove(0);
                }
                open.push((*request, Vec::new(), 0));
            }
            ServiceEvent::Answer(_) => {}
            ServiceEvent::Reply(request) => open.retain(|(open, _, _)| open != request),
            ServiceEvent::Call(call) => {
                let kind = service.calls[call.index()].kind;
                let own = request_of_call[call.index()];
                let Some(place) = open.iter().position(|(request, _, _)| Some(*request) == own)
                else {
                    continue;
                };
                let mut waiting: Vec<(i64, f64, bool)> = Vec::new();
                for (request, made, shape) in &open {
                    let at =
                        RequestState { request: *request, made: recent_calls(made), shape: *shape };
                    let (score, since) = model.score_call(service, shapes, &at, *call);
                    waiting.extend(since.map(|since| (since, score, Some(*request) == own)));
                }
                if waiting.len() >= 2 {
                    seen.entry(kind).or_default().extend(overtaking_probability(&waiting));
                }
                let (_, made, shape) = &mut open[place];
                made.push(*call);
                *shape = shapes.with_call(*shape, kind);
            }
        }
    }
    let (all, later) = if service.is_fifo() { LOOP_PRIOR } else { PRIOR };
    for (kind, mut seen) in seen {
        seen.extend((0..all).map(|at| (0.5, at < later)));
        model.overtaking.insert(kind, learn_reduction(&seen));
    }
}

/// Probability that the call is for a request that overtakes another one, and whether it was. Each
/// of the `waiting` requests is given by the start of its wait, its log-likelihood, and whether the
/// call was for it. `None` if the call was for none of them. Requests that one system call woke
/// together do not overtake each other: an assignment that reverses all of them has the same
/// log-likelihood and would confirm itself.
fn overtaking_probability(waiting: &[(i64, f64, bool)]) -> Option<(f64, bool)> {
    let (since, _, _) = waiting.iter().find(|(_, _, own)| *own)?;
    let first = waiting.iter().map(|(since, _, _)| *since).min()?;
    let is_later = |since: i64| since.saturating_sub(first) >= TOGETHER_NS;
    let most = waiting.iter().map(|(_, score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
    let weight = |(_, score, _): &(i64, f64, bool)| (score - most).exp();
    let late: f64 = waiting.iter().filter(|(since, _, _)| is_later(*since)).map(weight).sum();
    Some((late / waiting.iter().map(weight).sum::<f64>(), is_later(*since)))
}

/// Nats by which the odds of overtaking must be reduced to match the observed number of
/// overtakings, found by bisection. `seen` has the probability by delays alone, and whether it
/// happened.
fn learn_reduction(seen: &[(f64, bool)]) -> f64 {
    let did = seen.iter().filter(|(_, did)| *did).count() as f64;
    let (mut low, mut high) = (MIN_NATS, MAX_NATS);
    for _ in 0..30 {
        let middle = (low + high) / 2.0;
        let factor = (-middle).exp();
        let expected: f64 =
            seen.iter().map(|(late, _)| late * factor / (1.0 - late + late * factor)).sum();
        if expected > did { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifo_order_is_learned_and_random_order_is_not() {
        let even = |did: usize| (0..40).map(|at| (0.5, at < did)).collect::<Vec<_>>();
        assert!((learn_reduction(&even(20))).abs() < 1e-6);
        // ln 3: a quarter instead of a half.
        assert!((learn_reduction(&even(10)) - 3f64.ln()).abs() < 1e-6);
        assert!(learn_reduction(&even(0)) > 3.9);
    }

    #[test]
    fn requests_woken_together_do_not_overtake_each_other() {
        let likely = 0.5f64.ln();
        let waiting = |own: i64| [7, 8, 2_000].map(|since| (since, likely, since == own));
        let found = [7, 8, 2_000].map(|own| overtaking_probability(&waiting(own)));
        let third = |did| found.iter().flatten().filter(|(_, other)| *other == did).count();
        assert_eq!([third(false), third(true)], [2, 1]);
        assert!(found.iter().flatten().all(|(late, _)| (late - 1.0 / 3.0).abs() < 1e-9));
        assert_eq!(overtaking_probability(&waiting(5)), None);
    }

    #[test]
    fn the_longest_waiting_request_gains_the_loss_of_the_others() {
        let (waiting, odds) = ([20, 10, NEVER, 5], 0.5f64);
        let weights = waiting.map(|since| if since == NEVER { 0.0 } else { odds });
        let precedence = Precedence::from_waiting_times(&waiting, &weights, 3f64.ln()).unwrap();
        let probabilities =
            waiting.map(|since| (precedence.added_nats(since).exp() * odds * 1000.0).round());
        assert_eq!(probabilities, [300.0, 300.0, 500.0, 900.0]);
        // No request waits longer than another.
        assert!(
            Precedence::from_waiting_times(&[NEVER, 7, 7], &[0.0, odds, odds], 3f64.ln()).is_none()
        );
        assert!(Precedence::from_waiting_times(&[NEVER; 2], &[0.0; 2], 3f64.ln()).is_none());
    }

    #[test]
    fn only_event_loops_are_assumed_to_be_fifo() {
        use crate::infer::auto::service::NodeSpan;
        let supposed = |thread: fn(u32) -> u32| {
            let mut service = Service::default();
            for at in 0..50 {
                service.requests.push(NodeSpan { begin: 0, end: 9, kind: 1 });
                service.request_threads.push([thread(at); 2]);
                service.calls.push(NodeSpan { begin: 1, end: 8, kind: 2 });
                service.call_threads.push([thread(at); 2]);
            }
            let mut model = ServiceModel::default();
            suppose_fifo(&service, &mut model);
            model.overtaking.get(&2).copied()
        };
        assert_eq!(supposed(|_| 4), Some(LOOP_NATS));
        assert_eq!(supposed(|at| at % 2), None);
        assert_eq!(supposed(|_| crate::infer::auto::service::UNKNOWN_THREAD), None);
    }
}
