//! The model of a service: for each kind of request the calls that it makes, their order, their
//! delays and triggers, and the delay of the response. Every part is a logarithm of a probability
//! or of a density per nanosecond, so that different kinds of evidence have one scale.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::agreement::RestartConsensus;
use super::connections::ConnectionEvidence;
use super::density::Density;
use super::events::ServiceEvent;
use super::idle::while_idle;
use super::promises::LookaheadModel;
use super::service::{RequestId, Service};
use super::shapes::{ShapeId, Shapes};
use super::sizes::SizeEvidence;
use super::threads::ThreadEvidence;
use super::trigger::Trigger;
use crate::tuning::auto::model::fit::{ANY_SHAPE, MIN_PROBABILITY, SLOTS, SURPLUS_CALL_NATS};

/// The delay after which calls of a kind are made.
#[derive(Debug)]
pub(super) struct CallDelay {
    pub(super) trigger: Trigger,
    pub(super) density: Density,
    /// The logarithms of the probabilities that 0, 1, 2, and 3 or more other calls are open when a
    /// call of the kind is made.
    pub(super) open: [f64; 4],
}

/// The model of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceModel {
    /// Delays by the kinds of the request and the call, and the number of calls of that kind
    /// before.
    pub(super) delays: FxHashMap<(u32, u32, u32), Arc<CallDelay>>,
    /// Number of requests of a kind that ended with each shape.
    pub(super) finals: FxHashMap<u32, Vec<(ShapeId, f64)>>,
    /// Number of requests with 0, 1, 2 and more calls of a kind, by the kinds of the request and
    /// the call.
    pub(super) counts: FxHashMap<u32, Vec<(u32, Vec<f64>)>>,
    /// The same for requests of all kinds, by the kind of call.
    pub(super) counts_of_all: FxHashMap<u32, Vec<f64>>,
    /// Number of requests that are left out of the counts when a request is scored: 1, since the
    /// scored request was counted, too, and is no evidence of itself; 0 if there is no other
    /// request, or if the counts are of another batch.
    pub(super) own_requests: f64,
    /// Next calls for a request of a kind and shape, each with its frequency.
    pub(super) next: FxHashMap<(u32, ShapeId), Vec<(u32, f64)>>,
    /// Log-odds by which a later request overtakes less often than its delay alone predicts, by the
    /// kind of call.
    pub(super) overtaking: FxHashMap<u32, f64>,
    /// Evidence of threads.
    pub(super) threads: ThreadEvidence,
    /// Evidence of connections.
    pub(super) connections: ConnectionEvidence,
    /// Evidence of the ends of calls.
    pub(super) lookaheads: LookaheadModel,
    /// Evidence of sizes.
    pub(super) sizes: SizeEvidence,
    /// Usual number of calls of each kind for a request; a request with more such calls is
    /// doubtful. Kinds without a usual number are missing.
    pub(super) usual: FxHashMap<u32, u32>,
    /// Shares of the calls before and after the response, by the kinds of request and call.
    pub(super) after_answer: FxHashMap<(u32, u32), [f64; 2]>,
    /// Logarithm of the rate of calls of a kind for no request, per nanosecond.
    pub(super) spontaneous: FxHashMap<u32, f64>,
    /// Whether a call is a background call only if that is likelier than all open requests
    /// together.
    pub(super) background_among_all: bool,
    /// Consensus of assignments from other restarts.
    pub(super) consensus: RestartConsensus,
    /// The triggers that do not follow from the last event of a request, sorted.
    pub(super) triggers: Vec<Trigger>,
    /// The request that each call was assigned to when the model was learned, and the delay of the
    /// call in nanoseconds.
    pub(super) learned_calls: Arc<Vec<(Option<RequestId>, i64)>>,
    /// The delay of each reply that was a sample, in nanoseconds.
    pub(super) learned_replies: Arc<Vec<i64>>,
    /// Cached results.
    pub(super) memo: ModelCache,
}

/// Cached results of a model.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelCache {
    /// Results of [`ServiceModel::shape_log_probabilities`].
    shapes: FxHashMap<(u32, ShapeId), [f64; 2]>,
    /// Results of [`ServiceModel::step`], by the kind and the shape of the request and the kind of
    /// call.
    step_indices: FxHashMap<(u32, ShapeId, u32), u32>,
    pub(super) steps: Vec<StepScores>,
}

