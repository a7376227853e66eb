//! Beginnings of learning. Nothing is known of a service at first, so it is begun in several ways,
//! on the beginning of the trace and with few hypotheses. The one that fits best after some rounds
//! is gone on with. Beginnings are tried on all processors.

use super::NONE;
use super::agreement::Agreement;
use super::connections::Connections;
use super::correlate;
use super::density::Axis;
use super::events::{Event, events, made_for};
use super::first_assignments::{Choice, first, solo};
use super::learn::learn;
use super::learner::Learner;
use super::model::{Model, Nobody};
use super::service::Service;
use super::shapes::Shapes;
use super::sizes::Sizes;
use super::waits;
use crate::tuning::auto::learning::beginnings::{
    LAST_ROUNDS, NOBODY, REQUESTS, ROUNDS, THREAD_HANDICAP, WAITING_COST, WIDTH, WORSE_NATS,
};
use out_of_core::workers;

/// What came of the beginnings.
#[derive(Debug)]
pub(super) struct Begun {
    /// The model of the best.
    pub(super) model: Model,
    /// The agreement of all.
    agreement: Agreement,
    /// The assignments that they came to, each with its fit in nats, and that of the one which
    /// supposes nothing of turns.
    all: Vec<(f64, Vec<u32>)>,
    free: Option<Vec<u32>>,
    /// What they were tried on.
    part: Service,
    events: Vec<(i64, Event)>,
    axis: Axis,
    nobody: Nobody,
}

/// A beginning while it is tried.
struct Trial {
    /// The rule of the first assignment. `None`: correlation, without supposing that an event loop
    /// serves in turn.
    choice: Option<Choice>,
    /// The requests of the calls at first, and now.
    first: Vec<u32>,
    owner: Vec<u32>,
    shapes: Shapes,
}

/// A beginning that was tried.
struct Tried {
    /// Fit in nats.
    fit: f64,
    first: Vec<u32>,
    owner: Vec<u32>,
    model: Model,
    shapes: Shapes,
    /// Whether it is what it was before any round, as that fits better.
    was_kept: bool,
}

/// A round of learning that was done: whether turns were supposed, the assignments before and after
/// it, and the shapes.
struct Done {
    in_turn: bool,
    nobody: Nobody,
    owner: Vec<u32>,
    next: Vec<u32>,
    shapes: Shapes,
}

/// The best of several beginnings; `shapes` will be those that it knows.
pub(super) fn begin(service: &Service, axis: Axis, shapes: &mut Shapes, nobody: Nobody) -> Begun {
    let part = service.beginning(REQUESTS);
    let learner = learner(&part, events(&part), axis);
    let choices: Vec<Choice> =
        Choice::ALL.into_iter().filter(|choice| choice.is_known(&part)).collect();
    // All beginnings suppose it, so they do not tell whether it is true.
    let free = part.is_in_turn();
    let known: Vec<Option<Choice>> =
        choices.into_iter().map(Some).chain(free.then_some(None)).collect();
    let mut trials = workers::one_by_one(known.len(), |place| {
        learner.begun(known[place], shapes.clone(), nobody)
    });
    let mut done = Vec::new();
    for round in 0..ROUNDS + LAST_ROUNDS {
        let nobody = if round < ROUNDS { nobody } else { Nobody::WhileIdle };
        learner.round(&mut trials, nobody, &mut done);
    }
    drop(done);
    let free = trials.pop_if(|trial| trial.choice.is_none()).map(|free| free.owner);
    let worse = part.calls.len() as f64 * WORSE_NATS;
    let tried = workers::one_by_one(trials.len(), |place| {
        let trial = &trials[place];
        let [after, before] =
            [&trial.owner, &trial.first].map(|owner| learner.tried(trial, owner, nobody));
        better(after, before, worse)
    });
    let mut all: Vec<Tried> = Vec::new();
    for one in tried {
        // An assignment that another beginning came to is no beginning of its own.
        if !all.iter().any(|other| other.owner == one.first) {
            all.push(one);
        }
    }
    all.sort_by(|one, other| other.fit.total_cmp(&one.fit));
    let fits: Vec<(f64, Vec<u32>)> = all.iter().map(|one| (one.fit, one.owner.clone())).collect();
    let agreement = Agreement::of(&part, &learner.events, &voices(&fits, free.as_deref()));
    let mut model = Model::default();
    if let Some(best) = all.into_iter().next() {
        *shapes = best.shapes;
        model = match best.was_kept {
            // One without turns, and without what ends of calls promise, would lead away from it
            // again.
            true => learner.model(&best.owner, nobody, shapes),
            false => best.model,
        };
    }
    let events = learner.events;
    Begun { model, agreement, all: fits, free, part, events, axis, nobody }
}

