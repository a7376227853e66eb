//! Restart consensus: how far the best assignment of a service can be trusted. The probabilities of
//! a lattice are only valid under one model. A model that was learned from a mostly wrong
//! assignment is confident of wrong requests. In that case, however, another restart mostly
//! converges to another assignment. So the agreement of the assignments is measured, by the number
//! of candidate requests of a call. Probabilities are limited to the measured agreement.

use rustc_hash::FxHashMap;

use super::events::ServiceEvent;
use super::service::{MadeCallId, RequestId, Service};
use crate::tuning::auto::learning::agreement::{
    CLASSES, MAX_OTHERS, MIN_CALLS, MIN_UNCALIBRATED, OWN_WEIGHT, PRIOR_CALLS, WORSE_NATS,
};

/// Probability that the requests of the best assignment are right, estimated from the other
/// restarts, by the number of candidate requests of a call.
#[derive(Clone, Debug)]
pub(super) struct RestartConsensus {
    /// For calls of any kind.
    all: [f64; CLASSES],
    /// Upper limits for the calls of each kind.
    of_kinds: FxHashMap<u32, [f64; CLASSES]>,
}

impl Default for RestartConsensus {
    fn default() -> RestartConsensus {
        RestartConsensus { all: [1.0; CLASSES], of_kinds: FxHashMap::default() }
    }
}

impl RestartConsensus {
    /// The consensus of assignments of the calls of `service`, each with its log-likelihood in
    /// nats, the best one first.
    pub(super) fn from_assignments(
        service: &Service,
        events: &[(i64, ServiceEvent)],
        found: &[(f64, &[Option<RequestId>])],
    ) -> RestartConsensus {
        let all =
            right_probabilities(service, events, found, |_| 0).remove(&0).unwrap_or([1.0; CLASSES]);
        RestartConsensus { all, of_kinds: FxHashMap::default() }
    }

    /// Limits the consensus, kind by kind, to the agreement of the first entry of `found` with the
    /// others.
    pub(super) fn bounded_by_consensus(
        self,
        service: &Service,
        events: &[(i64, ServiceEvent)],
        found: &[(f64, &[Option<RequestId>])],
    ) -> RestartConsensus {
        let kind = |call: MadeCallId| service.calls[call.index()].kind;
        RestartConsensus { of_kinds: right_probabilities(service, events, found, kind), ..self }
    }

    /// Probability that the likeliest request of a call is right.
    fn right_probability(&self, kind: u32, class: usize) -> f64 {
        let of_kind = self.of_kinds.get(&kind).map_or(1.0, |worth| worth[class]);
        self.all[class].min(of_kind)
    }

    /// Lowers the shares of each call to the consensus, and spreads the difference over the
    /// candidate requests of the call.
    pub(super) fn calibrate_shares(
        &self,
        service: &Service,
        events: &[(i64, ServiceEvent)],
        shares: &mut [Vec<(Option<RequestId>, f64)>],
    ) {
        candidates(service, events, |call, possible| {
            let kind = service.calls[call.index()].kind;
            let worth = self.right_probability(kind, candidate_class(possible.len()));
            let shares = &mut shares[call.index()];
            if worth > MIN_UNCALIBRATED || possible.len() < 2 || shares.is_empty() {
                return;
            }
            shares.iter_mut().for_each(|(_, share)| *share *= worth);
            let spread = possible.len().min(MAX_OTHERS);
            // The likely requests come first, then the most recently received ones.
            let mut given = 0;
            let part = (1.0 - worth) / spread as f64;
            shares.sort_by(|one, other| other.1.total_cmp(&one.1));
            for (_, share) in
                shares.iter_mut().filter(|(request, _)| request.is_some()).take(spread)
            {
                *share += part;
                given += 1;
            }
            for request in possible.iter().rev() {
                if given < spread && !shares.iter().any(|(known, _)| *known == Some(*request)) {
                    shares.push((Some(*request), part));
                    given += 1;
                }
            }
        });
    }
}

/// Probability that the requests of the first assignment in `found` are right, estimated from the
/// other assignments: for each `key` of a call, by the class of its number of candidate requests.
fn right_probabilities(
    service: &Service,
    events: &[(i64, ServiceEvent)],
    found: &[(f64, &[Option<RequestId>])],
    key: impl Fn(MadeCallId) -> u32,
) -> FxHashMap<u32, [f64; CLASSES]> {
    let mut seen: FxHashMap<u32, [[f64; 2]; CLASSES]> = FxHashMap::default();
    let Some(((best_fit, best), others)) = found.split_first() else {
        return FxHashMap::default();
    };
    let calls = service.calls.len().max(1) as f64;
    let weights: Vec<f64> =
        others.iter().map(|(fit, _)| ((fit - best_fit) / calls / WORSE_NATS).exp()).collect();
    let total: f64 = OWN_WEIGHT + weights.iter().sum::<f64>();
    candidates(service, events, |call, possible| {
        let request = best[call.index()];
        if request.is_none() {
            return;
        }
        let same =
            others.iter().zip(&weights).filter(|((_, other), _)| other[call.index()] == request);
        let seen = seen.entry(key(call)).or_insert([[PRIOR_CALLS; 2]; CLASSES]);
        let seen = &mut seen[candidate_class(possible.len())];
        seen[0] += 1.0;
        seen[1] += (OWN_WEIGHT + same.map(|(_, weight)| weight).sum::<f64>()) / total;
    });
    // Two independent assignments that are right with the same probability agree with its square. A
    // class with too few calls has the value of the class with fewer candidates.
    let worth = |seen: [[f64; 2]; CLASSES]| {
        let mut worth = 1.0;
        seen.map(|[all, same]| {
            if all >= MIN_CALLS {
                worth = (same / all).sqrt();
            }
            worth
        })
    };
    seen.into_iter().map(|(key, seen)| (key, worth(seen))).collect()
}

