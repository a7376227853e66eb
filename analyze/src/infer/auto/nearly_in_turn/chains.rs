//! Request chains: the receipt of each request, its calls in their order, and its response, for
//! requests that all have the same kinds of calls; and the distance of the chains from the order of
//! events.

use rustc_hash::FxHashMap;

use crate::infer::auto::events::calls_by_request;
use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service};
use crate::infer::auto::strict::RejectedFifo;
use crate::tuning::auto::search::nearly_in_turn::{IMPOSSIBLE, WAKE_UP_POWER};

/// Requests with calls of the same kinds, each kind once, and these calls.
#[derive(Debug)]
pub(super) struct RequestChains<'a> {
    service: &'a Service,
    requests: Vec<RequestId>,
    /// The place of each request in the order of receipts.
    received: Vec<usize>,
    /// The place of each request in the order of responses.
    answered: Vec<usize>,
    /// The steps, by the place of a call in its request.
    steps: Vec<ChainStep>,
    /// Number of all requests of these kinds, including those with other calls.
    all: usize,
    /// Weight of the order of receipts, as an exponent.
    received_power: f64,
}

/// The calls of one kind, in the order in which they were made.
#[derive(Debug)]
struct ChainStep {
    calls: Vec<MadeCallId>,
    /// The place of each call in the order in which they ended.
    ended: Vec<usize>,
    /// The place in `calls` of the call of each request.
    of_request: Vec<usize>,
    /// The place of the request of each call.
    of_call: Vec<usize>,
}