/// Parts of the log-likelihood of a call of one kind for requests of one kind and shape.
#[derive(Clone, Debug)]
pub(super) struct StepScores {
    /// Whether calls of this kind were ever made for requests of this kind and shape.
    pub(super) is_known: bool,
    /// Log-probability that a request of this shape gets the further call, now or later.
    pub(super) shaped: f64,
    /// Log-probability that this kind is called next.
    pub(super) next: f64,
    /// The delay, if it is known.
    pub(super) delay: Option<Arc<CallDelay>>,
}

/// Assumption about calls for no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackgroundAssumption {
    /// As frequent as in the assignment from which the model is learned. A call that fits no
    /// request well is then not learned from.
    Counted,
    /// As frequent as in the assignment from which the model is learned, but a background call must
    /// be likelier than all open requests together.
    AmongAll,
    /// As frequent as while no request is open.
    WhileIdle,
}

impl ServiceModel {
    /// The logarithms of the probabilities that a request of this kind ends with at least the calls
    /// of a shape, and with exactly these calls.
    pub(super) fn shape_log_probabilities(
        &mut self,
        shapes: &Shapes,
        kind: u32,
        shape: ShapeId,
    ) -> [f64; 2] {
        if let Some(known) = self.memo.shapes.get(&(kind, shape)) {
            return *known;
        }
        let finals = self.finals.get(&kind).map_or(&[][..], Vec::as_slice);
        let own = self.own_requests;
        let (mut least, mut just, mut total) = (-own, -own, 0.5 - own);
        for (of, count) in finals {
            total += count;
            if *of == shape {
                just += count;
            }
            if shapes.contains(*of, shape) {
                least += count;
            }
        }
        // As if calls of each kind were independent of the other kinds.
        let (mut any_least, mut any_just) = (1.0f64, 1.0f64);
        let known = self.counts.get(&kind).map_or(&[][..], Vec::as_slice);
        for (of, counts) in known {
            let count = shapes.count(shape, *of) as usize;
            let of_all = self.counts_of_all.get(of).map_or(&[][..], Vec::as_slice);
            let [at_least, exactly] = count_probabilities(counts, of_all, own, count);
            (any_least, any_just) = (any_least * at_least, any_just * exactly);
        }
        for (of, count) in shapes.counts(shape) {
            if !known.iter().any(|(known, _)| known == of) {
                let rare = 0.01f64.powi(*count as i32);
                (any_least, any_just) = (any_least * rare, any_just * rare);
            }
        }
        let mixed = |seen: f64, any: f64| {
            let seen = (1.0 - ANY_SHAPE) * seen.max(0.0) / total;
            (seen + ANY_SHAPE * any.min(1.0)).max(MIN_PROBABILITY).ln()
        };
        let found = [mixed(least, any_least), mixed(just, any_just)];
        self.memo.shapes.insert((kind, shape), found);
        found
    }

    /// Log-probability that `call` is the kind of the next call of a request of this kind and
    /// shape.
    fn next(&self, kind: u32, shape: ShapeId, call: u32) -> f64 {
        let Some(next) = self.next.get(&(kind, shape)) else { return 0.0 };
        let total: f64 = next.iter().map(|(_, count)| count).sum();
        let seen = next.iter().find(|(of, _)| *of == call).map_or(0.0, |(_, count)| *count);
        ((seen + 0.5) / (total + 0.5 * (next.len() as f64 + 1.0))).ln()
    }

    /// Applies an assumption about background calls to a model that was learned from an assignment.
    pub(super) fn suppose_background(
        &mut self,
        service: &Service,
        events: &[(i64, ServiceEvent)],
        background: BackgroundAssumption,
    ) {
        self.background_among_all = background == BackgroundAssumption::AmongAll;
        if background == BackgroundAssumption::WhileIdle {
            let rates = while_idle(service, events);
            for (kind, rate) in &mut self.spontaneous {
                *rate = rates.get(kind).copied().unwrap_or(*rate);
            }
        }
    }

    /// The delay of a call of the kind `call` for a request of the kind `kind` that has made
    /// `before` such calls; if that is not known, the delay after fewer such calls.
    pub(super) fn delay_of(&self, kind: u32, call: u32, before: u32) -> Option<&Arc<CallDelay>> {
        (0..=before.min(SLOTS - 1)).rev().find_map(|slot| self.delays.get(&(kind, call, slot)))
    }

