//! Lookahead from the ends of calls. A service that only forwards responses answers soon after its
//! own call was answered, so the two ends identify a pair. But the search reaches them long after
//! it has assigned the call to a request. If many requests wait in a queue, the right hypothesis
//! has been dropped by then. So the log-odds of the ends are added as lookahead when a call is
//! assigned, and are removed when the request is answered, since then the response itself is
//! scored.

use rustc_hash::FxHashMap;

use super::density::Axis;
use super::events::ServiceEvent;
use super::service::{MadeCallId, OPEN, RequestId, Service};
use crate::tuning::auto::model::promises::{
    BINS, BOUNDS, MIN_NATS, MIN_PAIRS, OTHERS, PRIOR_PAIRS,
};

/// Lookahead model of the ends of calls in one service.
#[derive(Clone, Debug, Default)]
pub(super) struct LookaheadModel {
    /// The resolution of the times, in nanoseconds.
    resolution: f64,
    /// The times of pairs by the kinds of the request and the call.
    known: FxHashMap<(u32, u32), EndGaps>,
}

/// Times from the end of a call to the end of a request: of pairs that belong together, and of
/// others.
#[derive(Clone, Debug, Default)]
struct EndGaps {
    /// Number of pairs of a call and its own request, by the bin of the time.
    own: FxHashMap<u32, f64>,
    /// Number of pairs of a call and another request.
    others: FxHashMap<u32, f64>,
    /// Number of pairs of either sort.
    totals: [f64; 2],
    /// Lookahead of each bin, and the lookahead with the scored pair left out.
    odds: Vec<[f64; 2]>,
}

impl LookaheadModel {
    /// Learns the lookahead model from an assignment of the calls of `service` to requests;
    /// `events` has its events in order.
    pub(super) fn learn(
        service: &Service,
        events: &[(i64, ServiceEvent)],
        request_of_call: &[Option<RequestId>],
        axis: Axis,
    ) -> LookaheadModel {
        let mut lookaheads =
            LookaheadModel { resolution: axis.resolution, known: FxHashMap::default() };
        let mut seen: FxHashMap<(u32, u32), EndGaps> = FxHashMap::default();
        let mut open: Vec<RequestId> = Vec::new();
        for (_, event) in events {
            match event {
                ServiceEvent::Receipt(request) => open.push(*request),
                ServiceEvent::Answer(_) => {}
                ServiceEvent::Reply(request) => open.retain(|open| open != request),
                ServiceEvent::Call(call) => {
                    let own = request_of_call[call.index()];
                    let mut add = |request: RequestId, is_own: bool| {
                        let Some(bin) = lookaheads.bin(service, request, *call) else { return };
                        let kinds =
                            [&service.requests[request.index()], &service.calls[call.index()]];
                        let seen = seen.entry((kinds[0].kind, kinds[1].kind)).or_default();
                        let counts = if is_own { &mut seen.own } else { &mut seen.others };
                        *counts.entry(bin).or_default() += 1.0;
                        seen.totals[usize::from(!is_own)] += 1.0;
                    };
                    if let Some(own) = own {
                        add(own, true);
                    }
                    let step = open.len().div_ceil(OTHERS).max(1);
                    let others = open.iter().skip(call.index() % step).step_by(step);
                    others
                        .filter(|request| Some(**request) != own)
                        .for_each(|request| add(*request, false));
                }
            }
        }
        seen.retain(|_, gaps| gaps.is_informative());
        seen.values_mut().for_each(EndGaps::tabulate);
        lookaheads.known = seen;
        lookaheads
    }

    /// Lookahead of the end of the call for the request, as log-odds. `own`: this pair is one of
    /// the samples and is left out.
    pub(super) fn lookahead(
        &self,
        service: &Service,
        request: RequestId,
        call: MadeCallId,
        own: bool,
    ) -> f64 {
        let kinds = (service.requests[request.index()].kind, service.calls[call.index()].kind);
        let Some(gaps) = self.known.get(&kinds) else { return 0.0 };
        let known = |bin: u32| gaps.odds.get(bin as usize).map(|odds| odds[usize::from(own)]);
        let bin = self.bin(service, request, call);
        bin.map_or(0.0, |bin| known(bin).unwrap_or_else(|| gaps.odds(bin, own)))
    }

