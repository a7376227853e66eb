//! Exchanges of calls between requests after the search. A beam keeps few hypotheses, and the
//! evidence that distinguishes two requests often comes long after their calls: with the response
//! to one of them, or with the next call. So two requests exchange calls of a kind wherever that
//! raises their joint log-likelihood: one call each, all calls from there on, or all calls up to
//! there.
//!
//! Models are learned from the result, so that they reproduce fewer errors of the beam. An exchange
//! after which one request overtakes the other is penalised by as much as overtaking is rarer than
//! delays predict. If requests are served FIFO ([`super::discipline`]), the result of the search is
//! kept.

use super::agreement::candidates;
use super::events::{ServiceEvent, calls_by_request};
use super::model::ServiceModel;
use super::request_state::RequestState;
use super::service::{MadeCallId, RequestId, Service, recent_calls};
use super::shapes::Shapes;
use crate::tuning::auto::learning::discipline::SURE_NATS;
use crate::tuning::auto::learning::exchanges::{
    MAX_ALIKE, MAX_CALLS, MAX_OTHERS, MIN_GAIN, SWEEPS,
};

/// The calls that two requests exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallExchange {
    /// One call each.
    One,
    /// All calls from these on.
    Later,
    /// All calls up to these.
    Earlier,
}

/// Exchanges calls of `service` between their requests, given by `request_of_call`, if that raises
/// the log-likelihood under `model`.
pub(super) fn improve(
    service: &Service,
    events: &[(i64, ServiceEvent)],
    request_of_call: &mut [Option<RequestId>],
    shapes: &mut Shapes,
    model: &mut ServiceModel,
) {
    let mut neighbours: Vec<(MadeCallId, Vec<RequestId>)> = Vec::new();
    candidates(service, events, |call, possible| {
        if let Some(own) = request_of_call[call.index()].filter(|_| possible.len() > 1) {
            neighbours.push((call, nearest_requests(service, own, possible)));
        }
    });
    let scores = vec![None; service.requests.len()];
    let mut pairs = ExchangedCalls {
        service,
        shapes,
        model,
        made: calls_by_request(service, request_of_call),
        scores,
    };
    // Two requests are compared again only if the calls of one of them have changed since.
    let mut is_new = vec![true; service.requests.len()];
    for _ in 0..SWEEPS {
        let mut is_next = vec![false; service.requests.len()];
        for (call, others) in &neighbours {
            let Some(own) = request_of_call[call.index()] else { continue };
            let with = others.iter().copied().find(|other| {
                let is_known = [own, *other].iter().all(|request| !is_new[request.index()]);
                *other != own && !is_known && pairs.exchange(*call, own, *other)
            });
            for request in with.into_iter().flat_map(|other| [own, other]) {
                for made in &pairs.made[request.index()] {
                    request_of_call[made.index()] = Some(request);
                }
                is_next[request.index()] = true;
            }
        }
        is_new = is_next;
    }
}

/// The `possible` requests that were received nearest in time to `own`.
fn nearest_requests(service: &Service, own: RequestId, possible: &[RequestId]) -> Vec<RequestId> {
    let begin = |request: RequestId| service.requests[request.index()].begin;
    let mut others: Vec<RequestId> =
        possible.iter().copied().filter(|request| *request != own).collect();
    let distance = |request: &RequestId| (begin(*request).abs_diff(begin(own)), *request);
    if others.len() > MAX_OTHERS {
        others.select_nth_unstable_by_key(MAX_OTHERS, distance);
        others.truncate(MAX_OTHERS);
    }
    others.sort_unstable_by_key(distance);
    others.shrink_to_fit();
    others
}

/// The calls of all requests while they are exchanged.
struct ExchangedCalls<'a> {
    service: &'a Service,
    shapes: &'a mut Shapes,
    model: &'a mut ServiceModel,
    /// The calls of each request, in the order of time.
    made: Vec<Vec<MadeCallId>>,
    /// Log-likelihood of each request with its calls, if it was computed.
    scores: Vec<Option<f64>>,
}

