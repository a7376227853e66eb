//! Evidence from sizes. A service that forwards a request sends about as many bytes as it received,
//! except for a header more or less, and likewise for a response. The differences in size are
//! learned for each kind of request and call, and compared with the differences to requests at
//! other times. If sizes are unrelated, as for a service with a cache, the differences are random.
//! Then sizes do not count: otherwise calls would gather at differences that were frequent by
//! chance, and each call assigned by them would make them more frequent.

use rustc_hash::FxHashMap;

use super::events::ServiceEvent;
use super::service::{MadeCallId, RequestId, Service, UNKNOWN_SIZE};
use crate::tuning::auto::model::sizes::{
    BOUNDS, MIN_NATS, MIN_PAIRS, NEAR_BYTES, OTHERS, OTHERS_APART, PRIOR_PAIRS,
};

/// Evidence from sizes in one service.
#[derive(Clone, Debug, Default)]
pub(super) struct SizeEvidence {
    /// Differences in size by the kinds of the request and the call: of forwarded requests, and of
    /// returned responses.
    known: FxHashMap<(u32, u32), [Option<SizeDifferences>; 2]>,
}

impl SizeEvidence {
    /// Learns the evidence of sizes from an assignment of the calls of `service` to requests;
    /// `events` has its events in order.
    pub(super) fn learn(
        service: &Service,
        events: &[(i64, ServiceEvent)],
        request_of_call: &[Option<RequestId>],
    ) -> SizeEvidence {
        if service.call_sizes.is_empty() || service.request_sizes.is_empty() {
            return SizeEvidence::default();
        }
        let mut seen: FxHashMap<(u32, u32), [SizeDifferences; 2]> = FxHashMap::default();
        let mut is_open = vec![false; service.requests.len()];
        for (_, event) in events {
            match event {
                ServiceEvent::Receipt(request) => is_open[request.index()] = true,
                ServiceEvent::Answer(_) => {}
                ServiceEvent::Reply(request) => is_open[request.index()] = false,
                ServiceEvent::Call(call) => {
                    let own = request_of_call[call.index()];
                    let kind = service.calls[call.index()].kind;
                    let mut add = |request: RequestId, is_own: bool| {
                        let seen =
                            seen.entry((service.requests[request.index()].kind, kind)).or_default();
                        let differences = differences(service, request, *call);
                        for (seen, difference) in seen.iter_mut().zip(differences) {
                            difference
                                .into_iter()
                                .for_each(|difference| seen.add(difference, is_own));
                        }
                    };
                    if let Some(own) = own {
                        add(own, true);
                    }
                    // Pairs by chance are taken from requests that are not open, since the call may
                    // have been made for any open one.
                    let others = (1..=OTHERS)
                        .map(|other| (call.index() + other * OTHERS_APART) % is_open.len());
                    others
                        .filter(|request| !is_open[*request])
                        .for_each(|request| add(RequestId::from_index(request), false));
                }
            }
        }
        let worth = |seen: SizeDifferences| Some(seen).filter(SizeDifferences::is_informative);
        let known = seen.into_iter().map(|(kinds, seen)| (kinds, seen.map(worth)));
        SizeEvidence {
            known: known.filter(|(_, known)| known.iter().any(Option::is_some)).collect(),
        }
    }

    /// Log-odds of the sizes if the call was made for the request against another request. `own`:
    /// this pair is one of the samples and is left out.
    pub(super) fn odds(
        &self,
        service: &Service,
        request: RequestId,
        call: MadeCallId,
        own: bool,
    ) -> f64 {
        let of = service.requests.get(request.index()).map(|span| span.kind);
        let kinds = of.zip(service.calls.get(call.index()).map(|span| span.kind));
        let Some(known) = kinds.and_then(|kinds| self.known.get(&kinds)) else { return 0.0 };
        let odds = known.iter().zip(differences(service, request, call));
        odds.filter_map(|(known, difference)| Some(known.as_ref()?.odds(difference?, own))).sum()
    }
}

/// Number of bytes by which the call is larger than the request, and by which the response to the
/// request is larger than the response to the call.
fn differences(service: &Service, request: RequestId, call: MadeCallId) -> [Option<i64>; 2] {
    let (Some(request), Some(call)) =
        (service.request_sizes.get(request.index()), service.call_sizes.get(call.index()))
    else {
        return [None; 2];
    };
    let known =
        |one: i64, other: i64| (one != UNKNOWN_SIZE && other != UNKNOWN_SIZE).then(|| one - other);
    [known(call[0], request[0]), known(request[1], call[1])]
}

/// Differences in size: of pairs that belong together, and of others.
#[derive(Clone, Debug, Default)]
struct SizeDifferences {
    /// Number of pairs of a call and its own request, by their difference in bytes.
    own: FxHashMap<i64, f64>,
    /// Number of pairs of a call and another request.
    others: FxHashMap<i64, f64>,
    /// Number of pairs of either sort.
    totals: [f64; 2],
}

impl SizeDifferences {
    fn add(&mut self, difference: i64, is_own: bool) {
        let counts = if is_own { &mut self.own } else { &mut self.others };
        *counts.entry(difference).or_default() += 1.0;
        self.totals[usize::from(!is_own)] += 1.0;
    }