    /// The scores of a call of the kind `call` for requests of the kind `kind` and this shape, as
    /// an index in [`ModelCache::steps`].
    pub(super) fn step(
        &mut self,
        shapes: &mut Shapes,
        kind: u32,
        shape: ShapeId,
        call: u32,
    ) -> usize {
        if let Some(step) = self.memo.step_indices.get(&(kind, shape, call)) {
            return *step as usize;
        }
        let grown = shapes.with_call(shape, call);
        let [possible, _] = self.shape_log_probabilities(shapes, kind, shape);
        let [still, _] = self.shape_log_probabilities(shapes, kind, grown);
        let count = shapes.count(shape, call);
        let is_crowded = self.usual.get(&call).is_some_and(|usual| count >= *usual);
        let step = StepScores {
            is_known: self.delay_of(kind, call, 0).is_some(),
            shaped: still - possible - if is_crowded { SURPLUS_CALL_NATS } else { 0.0 },
            next: self.next(kind, shape, call),
            delay: self.delay_of(kind, call, count).cloned(),
        };
        self.memo.steps.push(step);
        self.memo.step_indices.insert((kind, shape, call), self.memo.steps.len() as u32 - 1);
        self.memo.steps.len() - 1
    }
}

/// Probabilities that a request makes at least and exactly `count` calls of a kind, if
/// `counts[n]` requests of its kind, itself among them, made `n`, and `of_all[n]` requests of any
/// kind. `own` of the requests are left out of both. The kind has the distribution of all as its
/// prior, with the weight of a request.
fn count_probabilities(counts: &[f64], of_all: &[f64], own: f64, count: usize) -> [f64; 2] {
    let requests: f64 = of_all.iter().sum();
    let seen = |counts: &[f64]| {
        let at_least = counts.iter().skip(count).sum();
        let exactly = counts.get(count).copied().unwrap_or(0.0);
        [at_least, exactly].map(|seen: f64| (seen - own).max(0.0))
    };
    // Numbers that no other request has follow a geometric distribution with the mean of all, so
    // that each further call is less likely by the same factor.
    let calls: f64 = of_all.iter().enumerate().map(|(calls, of)| calls as f64 * of).sum();
    let mean = calls / requests.max(1.0);
    let tail = (mean / (1.0 + mean)).powi(count as i32);
    let [at_least, exactly] = seen(of_all);
    let total = requests - own + 1.0;
    let prior = [(at_least + 0.5 * tail) / total, (exactly + 0.02 * tail) / total];
    let [at_least, exactly] = seen(counts);
    let total = counts.iter().sum::<f64>() - own + 1.0;
    [(at_least + prior[0]) / total, (exactly + prior[1]) / total]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_no_evidence_of_its_own_number_of_calls() {
        // 80 requests without calls, and one with 66: only the number that it has itself speaks
        // for it. The same if it is the only one of its kind.
        let mut of_all = vec![80.0];
        of_all.resize(67, 0.0);
        of_all[66] = 1.0;
        let mut alone = of_all.clone();
        alone[0] = 0.0;
        for counts in [&of_all, &alone] {
            let [at_least, exactly] = count_probabilities(counts, &of_all, 1.0, 66);
            assert!(at_least < 1e-20 && exactly < 1e-20, "{at_least} {exactly}");
        }
        let [_, none] = count_probabilities(&of_all, &of_all, 1.0, 0);
        assert!((none - (79.0 + 79.02 / 81.0) / 81.0).abs() < 1e-9, "{none}");
    }

    #[test]
    fn the_only_request_is_compared_with_itself() {
        let [at_least, exactly] = count_probabilities(&[0.0, 1.0], &[0.0, 1.0], 0.0, 1);
        assert!((at_least - (1.0 + 1.25 / 2.0) / 2.0).abs() < 1e-9 && exactly > 0.5);
    }

    #[test]
    fn each_further_call_is_less_likely_by_the_same_factor() {
        // Two calls for each of ten requests: a mean of 2, so that the factor is 2/3.
        let counts = [0.0, 0.0, 10.0];
        let at_least = |count| count_probabilities(&counts, &counts, 1.0, count)[0];
        assert!((at_least(5) / at_least(4) - 2.0 / 3.0).abs() < 1e-9);
        assert!(at_least(2) > 0.9, "{}", at_least(2));
    }
}