/// What beginnings say: each once, and the one that supposes nothing of turns as often as all
/// others together, as if it fitted as well as the best.
fn voices<'a>(all: &'a [(f64, Vec<u32>)], free: Option<&'a [u32]>) -> Vec<(f64, &'a [u32])> {
    let mut voices: Vec<(f64, &[u32])> =
        all.iter().map(|(fit, owner)| (*fit, owner.as_slice())).collect();
    if let (Some((fit, _)), Some(free)) = (all.first(), free) {
        voices.extend(vec![(*fit, free); all.len()]);
    }
    voices
}

impl Begun {
    /// Adds what was learned from the best beginning to what the beginnings came to.
    pub(super) fn add(&mut self, owner: &[u32], shapes: &Shapes) {
        let learned = self.on_part(owner);
        self.all.push((self.fit(&learned, shapes), learned));
    }

    /// How far the last assignment is worth to be believed. Learning goes on from the best
    /// beginning, and may lead far away from all of them. Then it is worth no more than they say of
    /// it, unless it fits better.
    pub(super) fn agreement(&self, owner: &[u32], shapes: &Shapes) -> Agreement {
        let last = self.on_part(owner);
        let mut found = vec![(self.fit(&last, shapes), last.as_slice())];
        found.extend(voices(&self.all, self.free.as_deref()));
        self.agreement.clone().at_most(&self.part, &self.events, &found)
    }

    /// An assignment on the part on which beginnings were tried.
    fn on_part(&self, owner: &[u32]) -> Vec<u32> {
        let is_in = |owner: &u32| (*owner as usize) < self.part.requests.len();
        let owner = owner.iter().take(self.part.calls.len());
        owner.map(|owner| Some(*owner).filter(is_in).unwrap_or(NONE)).collect()
    }

    fn fit(&self, owner: &[u32], shapes: &Shapes) -> f64 {
        let learner = learner(&self.part, self.events.clone(), self.axis);
        let shapes = shapes.clone();
        let trial = Trial { choice: None, first: Vec::new(), owner: Vec::new(), shapes };
        learner.tried(&trial, owner, self.nobody).fit
    }
}

/// The learner of beginnings.
fn learner(part: &Service, events: Vec<(i64, Event)>, axis: Axis) -> Learner<'_> {
    Learner { service: part, events, axis, width: WIDTH, exchanges: false, supposes: true }
}

/// A beginning after all rounds, or as it was before any if that fits better by more than `worse`
/// nats. Where many requests are open, learning may leave an assignment that is nearly right for
/// one that fits far worse.
fn better(after: Tried, before: Tried, worse: f64) -> Tried {
    match before.fit > after.fit + worse {
        true => Tried { was_kept: true, ..before },
        false => after,
    }
}