impl ExchangedCalls<'_> {
    /// Makes the best exchange between two requests at the `call` of one of them; returns whether
    /// any call was exchanged.
    fn exchange(&mut self, call: MadeCallId, own: RequestId, other: RequestId) -> bool {
        let kind = self.service.calls[call.index()].kind;
        let less = self.model.overtaking.get(&kind).copied().unwrap_or(0.0).max(0.0);
        let calls = [own, other].map(|request| self.made[request.index()].len());
        if less > SURE_NATS || calls[0] + calls[1] > MAX_CALLS {
            return false;
        }
        let mut alike = self.made[other.index()].clone();
        alike.retain(|made| self.service.calls[made.index()].kind == kind);
        alike.sort_by_key(|made| made.index().abs_diff(call.index()));
        alike.truncate(MAX_ALIKE);
        let before = self.current_score(own) + self.current_score(other);
        let mut best: Option<(f64, [Vec<MadeCallId>; 2], [f64; 2])> = None;
        for with in alike {
            let ordered = less * self.overtaking_change([(own, call), (other, with)]);
            for exchange in [CallExchange::One, CallExchange::Later, CallExchange::Earlier] {
                let Some(made) = self.after_exchange([(own, call), (other, with)], exchange) else {
                    continue;
                };
                let scores = [self.score(own, &made[0]), self.score(other, &made[1])];
                let more = scores[0] + scores[1] - before - ordered;
                if more > MIN_GAIN && best.as_ref().is_none_or(|(best, _, _)| more > *best) {
                    best = Some((more, made, scores));
                }
            }
        }
        let Some((_, made, scores)) = best else { return false };
        for ((request, made), score) in [own, other].into_iter().zip(made).zip(scores) {
            self.made[request.index()] = made;
            self.scores[request.index()] = Some(score);
        }
        true
    }

    /// Returns 1 if an exchange of these calls lets the later request overtake the other, -1 if it
    /// undoes an overtaking, and 0 if the requests do not wait at the same time.
    fn overtaking_change(&mut self, at: [(RequestId, MadeCallId); 2]) -> f64 {
        let since = at.map(|(request, call)| {
            let made: Vec<MadeCallId> =
                self.made[request.index()].iter().copied().filter(|made| *made < call).collect();
            let shape = made.iter().fold(0, |shape, made| {
                self.shapes.with_call(shape, self.service.calls[made.index()].kind)
            });
            let at = RequestState { request, made: recent_calls(&made), shape };
            self.model.waiting_since(self.service, self.shapes, &at, call)
        });
        let [Some(own), Some(other)] = since else { return 0.0 };
        if own == other {
            return 0.0;
        }
        if (own < other) == (at[0].1 < at[1].1) { 1.0 } else { -1.0 }
    }

    /// The calls of two requests after an exchange at one call of each. `None` if a request cannot
    /// have made a call that it would get, or if the result is the same as exchanging one call
    /// each.
    fn after_exchange(
        &self,
        at: [(RequestId, MadeCallId); 2],
        exchange: CallExchange,
    ) -> Option<[Vec<MadeCallId>; 2]> {
        let mut result = [Vec::new(), Vec::new()];
        let mut going = 0;
        for (place, (request, call)) in at.into_iter().enumerate() {
            for made in &self.made[request.index()] {
                let goes = match exchange {
                    CallExchange::One => *made == call,
                    CallExchange::Later => *made >= call,
                    CallExchange::Earlier => *made <= call,
                };
                let to = if goes { 1 - place } else { place };
                if goes && !self.is_possible(at[to].0, *made) {
                    return None;
                }
                going += usize::from(goes);
                result[to].push(*made);
            }
        }
        result.iter_mut().for_each(|made| made.sort_unstable());
        (exchange == CallExchange::One || going > 2).then_some(result)
    }

    /// Returns whether the request can have made the call.
    fn is_possible(&self, request: RequestId, call: MadeCallId) -> bool {
        let span = self.service.requests[request.index()];
        let begin = self.service.calls[call.index()].begin;
        (span.begin..=self.service.closed_at(request)).contains(&begin)
            && self.service.covers(request, call)
            && self.service.bound_request(call).is_none_or(|bound| bound == request)
    }

    /// Log-likelihood of a request with its current calls.
    fn current_score(&mut self, request: RequestId) -> f64 {
        if let Some(score) = self.scores[request.index()] {
            return score;
        }
        let made = std::mem::take(&mut self.made[request.index()]);
        let score = self.score(request, &made);
        self.made[request.index()] = made;
        self.scores[request.index()] = Some(score);
        score
    }

    /// Log-likelihood of a request with these calls.
    fn score(&mut self, request: RequestId, made: &[MadeCallId]) -> f64 {
        self.model.request(self.service, self.shapes, request, made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::density::Axis;
    use crate::infer::auto::events::events;
    use crate::infer::auto::learn::learn;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests::requests;

    /// Pairs of requests that are open together. Each makes two calls, with a delay of the second
    /// after the first that distinguishes the requests.
    fn service() -> (Service, Vec<Option<RequestId>>) {
        let mut service = Service { window: 1_000_000_000, ..Service::default() };
        let mut calls = Vec::new();
        for request in 0..200_i64 {
            let begin = 50_000_000 * (request / 2) + 100_000 * (request % 2);
            service.requests.push(NodeSpan { begin, end: begin + 30_000_000, kind: 9 });
            let first = begin + 2_000_000 + (request * 37) % 11 * 4_000;
            let second = first + 8_000_000 + (request * 31) % 7 * 4_000;
            calls
                .push((NodeSpan { begin: first, end: first + 1_000_000, kind: 1 }, request as u32));
            calls.push((
                NodeSpan { begin: second, end: second + 1_000_000, kind: 2 },
                request as u32,
            ));
        }
        calls.sort_by_key(|(span, _)| span.begin);
        service.calls = calls.iter().map(|(span, _)| *span).collect();
        (service, requests(calls.into_iter().map(|(_, request)| request as usize)))
    }

    #[test]
    fn only_exchanges_that_raise_the_score_are_made() {
        let (service, truth) = service();
        let (events, mut shapes) = (events(&service), Shapes::new());
        let axis = Axis { resolution: service.resolution() };
        let mut model =
            learn(&service, &calls_by_request(&service, &truth), |_| true, &mut shapes, axis);
        let mut request_of_call = truth.clone();
        improve(&service, &events, &mut request_of_call, &mut shapes, &mut model);
        let right = |request_of_call: &[Option<RequestId>]| {
            request_of_call.iter().zip(&truth).filter(|(one, other)| one == other).count()
        };
        assert!(
            right(&request_of_call) >= 396,
            "no right call is exchanged: {}",
            right(&request_of_call)
        );
        // The second calls of every fourth pair are swapped between its requests.
        let mut request_of_call = truth.clone();
        for (call, assigned) in request_of_call.iter_mut().enumerate() {
            let request = assigned.unwrap().index();
            if service.calls[call].kind == 2 && request / 2 % 4 == 0 {
                *assigned = Some(RequestId::from_index(request ^ 1));
            }
        }
        assert_eq!(right(&request_of_call), 350);
        improve(&service, &events, &mut request_of_call, &mut shapes, &mut model);
        assert!(right(&request_of_call) >= 396, "{}", right(&request_of_call));
    }

    #[test]
    fn exchanges_match_handwritten_ones() {
        let (service, _) = service();
        let (mut shapes, mut model) = (Shapes::new(), ServiceModel::default());
        // Requests 0 and 1 have two calls each: 0 and 2, 1 and 3.
        let scores = vec![None; service.requests.len()];
        let mut made = vec![Vec::new(); service.requests.len()];
        let calls = |of: [usize; 2]| of.map(MadeCallId::from_index).to_vec();
        (made[0], made[1]) = (calls([0, 2]), calls([1, 3]));
        let pairs = ExchangedCalls {
            service: &service,
            shapes: &mut shapes,
            model: &mut model,
            made,
            scores,
        };
        let at = |of: [(usize, usize); 2]| {
            of.map(|(request, call)| (RequestId::from_index(request), MadeCallId::from_index(call)))
        };
        let first = at([(0, 0), (1, 1)]);
        assert_eq!(
            pairs.after_exchange(first, CallExchange::One),
            Some([calls([1, 2]), calls([0, 3])])
        );
        assert_eq!(
            pairs.after_exchange(first, CallExchange::Later),
            Some([calls([1, 3]), calls([0, 2])])
        );
        assert_eq!(
            pairs.after_exchange(first, CallExchange::Earlier),
            None,
            "the same as one call each"
        );
        assert_eq!(
            pairs.after_exchange(at([(0, 2), (1, 3)]), CallExchange::Earlier),
            Some([calls([1, 3]), calls([0, 2])])
        );
        // A call before the receipt of a request is not for it.
        assert_eq!(pairs.after_exchange(at([(0, 0), (2, 4)]), CallExchange::One), None);
    }
}