/// Calls `each` for each call of `service` with the call and its candidate requests: the open
/// requests that do not end before the call does.
pub(super) fn candidates(
    service: &Service,
    events: &[(i64, ServiceEvent)],
    mut each: impl FnMut(MadeCallId, &[RequestId]),
) {
    let mut open: Vec<RequestId> = Vec::new();
    let mut possible: Vec<RequestId> = Vec::new();
    for (_, event) in events {
        match event {
            ServiceEvent::Receipt(request) => open.push(*request),
            ServiceEvent::Answer(_) => {}
            ServiceEvent::Reply(request) => open.retain(|open| open != request),
            ServiceEvent::Call(call) => {
                let bound = service.bound_request(*call).filter(|bound| open.contains(bound));
                possible.clear();
                match bound {
                    Some(bound) => possible.push(bound),
                    None => possible
                        .extend(open.iter().filter(|request| service.covers(**request, *call))),
                }
                each(*call, &possible);
            }
        }
    }
}

/// Class of a call with this number of `possible` requests.
fn candidate_class(possible: usize) -> usize {
    (possible.max(1).ilog2() as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::events::events;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests::requests;

    /// Pairs of requests that are open together, each with a call.
    fn service() -> Service {
        let mut service = Service { window: 1_000_000, ..Service::default() };
        for request in 0..100_i64 {
            let begin = 1000 * (request / 2) + request % 2;
            service.requests.push(NodeSpan { begin, end: begin + 500, kind: 9 });
            service.calls.push(NodeSpan { begin: begin + 100, end: begin + 200, kind: 1 });
        }
        service
    }

    #[test]
    fn disagreement_of_restarts_lowers_probabilities() {
        let (service, best) = (service(), requests(0..100));
        let events = events(&service);
        // An alternative with the same log-likelihood exchanges the requests of every second pair.
        let other = requests((0..100).map(|call| if call % 4 < 2 { call ^ 1 } else { call }));
        let found = |fit: f64| {
            RestartConsensus::from_assignments(
                &service,
                &events,
                &[(-1000.0, &best), (fit, &other)],
            )
        };
        // Half of the calls agree, the assignment's own vote counts a tenth, and all agree on two
        // calls: sqrt((100 (0.5 + 0.1) / 1.1 + 2) / 102).
        let worth = ((100.0 * 0.6 / 1.1 + 2.0) / 102.0_f64).sqrt();
        assert!((found(-1000.0).all[1] - worth).abs() < 1e-9, "{:?}", found(-1000.0));
        // An assignment with a far lower log-likelihood has little weight.
        assert!(found(-1600.0).all[1] > 0.99);
        let mut shares: Vec<Vec<(Option<RequestId>, f64)>> =
            best.iter().map(|request| vec![(*request, 1.0)]).collect();
        found(-1000.0).calibrate_shares(&service, &events, &mut shares);
        let of = |call: usize, request: usize| {
            let request = Some(RequestId::from_index(request));
            shares[call].iter().find(|(of, _)| *of == request).map_or(0.0, |(_, share)| *share)
        };
        assert!((of(0, 0) - (worth + (1.0 - worth) / 2.0)).abs() < 1e-9, "{:?}", shares[0]);
        assert!((of(0, 1) - (1.0 - worth) / 2.0).abs() < 1e-9, "{:?}", shares[0]);
    }

    #[test]
    fn agreement_of_restarts_keeps_probabilities() {
        let (service, best) = (service(), requests(0..100));
        let events = events(&service);
        let agreement = RestartConsensus::from_assignments(
            &service,
            &events,
            &[(-1000.0, &best), (-1001.0, &best)],
        );
        let mut shares: Vec<Vec<(Option<RequestId>, f64)>> =
            best.iter().map(|request| vec![(*request, 0.9)]).collect();
        agreement.calibrate_shares(&service, &events, &mut shares);
        assert!(shares.iter().zip(&best).all(|(shares, request)| shares == &[(*request, 0.9)]));
    }
}