    /// The bin of the time from the end of the call to the end of the request; `None` if one of
    /// them is not known, or the request ended first.
    fn bin(&self, service: &Service, request: RequestId, call: MadeCallId) -> Option<u32> {
        let (request, call) =
            (service.requests.get(request.index())?, service.calls.get(call.index())?);
        let is_known = request.end != OPEN && call.end != OPEN && call.end <= request.end;
        let gap = is_known.then(|| request.end.saturating_sub(call.end))? as f64;
        Some((((gap + self.resolution) / self.resolution).log2() * BINS) as u32)
    }
}

impl EndGaps {
    /// Log-odds that a pair with a time in this bin belongs together. `own`: the pair is one of the
    /// samples and is left out.
    fn odds(&self, bin: u32, own: bool) -> f64 {
        let left_out = f64::from(u8::from(own));
        // Half of the neighbouring bins counts, too, since similar times may fall on both sides of
        // a boundary.
        let near = |counts: &FxHashMap<u32, f64>| {
            let at = |bin: u32| counts.get(&bin).copied().unwrap_or(0.0);
            at(bin) + 0.5 * (at(bin + 1) + bin.checked_sub(1).map_or(0.0, at))
        };
        let seen = (near(&self.own) - left_out).max(0.0);
        let total = (self.totals[0] - left_out).max(0.0);
        let chance = (near(&self.others) + 1.0) / (self.totals[1] + 2.0);
        ((seen + PRIOR_PAIRS * chance) / (total + PRIOR_PAIRS) / chance)
            .ln()
            .clamp(BOUNDS[0], BOUNDS[1])
    }

    /// Tabulates the odds of all bins with samples.
    fn tabulate(&mut self) {
        let bins = self.own.keys().chain(self.others.keys()).max().map_or(0, |most| most + 2);
        self.odds = (0..bins).map(|bin| [self.odds(bin, false), self.odds(bin, true)]).collect();
    }

    /// Returns whether there are enough pairs, and their times are informative enough, to use them.
    fn is_informative(&self) -> bool {
        let information: f64 =
            self.own.iter().map(|(bin, count)| count * self.odds(*bin, true)).sum();
        self.totals.iter().all(|total| *total >= MIN_PAIRS)
            && information >= MIN_NATS * self.totals[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::events::events;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests::requests;

    /// Requests 1 ms apart that take 8 to 16 ms, each with a call that ends `before` its request
    /// does.
    fn service(before: impl Fn(i64) -> i64) -> Service {
        let mut service = Service { window: 1_000_000_000, ..Service::default() };
        for request in 0..200_i64 {
            let begin = 1_000_000 * request;
            let end = begin + 8_000_000 + (request * 7_919) % 64 * 125_000;
            service.requests.push(NodeSpan { begin, end, kind: 9 });
            service.calls.push(NodeSpan {
                begin: begin + 500_000,
                end: end - before(request),
                kind: 1,
            });
        }
        service
    }

    fn learned(service: &Service) -> LookaheadModel {
        let request_of_call = requests(0..200);
        LookaheadModel::learn(
            service,
            &events(service),
            &request_of_call,
            Axis { resolution: 1000.0 },
        )
    }

    #[test]
    fn a_forwarding_service_has_lookahead() {
        let service = service(|request| 5_000 + request % 7 * 10_000);
        let lookaheads = learned(&service);
        for (call, request) in MadeCallId::ids().zip(RequestId::ids()).take(200) {
            let right = lookaheads.lookahead(&service, request, call, true);
            assert!(right > 1.5, "{right}");
            // Any other request that is open and ends later, except for those that end at nearly
            // the same time.
            for other in (call.index().saturating_sub(7)..call.index()).map(RequestId::from_index) {
                let gap = service.requests[other.index()].end - service.calls[call.index()].end;
                let lookahead = lookaheads.lookahead(&service, other, call, false);
                assert!(lookahead < 0.5 || gap < 200_000, "{lookahead} {gap}");
                assert!(
                    gap >= 0 || lookahead.abs() < 1e-9,
                    "a request answered before has no lookahead"
                );
            }
        }
    }

    #[test]
    fn a_service_with_random_delays_has_no_lookahead() {
        let lookaheads = learned(&service(|request| 100_000 + (request * 31) % 64 * 100_000));
        assert!(lookaheads.known.is_empty(), "{lookaheads:?}");
    }
}