impl Learner<'_> {
    /// A beginning before any round.
    fn begun(&self, choice: Option<Choice>, mut shapes: Shapes, nobody: Nobody) -> Trial {
        let part = self.service;
        let model = match choice {
            None | Some(Choice::Correlated) => Some(correlate::model(part, &mut shapes, self.axis)),
            Some(Choice::Solo) => {
                let owner = first(part, &self.events, Choice::Solo);
                let solo = solo(part, &self.events);
                let made = made_for(part, &owner);
                Some(learn(part, &made, |request| solo[request], &mut shapes, self.axis))
            }
            Some(_) => None,
        };
        let first = match (model, choice) {
            (Some(mut model), _) => {
                model.suppose(part, &self.events, nobody);
                self.owner(&shapes, &model)
            }
            (None, choice) => {
                choice.map_or_else(Vec::new, |choice| first(part, &self.events, choice))
            }
        };
        Trial { choice, owner: first.clone(), first, shapes }
    }

    /// A round of learning of all beginnings. Equal assignments lead to equal results, and several
    /// beginnings mostly come to the same assignment sooner or later. So each round is `done` once.
    fn round(&self, trials: &mut [Trial], nobody: Nobody, done: &mut Vec<Done>) {
        let is_of = |done: &Done, trial: &Trial| {
            (done.in_turn, done.nobody) == (trial.choice.is_some(), nobody)
                && done.owner == trial.owner
        };
        // A beginning that supposes nothing of turns has its say, but is never the best, so it need
        // not settle.
        let goes_on = |trial: &Trial| trial.choice.is_some() || nobody != Nobody::WhileIdle;
        let mut new: Vec<&Trial> = Vec::new();
        for trial in trials.iter().filter(|trial| goes_on(trial)) {
            let is_same = |other: &&Trial| {
                other.choice.is_some() == trial.choice.is_some() && other.owner == trial.owner
            };
            if !done.iter().any(|done| is_of(done, trial)) && !new.iter().any(is_same) {
                new.push(trial);
            }
        }
        let found = workers::one_by_one(new.len(), |place| {
            let (trial, mut shapes) = (new[place], new[place].shapes.clone());
            let supposes = trial.choice.is_some();
            let learner = Learner { supposes, events: self.events.clone(), ..*self };
            let model = learner.without_turns(&trial.owner, nobody, &mut shapes);
            let next = learner.owner(&shapes, &model);
            Done { in_turn: supposes, nobody, owner: trial.owner.clone(), next, shapes }
        });
        done.extend(found);
        for trial in trials.iter_mut().filter(|trial| goes_on(trial)) {
            if let Some(done) = done.iter().find(|done| is_of(done, trial)) {
                (trial.owner, trial.shapes) = (done.next.clone(), done.shapes.clone());
            }
        }
    }

    /// The beginning with that assignment, and its fit.
    fn tried(&self, trial: &Trial, owner: &[u32], nobody: Nobody) -> Tried {
        let (part, mut shapes) = (self.service, trial.shapes.clone());
        let mut model = learn(part, &made_for(part, owner), |_| true, &mut shapes, self.axis);
        model.connections = Connections::learn(part, &self.events, owner);
        model.sizes = Sizes::learn(part, &self.events, owner);
        model.suppose(part, &self.events, nobody);
        let is_by_thread = trial.choice == Some(Choice::Thread);
        let by_itself = if is_by_thread { THREAD_HANDICAP * part.calls.len() as f64 } else { 0.0 };
        let waiting = WAITING_COST * part.calls.len() as f64 * waits::after_last_call(part, owner);
        let fit = fit(part, owner, &mut shapes, &mut model) - by_itself - waiting;
        Tried {
            fit,
            first: trial.first.clone(),
            owner: owner.to_vec(),
            model,
            shapes,
            was_kept: false,
        }
    }
}

/// Fit of an assignment to its own model, in nats. A part of the model that comes from a call
/// itself is left out for that call.
fn fit(service: &Service, owner: &[u32], shapes: &mut Shapes, model: &mut Model) -> f64 {
    let nobody = owner.iter().filter(|owner| **owner == NONE).count() as f64 * NOBODY;
    let mut sum = nobody;
    for (request, made) in (0..).zip(made_for(service, owner)) {
        sum += model.request(service, shapes, request, &made);
    }
    sum
}

#[cfg(test)]
#[path = "beginnings_tests.rs"]
mod tests;
