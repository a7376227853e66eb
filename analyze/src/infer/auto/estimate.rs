//! Model and assignment of a service, each computed from the other until they converge: expectation
//! maximisation with the single best assignment in place of an expectation. Nothing is known at
//! first, so learning is restarted from several initial assignments ([`super::beginnings`]). The
//! model is kept for later batches.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::assignment::Assignment;
use super::beginnings::RestartResults;
use super::early;
use super::events::events;
use super::model::{BackgroundAssumption, ServiceModel};
use super::nearly_in_turn;
use super::parts::search;
use super::pool;
use super::rounds::{background_share, learn_model};
use super::service::{NodeSpan, RequestId, Service};
use super::shapes::Shapes;
use super::strict;
use super::thread_time;
use super::traced;
use super::words;
use super::workers;
use crate::evidence::Evidence;
use crate::tuning::auto::learning::discipline::SURE_NATS;
use crate::tuning::auto::learning::rounds::{
    LAST_WIDTH, LOST_SHARE, MANY_OPEN, MAX_SHAPES, MIN_REQUESTS, RELEARN_FACTOR, RELEARN_NEW_SHARE,
    REQUESTS,
};
use crate::tuning::auto::services::thread_time::SURPLUS_SHARE;

/// A model of a service, learned in one batch of the trace for the next ones.
#[derive(Debug)]
pub(super) struct LearnedModel {
    model: ServiceModel,
    shapes: Shapes,
    /// The restarts, until the consensus about the model's assignment is known.
    restarts: Option<RestartResults>,
    /// Whether delays are measured in thread time ([`super::thread_time`]).
    in_thread_time: bool,
    /// Number of requests that the model was learned from.
    requests: usize,
    /// The kinds of these requests, and of their calls.
    kinds: [FxHashSet<u32>; 2],
}

impl LearnedModel {
    /// Learns a model from the beginning of `service`.
    fn from_service(service: &Service) -> LearnedModel {
        let mut shapes = Shapes::new();
        let sample = service.prefix_of_size(learning_size(service));
        let (mut model, mut request_of_call, mut restarts) =
            learn_model(&sample, &mut shapes, BackgroundAssumption::Counted);
        if background_share(&request_of_call) > LOST_SHARE {
            // While many similar requests are open, each alone is less likely for a call than no
            // request at all. So their calls are assigned to no request, and since such calls are
            // not learned from, this never improves. `AmongAll` compares with all open requests
            // together.
            let (other, other_requests, other_restarts) =
                learn_model(&sample, &mut shapes, BackgroundAssumption::AmongAll);
            if background_share(&other_requests) < background_share(&request_of_call) {
                (model, request_of_call, restarts) = (other, other_requests, other_restarts);
            }
        }
        let mut in_thread_time = false;
        let surplus_share = thread_time::surplus_share(&sample, &request_of_call);
        if surplus_share > SURPLUS_SHARE
            && sample.is_fifo()
            && sample.evidence.contains(Evidence::Delays)
        {
            // One request has the calls of others, since the thread is always busy.
            let mut others = Shapes::new();
            let (other, other_requests, other_restarts) =
                learn_model(&sample.in_thread_time(), &mut others, BackgroundAssumption::Counted);
            let is_less = thread_time::surplus_share(&sample, &other_requests) < surplus_share;
            if is_less
                && background_share(&other_requests)
                    <= background_share(&request_of_call) + LOST_SHARE / 2.0
            {
                (model, shapes, restarts, in_thread_time) = (other, others, other_restarts, true);
            }
        }
        model.overtaking.retain(|_, less| *less > SURE_NATS);
        let kinds = [&sample.requests, &sample.calls]
            .map(|spans| spans.iter().map(|span| span.kind).collect());
        let requests = sample.requests.len();
        LearnedModel { model, shapes, restarts: Some(restarts), in_thread_time, requests, kinds }
    }

    /// This model, for use in another batch of `service`; `None` if so much is new in that batch
    /// that a model should be learned from it.
    fn for_batch(self, service: &Service) -> Option<LearnedModel> {
        let more =
            service.requests.len().min(learning_size(service)) > RELEARN_FACTOR * self.requests;
        let is_new = |spans: &[NodeSpan], known: &FxHashSet<u32>| {
            let new = spans.iter().filter(|span| !known.contains(&span.kind)).count();
            new as f64 > RELEARN_NEW_SHARE * spans.len() as f64
        };
        let [requests, calls] = &self.kinds;
        let new = is_new(&service.requests, requests) || is_new(&service.calls, calls);
        let is_timed_alike = !self.in_thread_time || service.is_fifo();
        (!more && !new && is_timed_alike && self.shapes.len() <= MAX_SHAPES).then_some(self)
    }

    fn search(&mut self, service: &Service) -> Assignment {
        let whole = service;
        let in_thread_time = self.in_thread_time.then(|| service.in_thread_time());
        let service = in_thread_time.as_ref().unwrap_or(service);
        self.model.threads = std::mem::take(&mut self.model.threads).in_all_of(service);
        let events = events(service);
        let mut found = search(service, &events, &self.shapes, &self.model, LAST_WIDTH, true);
        found.prefer_best(|call| service.shared_write(service.calls[call].begin).is_some());
        if let Some(restarts) = self.restarts.take() {
            self.model.consensus = restarts.consensus(&found.request_of_call, &self.shapes);
        }
        self.model.consensus.calibrate_shares(service, &events, &mut found.shares);
        if let Some(tried) = strict::commit_fifo(service, &mut found) {
            nearly_in_turn::commit_near_fifo(service, &tried, &mut found);
        }
        pool::calibrate_shares(service, &mut found.shares);
        early::calibrate_shares(service, &mut found.shares);
        workers::calibrate_shares(service, &mut found.shares);
        words::update_assignment(whole, &mut found);
        traced::restrict_to_traces(whole, &mut found.shares);
        // No request or call of another batch is a sample that the model was learned from.
        self.model.own_requests = 0.0;
        self.model.learned_calls = Arc::default();
        self.model.learned_replies = Arc::default();
        found
    }
}

/// Assigns all calls of `service`, with probabilities, and learns its model. A model from an
/// earlier batch of the trace stays in use as long as calls find their requests by it.
pub(super) fn estimate(
    service: &Service,
    known: Option<LearnedModel>,
) -> (Assignment, LearnedModel) {
    if let Some(mut known) = known.and_then(|known| known.for_batch(service)) {
        let found = known.search(service);
        if background_share(&found.request_of_call) <= LOST_SHARE {
            return (found, known);
        }
    }
    let mut known = LearnedModel::from_service(service);
    (known.search(service), known)
}

/// Approximate number of requests that the model of a service is learned from.
fn learning_size(service: &Service) -> usize {
    let lasted = RequestId::ids().zip(&service.requests);
    let lasted = lasted
        .map(|(at, span)| service.closed_at(at).saturating_sub(span.begin) as f64)
        .sum::<f64>();
    let begin = |span: Option<&NodeSpan>| span.map_or(0, |span| span.begin);
    let all = begin(service.requests.last()).saturating_sub(begin(service.requests.first())).max(1);
    let open = lasted / all as f64;
    ((REQUESTS as f64 * MANY_OPEN / open.max(MANY_OPEN)) as usize).max(MIN_REQUESTS)
}
