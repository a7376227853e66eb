//! Restarts of learning. Nothing is known of a service at first, so learning starts from several
//! initial assignments, on the beginning of the trace and with few hypotheses. Learning continues
//! with the one that has the best log-likelihood after some EM iterations. Restarts run on all
//! processors.

use super::agreement::RestartConsensus;
use super::connections::ConnectionEvidence;
use super::correlate;
use super::density::Axis;
use super::events::{ServiceEvent, calls_by_request, events};
use super::first_assignments::{InitialRule, assign_by_rule, solo_requests};
use super::learn::learn;
use super::learner::EmStep;
use super::model::{BackgroundAssumption, ServiceModel};
use super::service::{RequestId, Service};
use super::shapes::Shapes;
use super::sizes::SizeEvidence;
use super::waits;
use crate::tuning::auto::learning::beginnings::{
    BACKGROUND_LOG_LIKELIHOOD, LAST_ITERATIONS, REQUESTS, RESTART_ITERATIONS, THREAD_HANDICAP,
    WAITING_COST, WIDTH, WORSE_NATS,
};
use out_of_core::workers;

/// Results of the restarts.
#[derive(Debug)]
pub(super) struct RestartResults {
    /// The model of the best restart.
    pub(super) model: ServiceModel,
    /// The consensus of all restarts.
    agreement: RestartConsensus,
    /// The final assignments, each with its log-likelihood in nats.
    all: Vec<(f64, Vec<Option<RequestId>>)>,
    /// The final assignment of the restart that does not assume FIFO order.
    without_fifo: Option<Vec<Option<RequestId>>>,
    /// The part of the service that the restarts ran on.
    sample: Service,
    events: Vec<(i64, ServiceEvent)>,
    axis: Axis,
    background: BackgroundAssumption,
}

/// A restart while it runs.
struct RestartTrial {
    /// The rule of the initial assignment. `None`: correlation, without the assumption that an
    /// event loop is FIFO.
    choice: Option<InitialRule>,
    /// The request of each call in the initial assignment.
    first: Vec<Option<RequestId>>,
    /// The request of each call after the EM iterations so far.
    request_of_call: Vec<Option<RequestId>>,
    shapes: Shapes,
}

/// A restart with its log-likelihood.
struct ScoredRestart {
    /// Log-likelihood in nats.
    log_likelihood: f64,
    first: Vec<Option<RequestId>>,
    request_of_call: Vec<Option<RequestId>>,
    model: ServiceModel,
    shapes: Shapes,
    /// Whether the initial assignment was kept since it has the better log-likelihood.
    was_kept: bool,
}

/// A finished EM iteration, with the shapes after it.
struct FinishedIteration {
    /// Whether event loops were assumed to be FIFO.
    assumes_fifo: bool,
    background: BackgroundAssumption,
    /// The request of each call before the iteration.
    request_of_call: Vec<Option<RequestId>>,
    /// The request of each call after the iteration.
    next: Vec<Option<RequestId>>,
    shapes: Shapes,
}

/// Runs several restarts and returns the results. `shapes` is replaced by the shapes of the best
/// restart.
pub(super) fn run_restarts(
    service: &Service,
    axis: Axis,
    shapes: &mut Shapes,
    background: BackgroundAssumption,
) -> RestartResults {
    let part = service.prefix_of_size(REQUESTS);
    let learner = restart_em_step(&part, events(&part), axis);
    let choices: Vec<InitialRule> =
        InitialRule::ALL.into_iter().filter(|choice| choice.is_known(&part)).collect();
    // All restarts assume FIFO order, so their agreement does not prove that it is true.
    let may_assume_fifo = part.is_fifo();
    let known: Vec<Option<InitialRule>> =
        choices.into_iter().map(Some).chain(may_assume_fifo.then_some(None)).collect();
    let mut trials = workers::map_items(known.len(), |place| {
        learner.initial_trial(known[place], shapes.clone(), background)
    });
    let mut done = Vec::new();
    for round in 0..RESTART_ITERATIONS + LAST_ITERATIONS {
        let background =
            if round < RESTART_ITERATIONS { background } else { BackgroundAssumption::WhileIdle };
        learner.run_iteration(&mut trials, background, &mut done);
    }
    drop(done);
    let without_fifo =
        trials.pop_if(|trial| trial.choice.is_none()).map(|trial| trial.request_of_call);
    let worse = part.calls.len() as f64 * WORSE_NATS;
    let tried = workers::map_items(trials.len(), |place| {
        let trial = &trials[place];
        let [after, before] = [&trial.request_of_call, &trial.first]
            .map(|requests| learner.score_restart(trial, requests, background));
        better_restart(after, before, worse)
    });
    let mut all: Vec<ScoredRestart> = Vec::new();
    for one in tried {
        // An initial assignment that another restart converged to is not counted again.
        if !all.iter().any(|other| other.request_of_call == one.first) {
            all.push(one);
        }
    }
    all.sort_by(|one, other| other.log_likelihood.total_cmp(&one.log_likelihood));
    let fits: Vec<(f64, Vec<Option<RequestId>>)> =
        all.iter().map(|one| (one.log_likelihood, one.request_of_call.clone())).collect();
    let agreement = RestartConsensus::from_assignments(
        &part,
        &learner.events,
        &votes_of_restarts(&fits, without_fifo.as_deref()),
    );
    let mut model = ServiceModel::default();
    if let Some(best) = all.into_iter().next() {
        *shapes = best.shapes;
        model = match best.was_kept {
            // A model without FIFO order and without lookahead would lead away from it again.
            true => learner.model(&best.request_of_call, background, shapes),
            false => best.model,
        };
    }
    let events = learner.events;
    RestartResults {
        model,
        agreement,
        all: fits,
        without_fifo,
        sample: part,
        events,
        axis,
        background,
    }
}

