//! Evidence from connections. A connection that is made for one request, or taken from a pool while
//! the request is open, carries the calls of that request until its end. A connection that many
//! requests share proves nothing. Which case applies is learned for each kind of call: how often a
//! call has the same request as the previous call on the connection, if that request is still open.

use rustc_hash::FxHashMap;

use super::events::ServiceEvent;
use super::service::{RequestId, Service};
use crate::tuning::auto::model::connections::PRIOR_CALLS;

/// Share of the calls of each kind with the same request as the previous call on the connection.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionEvidence {
    same: FxHashMap<u32, f64>,
}

impl ConnectionEvidence {
    /// Learns the evidence of connections from an assignment of the calls of `service` to requests;
    /// `events` has its events in order.
    pub(super) fn learn(
        service: &Service,
        events: &[(i64, ServiceEvent)],
        request_of_call: &[Option<RequestId>],
    ) -> ConnectionEvidence {
        if service.call_before.is_empty() {
            return ConnectionEvidence::default();
        }
        // Number of calls of each kind, number with the same request, and number expected by
        // chance.
        let mut seen: FxHashMap<u32, [f64; 3]> = FxHashMap::default();
        let mut is_open = vec![false; service.requests.len()];
        let mut open = 0_u32;
        for (_, event) in events {
            match event {
                ServiceEvent::Receipt(request) => {
                    is_open[request.index()] = true;
                    open += 1;
                }
                ServiceEvent::Answer(_) => {}
                ServiceEvent::Reply(request) => {
                    is_open[request.index()] = false;
                    open = open.saturating_sub(1);
                }
                ServiceEvent::Call(call) => {
                    let before = service.call_before[call.index()];
                    let of_before =
                        before.and_then(|before| request_of_call.get(before.index())).copied();
                    let (Some(Some(of_before)), Some(of_call)) =
                        (of_before, request_of_call[call.index()])
                    else {
                        continue;
                    };
                    let is_open = is_open.get(of_before.index()).is_some_and(|open| *open);
                    if open < 2 || !is_open {
                        continue;
                    }
                    let seen = seen.entry(service.calls[call.index()].kind).or_default();
                    seen[0] += 1.0;
                    seen[1] += f64::from(u8::from(of_before == of_call));
                    seen[2] += 1.0 / f64::from(open);
                }
            }
        }
        let share = |[all, same, chance]: [f64; 3]| {
            (same + PRIOR_CALLS * chance / all) / (all + PRIOR_CALLS)
        };
        ConnectionEvidence {
            same: seen.into_iter().map(|(kind, seen)| (kind, share(seen))).collect(),
        }
    }

    /// Returns whether connections are evidence for calls of this kind.
    pub(super) fn is_evidence_for(&self, kind: u32) -> bool {
        self.same.contains_key(&kind)
    }

    /// Nats added to the log-likelihood of a call of this kind for each of `all` candidate
    /// requests, if the previous call on the connection was made for one of them: first for that
    /// request, which has the learned share, then for each of the other candidates, which share the
    /// rest. `None` if connections are no evidence.
    pub(super) fn shares(&self, kind: u32, all: usize) -> Option<[f64; 2]> {
        let same = self.same.get(&kind)?;
        let all = all as f64;
        (all >= 2.0).then(|| [(same * all).ln(), ((1.0 - same) * all / (all - 1.0)).ln()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::events::events;
    use crate::infer::auto::service::{MadeCallId, NodeSpan};
    use crate::infer::auto::tests::requests;

    /// Pairs of requests that overlap and make two calls each; `connection` returns the connection
    /// of a call of a request.
    fn learned(connection: impl Fn(usize, usize) -> usize) -> ConnectionEvidence {
        let mut service = Service { window: 1_000_000, ..Service::default() };
        let mut calls = Vec::new();
        for request in 0..100 {
            let begin = 1000 * (request as i64 / 2) + request as i64 % 2;
            service.requests.push(NodeSpan { begin, end: begin + 500, kind: 9 });
            calls.extend(
                [0, 1].map(|at| {
                    (begin + 10 + 20 * at as i64, request as u32, connection(request, at))
                }),
            );
        }
        calls.sort_unstable();
        let mut last = FxHashMap::default();
        for (at, (begin, _, connection)) in MadeCallId::ids().zip(&calls) {
            service.calls.push(NodeSpan { begin: *begin, end: begin + 5, kind: 1 });
            service.call_before.push(last.insert(*connection, at));
        }
        let request_of_call = requests(calls.iter().map(|(_, request, _)| *request as usize));
        ConnectionEvidence::learn(&service, &events(&service), &request_of_call)
    }

    #[test]
    fn a_connection_for_each_request_proves_nearly_all_and_a_shared_one_little() {
        let own = learned(|request, _| request).same[&1];
        assert!(
            (own - 101.0 / 102.0).abs() < 1e-9,
            "100 of 100, and 2 of which one was by chance: {own}"
        );
        let shared = learned(|_, _| 0).same[&1];
        assert!(shared < 0.4, "{shared}");
    }

    #[test]
    fn shares_match_handwritten_values() {
        let connections = ConnectionEvidence { same: [(1, 0.8)].into_iter().collect() };
        let shares = connections.shares(1, 3).unwrap();
        assert_eq!(shares.map(|share| (share.exp() / 3.0 * 1000.0).round()), [800.0, 100.0]);
        assert!(connections.shares(2, 3).is_none() && connections.shares(1, 1).is_none());
    }
}