impl<'a> RequestChains<'a> {
    /// The chains of the kinds of requests that have the same kinds of calls, with the assignment
    /// of the rejected order. Kinds of calls that a request makes twice, and requests with other
    /// calls, are left out. The order of receipts has the weight `received_power`.
    pub(super) fn from_service(
        service: &'a Service,
        tried: &RejectedFifo,
        received_power: f64,
    ) -> Vec<RequestChains<'a>> {
        let mut kinds: FxHashMap<&[u32], Vec<u32>> = FxHashMap::default();
        for (kind, plan) in &tried.plans {
            kinds.entry(plan).or_default().push(*kind);
        }
        let mut uses: FxHashMap<u32, usize> = FxHashMap::default();
        kinds
            .keys()
            .flat_map(|plan| plan.iter())
            .for_each(|kind| *uses.entry(*kind).or_default() += 1);
        let mut plans: Vec<(&[u32], Vec<u32>)> = kinds.into_iter().collect();
        plans.retain(|(plan, _)| !plan.is_empty() && plan.iter().all(|kind| uses[kind] == 1));
        plans.sort_unstable();
        let made = calls_by_request(service, &tried.request_of_call);
        let of = |(plan, kinds): &(&[u32], Vec<u32>)| {
            let chains = RequestChains::of_plan(service, plan, kinds, &made);
            RequestChains { received_power, ..chains }
        };
        plans.iter().map(of).collect()
    }

    /// The chains of the requests of these `kinds` that have exactly the calls of the `plan`;
    /// `made` has the calls of each request.
    fn of_plan(
        service: &'a Service,
        plan: &[u32],
        kinds: &[u32],
        made: &[Vec<MadeCallId>],
    ) -> RequestChains<'a> {
        let of_kinds =
            RequestId::ids().zip(&service.requests).filter(|(_, span)| kinds.contains(&span.kind));
        let of_kinds: Vec<RequestId> = of_kinds.map(|(request, _)| request).collect();
        let kind = |call: &MadeCallId| service.calls[call.index()].kind;
        let is_complete = |request: &RequestId| {
            let calls = &made[request.index()];
            service.requests[request.index()].end != OPEN
                && calls.iter().map(kind).eq(plan.iter().copied())
                && calls.iter().all(|call| service.calls[call.index()].end != OPEN)
        };
        let requests: Vec<RequestId> = of_kinds.iter().copied().filter(is_complete).collect();
        let span = |request: &RequestId| service.requests[request.index()];
        let steps = (0..plan.len()).map(|step| {
            let own: Vec<MadeCallId> =
                requests.iter().map(|request| made[request.index()][step]).collect();
            ChainStep::from_assignment(service, &own)
        });
        RequestChains {
            service,
            received: places(&requests, |request| span(request).begin),
            answered: places(&requests, |request| span(request).end),
            steps: steps.collect(),
            requests,
            all: of_kinds.len(),
            received_power: WAKE_UP_POWER,
        }
    }

    /// Number of chains.
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Share of the requests of these kinds that have all calls.
    pub(super) fn share_of_all(&self) -> f64 {
        self.requests.len() as f64 / self.all.max(1) as f64
    }

    /// Number of calls of each request.
    pub(super) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// All calls with their current requests, by step and then by time.
    pub(super) fn links(&self) -> impl Iterator<Item = (MadeCallId, RequestId)> {
        self.steps.iter().flat_map(|step| {
            let request = |place: &usize| self.requests[*place];
            step.calls.iter().copied().zip(step.of_call.iter().map(request))
        })
    }

    /// Exchanges two calls of a step between their requests, and with `with_later_steps` the calls
    /// of all later steps as well. Returns the nats by which the order fits worse. A second
    /// exchange undoes the first.
    pub(super) fn exchange(
        &mut self,
        step: usize,
        calls: [usize; 2],
        with_later_steps: bool,
    ) -> f64 {
        let [one, other] = calls.map(|call| self.steps[step].of_call[call]);
        let before = self.cost(one) + self.cost(other);
        let last = if with_later_steps { self.steps.len() } else { step + 1 };
        for step in &mut self.steps[step..last] {
            step.of_request.swap(one, other);
            let [first, second] = [one, other].map(|request| step.of_request[request]);
            (step.of_call[first], step.of_call[second]) = (one, other);
        }
        self.cost(one) + self.cost(other) - before
    }

    /// Average distance of a request from the order of events, in nats.
    pub(super) fn mean_cost(&self) -> f64 {
        let all: f64 = (0..self.len()).map(|place| self.cost(place)).sum();
        all / self.len().max(1) as f64
    }

    /// Distance of a request from the order of events, in nats.
    fn cost(&self, place: usize) -> f64 {
        let request = self.requests[place];
        let away = |one: usize, other: usize| (1.0 + one.abs_diff(other) as f64).ln();
        let (mut since, mut at) =
            (self.service.requests[request.index()].begin, self.received[place]);
        let (mut power, mut cost) = (self.received_power, 0.0);
        for step in &self.steps {
            let own = step.of_request[place];
            let call = step.calls[own];
            let span = self.service.calls[call.index()];
            let is_possible = span.begin >= since && self.service.covers(request, call);
            cost += power * away(at, own) + if is_possible { 0.0 } else { IMPOSSIBLE };
            (since, at, power) = (span.end, step.ended[own], WAKE_UP_POWER);
        }
        cost + WAKE_UP_POWER * away(at, self.answered[place])
    }
}

impl ChainStep {
    /// The step at which requests have these calls, one each.
    fn from_assignment(service: &Service, own: &[MadeCallId]) -> ChainStep {
        let span = |call: &MadeCallId| service.calls[call.index()];
        let of_request = places(own, |call| span(call).begin);
        let (mut of_call, mut calls) = (vec![0; own.len()], own.to_vec());
        for (request, (place, call)) in of_request.iter().zip(own).enumerate() {
            (of_call[*place], calls[*place]) = (request, *call);
        }
        let ended = places(&calls, |call| span(call).end);
        ChainStep { calls, ended, of_request, of_call }
    }
}

/// The place of each element in the order of their times.
fn places<Id>(of: &[Id], time: impl Fn(&Id) -> i64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..of.len()).collect();
    order.sort_by_key(|at| time(&of[*at]));
    let mut places = vec![0; of.len()];
    for (place, at) in order.into_iter().enumerate() {
        places[at] = place;
    }
    places
}