/// Votes of the restarts: one each, and for the restart without the FIFO assumption as many as for
/// all others together, as if it had the best log-likelihood.
fn votes_of_restarts<'a>(
    all: &'a [(f64, Vec<Option<RequestId>>)],
    without_fifo: Option<&'a [Option<RequestId>]>,
) -> Vec<(f64, &'a [Option<RequestId>])> {
    let mut votes: Vec<(f64, &[Option<RequestId>])> =
        all.iter().map(|(fit, requests)| (*fit, requests.as_slice())).collect();
    if let (Some((fit, _)), Some(without_fifo)) = (all.first(), without_fifo) {
        votes.extend(vec![(*fit, without_fifo); all.len()]);
    }
    votes
}

impl RestartResults {
    /// Adds the assignment that was learned from the best restart to the results.
    pub(super) fn add(&mut self, request_of_call: &[Option<RequestId>], shapes: &Shapes) {
        let learned = self.requests_in_sample(request_of_call);
        self.all.push((self.log_likelihood(&learned, shapes), learned));
    }

    /// The consensus about the last assignment, `request_of_call`. Learning continues from the best
    /// restart and may lead far away from all restarts. In that case the restarts limit the
    /// probabilities of the last assignment, unless its log-likelihood is better.
    pub(super) fn consensus(
        &self,
        request_of_call: &[Option<RequestId>],
        shapes: &Shapes,
    ) -> RestartConsensus {
        let last = self.requests_in_sample(request_of_call);
        let mut found = vec![(self.log_likelihood(&last, shapes), last.as_slice())];
        found.extend(votes_of_restarts(&self.all, self.without_fifo.as_deref()));
        self.agreement.clone().bounded_by_consensus(&self.sample, &self.events, &found)
    }

    /// Restricts an assignment to the part that the restarts ran on.
    fn requests_in_sample(&self, request_of_call: &[Option<RequestId>]) -> Vec<Option<RequestId>> {
        let is_in = |request: &RequestId| request.index() < self.sample.requests.len();
        let requests = request_of_call.iter().take(self.sample.calls.len());
        requests.map(|request| request.filter(is_in)).collect()
    }

    fn log_likelihood(&self, request_of_call: &[Option<RequestId>], shapes: &Shapes) -> f64 {
        let learner = restart_em_step(&self.sample, self.events.clone(), self.axis);
        let shapes = shapes.clone();
        let trial =
            RestartTrial { choice: None, first: Vec::new(), request_of_call: Vec::new(), shapes };
        learner.score_restart(&trial, request_of_call, self.background).log_likelihood
    }
}

/// The EM step of restarts.
fn restart_em_step(part: &Service, events: Vec<(i64, ServiceEvent)>, axis: Axis) -> EmStep<'_> {
    EmStep { service: part, events, axis, width: WIDTH, exchanges: false, assumes_fifo: true }
}

/// Returns a restart after all EM iterations, or its initial assignment if that has a better
/// log-likelihood by more than `worse` nats. If many requests are open, learning may abandon a
/// nearly right assignment for one with a far lower log-likelihood.
fn better_restart(after: ScoredRestart, before: ScoredRestart, worse: f64) -> ScoredRestart {
    match before.log_likelihood > after.log_likelihood + worse {
        true => ScoredRestart { was_kept: true, ..before },
        false => after,
    }
}