    /// Log-odds that a pair with this difference in size belongs together. `own`: the pair is one
    /// of the samples and is left out.
    fn odds(&self, difference: i64, own: bool) -> f64 {
        let left_out = f64::from(u8::from(own));
        let seen = (near(&self.own, difference) - left_out).max(0.0);
        let total = (self.totals[0] - left_out).max(0.0);
        // A difference that no other pair has is as frequent by chance as one more pair would make
        // it.
        let chance = (near(&self.others, difference) + 1.0) / (self.totals[1] + 2.0);
        let share = (seen + PRIOR_PAIRS * chance) / (total + PRIOR_PAIRS);
        (share / chance).ln().clamp(BOUNDS[0], BOUNDS[1])
    }

    /// Returns whether there are enough pairs, and their differences are informative enough, to use
    /// them.
    fn is_informative(&self) -> bool {
        let information =
            self.own.iter().map(|(difference, count)| count * self.odds(*difference, true));
        self.totals[0] >= MIN_PAIRS as f64
            && self.totals[1] >= MIN_PAIRS as f64
            && information.sum::<f64>() >= MIN_NATS * self.totals[0]
    }
}

/// Number of pairs with this difference, plus a part of the number of pairs with nearly this
/// difference.
fn near(counts: &FxHashMap<i64, f64>, difference: i64) -> f64 {
    let around = (-NEAR_BYTES..=NEAR_BYTES).map(|off| {
        let weight = if off == 0 { 1.0 } else { 0.5 / (1 + off.abs()) as f64 };
        weight * counts.get(&difference.saturating_add(off)).copied().unwrap_or(0.0)
    });
    around.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::events::events;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests::requests;

    /// Four requests at a time with sizes by `size`, each with a call of a size by `called`, in the
    /// order of the requests.
    fn service(size: impl Fn(i64) -> i64, called: impl Fn(i64) -> i64) -> Service {
        let mut service = Service { window: 1_000_000, ..Service::default() };
        for request in 0..200_i64 {
            let begin = 1000 * (request / 4) + request % 4;
            service.requests.push(NodeSpan { begin, end: begin + 500, kind: 9 });
            service.request_sizes.push([size(request), UNKNOWN_SIZE]);
            service.calls.push(NodeSpan { begin: begin + 100, end: begin + 200, kind: 1 });
            service.call_sizes.push([called(request), UNKNOWN_SIZE]);
        }
        service
    }

    fn lot(number: i64, of: i64) -> i64 {
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 33).rem_euclid(of)
    }

    #[test]
    fn forwarded_sizes_are_learned_even_if_half_is_assigned_wrongly() {
        let service = service(|request| 100 + lot(request, 400), |request| 130 + lot(request, 400));
        // Every other pair of neighbours is swapped.
        let request_of_call =
            requests((0..200).map(|call| if call % 4 < 2 { call ^ 1 } else { call }));
        let sizes = SizeEvidence::learn(&service, &events(&service), &request_of_call);
        for call in 0..200 {
            let odds = |request| {
                let request = RequestId::from_index(request);
                sizes.odds(&service, request, MadeCallId::from_index(call), false)
            };
            let (right, wrong) = (odds(call), odds(call ^ 1));
            let is_alike =
                (lot(call as i64, 400) - lot((call ^ 1) as i64, 400)).abs() <= 2 * NEAR_BYTES;
            assert!(right > 2.0 && (right > wrong + 1.0 || is_alike), "{call}: {right} {wrong}");
        }
    }

    #[test]
    fn unrelated_sizes_do_not_count() {
        let service =
            service(|request| 100 + lot(request, 60), |request| 20 + lot(7 * request + 3, 40));
        let request_of_call = requests(0..200);
        let sizes = SizeEvidence::learn(&service, &events(&service), &request_of_call);
        let mut pairs = RequestId::ids().zip(MadeCallId::ids()).take(200);
        assert!(
            pairs.all(|(request, call)| sizes.odds(&service, request, call, true).abs() < 1e-9)
        );
        let same = self::service(|_| 100, |_| 50);
        let sizes = SizeEvidence::learn(&same, &events(&same), &request_of_call);
        let (request, call) = (RequestId::from_index(3), MadeCallId::from_index(3));
        assert!(sizes.odds(&same, request, call, false).abs() < 1e-9);
    }

    #[test]
    fn odds_match_handwritten_values() {
        let mut differences = SizeDifferences::default();
        (0..90).for_each(|_| differences.add(20, true));
        (0..98).for_each(|at| differences.add(1000 + 10 * at, false));
        // 90 of 90 against one of a hundred by chance: (90 + 0.1) / 100 / 0.01.
        assert!((differences.odds(20, false) - 90.1f64.ln()).abs() < 1e-9);
        assert!((differences.odds(20, true) - (89.1f64 / 99.0 / 0.01).ln()).abs() < 1e-9);
        // Never: 10 of 100.
        assert!((differences.odds(500, false) - 0.1f64.ln()).abs() < 1e-9);
    }
}