impl EmStep<'_> {
    /// A restart before any EM iteration.
    fn initial_trial(
        &self,
        choice: Option<InitialRule>,
        mut shapes: Shapes,
        background: BackgroundAssumption,
    ) -> RestartTrial {
        let part = self.service;
        let model = match choice {
            None | Some(InitialRule::Correlated) => {
                Some(correlate::model(part, &mut shapes, self.axis))
            }
            Some(InitialRule::Solo) => {
                let request_of_call = assign_by_rule(part, &self.events, InitialRule::Solo);
                let solo = solo_requests(part, &self.events);
                let made = calls_by_request(part, &request_of_call);
                Some(learn(part, &made, |request| solo[request], &mut shapes, self.axis))
            }
            Some(_) => None,
        };
        let first = match (model, choice) {
            (Some(mut model), _) => {
                model.suppose_background(part, &self.events, background);
                self.best_requests(&shapes, &model)
            }
            (None, choice) => {
                choice.map_or_else(Vec::new, |choice| assign_by_rule(part, &self.events, choice))
            }
        };
        RestartTrial { choice, request_of_call: first.clone(), first, shapes }
    }

    /// Runs one EM iteration of all restarts. Equal assignments have equal results, and several
    /// restarts mostly converge to the same assignment sooner or later. So each iteration is run
    /// only once and kept in `done`.
    fn run_iteration(
        &self,
        trials: &mut [RestartTrial],
        background: BackgroundAssumption,
        done: &mut Vec<FinishedIteration>,
    ) {
        let is_of = |done: &FinishedIteration, trial: &RestartTrial| {
            (done.assumes_fifo, done.background) == (trial.choice.is_some(), background)
                && done.request_of_call == trial.request_of_call
        };
        // The restart without the FIFO assumption votes but is never the best, so it need not
        // converge.
        let goes_on = |trial: &RestartTrial| {
            trial.choice.is_some() || background != BackgroundAssumption::WhileIdle
        };
        let mut new: Vec<&RestartTrial> = Vec::new();
        for trial in trials.iter().filter(|trial| goes_on(trial)) {
            let is_same = |other: &&RestartTrial| {
                other.choice.is_some() == trial.choice.is_some()
                    && other.request_of_call == trial.request_of_call
            };
            if !done.iter().any(|done| is_of(done, trial)) && !new.iter().any(is_same) {
                new.push(trial);
            }
        }
        let found = workers::map_items(new.len(), |place| {
            let (trial, mut shapes) = (new[place], new[place].shapes.clone());
            let assumes_fifo = trial.choice.is_some();
            let learner = EmStep { assumes_fifo, events: self.events.clone(), ..*self };
            let model = learner.model_without_fifo(&trial.request_of_call, background, &mut shapes);
            let next = learner.best_requests(&shapes, &model);
            FinishedIteration {
                assumes_fifo,
                background,
                request_of_call: trial.request_of_call.clone(),
                next,
                shapes,
            }
        });
        done.extend(found);
        for trial in trials.iter_mut().filter(|trial| goes_on(trial)) {
            if let Some(done) = done.iter().find(|done| is_of(done, trial)) {
                (trial.request_of_call, trial.shapes) = (done.next.clone(), done.shapes.clone());
            }
        }
    }

    /// The restart with its current assignment and log-likelihood.
    fn score_restart(
        &self,
        trial: &RestartTrial,
        request_of_call: &[Option<RequestId>],
        background: BackgroundAssumption,
    ) -> ScoredRestart {
        let (part, mut shapes) = (self.service, trial.shapes.clone());
        let mut model =
            learn(part, &calls_by_request(part, request_of_call), |_| true, &mut shapes, self.axis);
        model.connections = ConnectionEvidence::learn(part, &self.events, request_of_call);
        model.sizes = SizeEvidence::learn(part, &self.events, request_of_call);
        model.suppose_background(part, &self.events, background);
        let is_by_thread = trial.choice == Some(InitialRule::Thread);
        let by_itself = if is_by_thread { THREAD_HANDICAP * part.calls.len() as f64 } else { 0.0 };
        let waiting =
            WAITING_COST * part.calls.len() as f64 * waits::after_last_call(part, request_of_call);
        let fit = assignment_log_likelihood(part, request_of_call, &mut shapes, &mut model)
            - by_itself
            - waiting;
        ScoredRestart {
            log_likelihood: fit,
            first: trial.first.clone(),
            request_of_call: request_of_call.to_vec(),
            model,
            shapes,
            was_kept: false,
        }
    }
}

/// Log-likelihood of an assignment under its own model, in nats. The contribution of a call to the
/// model is left out for that call.
fn assignment_log_likelihood(
    service: &Service,
    request_of_call: &[Option<RequestId>],
    shapes: &mut Shapes,
    model: &mut ServiceModel,
) -> f64 {
    let background = request_of_call.iter().filter(|request| request.is_none()).count() as f64
        * BACKGROUND_LOG_LIKELIHOOD;
    let mut sum = background;
    for (request, made) in RequestId::ids().zip(calls_by_request(service, request_of_call)) {
        sum += model.request(service, shapes, request, &made);
    }
    sum
}

#[cfg(test)]
#[path = "beginnings_tests.rs"]
mod tests;
