//! How learning of a service is begun. Nothing is known at first, so it is begun in several ways,
//! on the beginning of the trace and with few hypotheses, and what fits best after that is gone on
//! with. The ways are tried on all processors.

use rustc_hash::FxHashMap;

use super::NONE;
use super::agreement::Agreement;
use super::connections::Connections;
use super::correlate;
use super::density::Axis;
use super::estimate::{LAST_ROUNDS, Learner};
use super::learn::learn;
use super::model::{Model, Nobody};
use super::service::{Event, Service, UNKNOWN_THREAD, events, made_for};
use super::shapes::Shapes;
use super::sizes::Sizes;
use super::thread_time;
use super::waits;
use out_of_core::workers;

/// Hypotheses kept while a beginning is tried.
const WIDTH: usize = 8;
/// About how many requests it is tried on.
const REQUESTS: usize = 800;
/// Rounds of learning.
const ROUNDS: usize = 4;
/// So many requests at least, those that shared the service with the fewest others, are worth to be
/// learned from alone.
const SOLO: usize = 30;
/// What was begun by threads explains threads by itself, so it must fit better by so many nats a
/// call.
const BY_ITSELF: f64 = 0.1;
/// What it costs a beginning, in nats a call, if requests only ever wait after their last call and
/// never before their first. One that is about as likely the other way round fits by up to 0.4 nats
/// better or worse, by chance.
const WAITS: f64 = 2.0;
/// A call for which nobody has a request, as if the model said so.
const NOBODY: f64 = -30.0;

/// What the best beginning comes to.
pub(super) struct Begun {
    pub(super) model: Model,
    pub(super) agreement: Agreement,
}

/// A beginning while it is tried.
struct Trial {
    /// Nothing of an event loop that is not supposed to serve in turn, by correlation.
    choice: Option<Choice>,
    /// The requests of the calls at first, and now.
    first: Vec<u32>,
    owner: Vec<u32>,
    shapes: Shapes,
}

/// What one of them comes to.
struct Tried {
    /// How well it fits, in nats.
    fit: f64,
    first: Vec<u32>,
    owner: Vec<u32>,
    model: Model,
    shapes: Shapes,
}

/// A round of learning that was done: whether in turn was supposed, from which assignment, and with
/// which.
struct Done {
    in_turn: bool,
    nobody: Nobody,
    owner: Vec<u32>,
    next: Vec<u32>,
    shapes: Shapes,
}

/// The best of several assignments to begin with; `shapes` will be those that it knows.
pub(super) fn begin(service: &Service, axis: Axis, shapes: &mut Shapes, nobody: Nobody) -> Begun {
    let part = service.beginning(REQUESTS);
    let learner = Learner {
        service: &part,
        events: events(&part),
        axis,
        width: WIDTH,
        exchanges: false,
        supposes: true,
    };
    let choices: Vec<Choice> =
        Choice::ALL.into_iter().filter(|choice| choice.is_known(&part)).collect();
    // What all beginnings suppose they do not tell.
    let free = part.is_event_loop();
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
    let tried = workers::one_by_one(trials.len(), |place| learner.tried(&trials[place], nobody));
    let mut all: Vec<Tried> = Vec::new();
    for one in tried {
        // What another one came to is no beginning of its own.
        if !all.iter().any(|other| other.owner == one.first) {
            all.push(one);
        }
    }
    all.sort_by(|one, other| other.fit.total_cmp(&one.fit));
    let mut fits: Vec<(f64, &[u32])> =
        all.iter().map(|one| (one.fit, one.owner.as_slice())).collect();
    if let (Some((fit, _)), Some(free)) = (fits.first().copied(), &free) {
        // It has as many voices as all those together.
        fits.extend(vec![(fit, free.as_slice()); fits.len()]);
    }
    let agreement = Agreement::of(&part, &learner.events, &fits);
    let Some(best) = all.into_iter().next() else {
        return Begun { model: Model::default(), agreement };
    };
    *shapes = best.shapes;
    Begun { model: best.model, agreement }
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

    /// A round of learning of all beginnings. What comes of an assignment is always the same, and
    /// several beginnings mostly come to the same one sooner or later, so that each round is `done`
    /// once.
    fn round(&self, trials: &mut [Trial], nobody: Nobody, done: &mut Vec<Done>) {
        let is_of = |done: &Done, trial: &Trial| {
            (done.in_turn, done.nobody) == (trial.choice.is_some(), nobody)
                && done.owner == trial.owner
        };
        // What is not supposed to serve in turn has its say, but is never the best, so it need not
        // settle.
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

    /// What a beginning came to after all rounds.
    fn tried(&self, trial: &Trial, nobody: Nobody) -> Tried {
        let (part, owner, mut shapes) = (self.service, &trial.owner, trial.shapes.clone());
        let mut model = learn(part, &made_for(part, owner), |_| true, &mut shapes, self.axis);
        model.connections = Connections::learn(part, &self.events, owner);
        model.sizes = Sizes::learn(part, &self.events, owner);
        model.suppose(part, &self.events, nobody);
        let is_by_thread = trial.choice == Some(Choice::Thread);
        let by_itself = if is_by_thread { BY_ITSELF * part.calls.len() as f64 } else { 0.0 };
        let waiting = WAITS * part.calls.len() as f64 * waits::after_last_call(part, owner);
        let fit = fit(part, owner, &mut shapes, &mut model) - by_itself - waiting;
        Tried { fit, first: trial.first.clone(), owner: owner.clone(), model, shapes }
    }
}

/// To which of the open requests that cover a call it is given at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// The one that was received first.
    Oldest,
    /// The one that was received last.
    Newest,
    /// The one that is answered next.
    EndsFirst,
    /// The one that is answered last.
    EndsLast,
    /// The one for which the thread that makes the call did something last.
    Thread,
    /// The one with the fewest calls of that kind so far.
    Fewest,
    /// The one with the fewest calls of any kind so far, and of these the one that was received
    /// first: a queue is served strictly in turn.
    InTurn,
    /// The one that was answered last, of kinds that are seen to be made after the answer.
    Answered,
    /// The first, but only requests that shared the service with the fewest others are learned from
    /// at first.
    Solo,
    /// The one that was woken first, by its receipt or by answers, and has done nothing since.
    Woken,
    /// None of them: delays are those by which events follow each other more often than by chance.
    Correlated,
}

impl Choice {
    const ALL: [Choice; 11] = [
        Choice::Woken,
        Choice::Solo,
        Choice::Correlated,
        Choice::Thread,
        Choice::Fewest,
        Choice::InTurn,
        Choice::Answered,
        Choice::Oldest,
        Choice::Newest,
        Choice::EndsFirst,
        Choice::EndsLast,
    ];

    /// Whether what it goes by is known of the service.
    fn is_known(self, service: &Service) -> bool {
        match self {
            Choice::Thread => !service.call_threads.is_empty(),
            Choice::Answered => !service.after_answer.is_empty(),
            Choice::Woken => service.has_thread_time(),
            _ => true,
        }
    }
}

fn first(service: &Service, events: &[(i64, Event)], choice: Choice) -> Vec<u32> {
    let mut owner = vec![NONE; service.calls.len()];
    let mut open: Vec<u32> = Vec::new();
    let mut made: Vec<Vec<u32>> = vec![Vec::new(); service.requests.len()];
    let mut counts: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut totals: FxHashMap<u32, u32> = FxHashMap::default();
    // For which request each thread did something last.
    let mut did_last: FxHashMap<u32, u32> = FxHashMap::default();
    let known = |by: &[u32; 2]| Some(by[0]).filter(|thread| *thread != UNKNOWN_THREAD);
    let thread_of_call = |call: u32| service.call_threads.get(call as usize).and_then(known);
    for (time, event) in events {
        match event {
            Event::Receipt(request) => {
                open.push(*request);
                let thread = service.request_threads.get(*request as usize).and_then(known);
                did_last.extend(thread.map(|thread| (thread, *request)));
            }
            Event::Answer(_) => {}
            Event::Reply(request) => open.retain(|open| open != request),
            Event::Call(call) => {
                let kind = service.calls[*call as usize].kind;
                let holder = service.holder(*call);
                let is_held = open.contains(&holder);
                let covering = open
                    .iter()
                    .filter(|request| service.covers(**request, *call))
                    .filter(|request| !is_held || **request == holder);
                let count = |request: &&u32| counts.get(&(**request, kind)).copied().unwrap_or(0);
                let end = |request: &&u32| service.requests[**request as usize].end;
                let unanswered = |request: &&u32| {
                    service.requests[**request as usize].end >= service.calls[*call as usize].begin
                };
                let answered = open
                    .iter()
                    .rfind(|request| !unanswered(request) && service.covers(**request, *call));
                let is_afterwards =
                    answered.is_some() && service.after_answer.binary_search(&kind).is_ok();
                let mut covering = covering.filter(|request| unanswered(request));
                let chosen = match choice {
                    Choice::Answered if is_afterwards => answered,
                    Choice::Answered => covering.min_by_key(count),
                    Choice::Oldest | Choice::Solo | Choice::Correlated => covering.next(),
                    Choice::Newest => covering.next_back(),
                    Choice::Fewest => covering.min_by_key(count),
                    Choice::Woken => covering.min_by_key(|request| {
                        let made = made.get(**request as usize).map_or(&[][..], Vec::as_slice);
                        thread_time::turn(service, **request, made, *time)
                    }),
                    Choice::InTurn => {
                        covering.min_by_key(|request| totals.get(*request).copied().unwrap_or(0))
                    }
                    Choice::Thread => {
                        let last = thread_of_call(*call).and_then(|thread| did_last.get(&thread));
                        covering
                            .clone()
                            .find(|request| Some(*request) == last)
                            .or_else(|| covering.min_by_key(count))
                    }
                    Choice::EndsFirst => covering.min_by_key(end),
                    Choice::EndsLast => covering.max_by_key(end),
                };
                let chosen = chosen.or(answered).or(open.last()).copied().unwrap_or(NONE);
                *counts.entry((chosen, kind)).or_default() += 1;
                *totals.entry(chosen).or_default() += 1;
                did_last.extend(thread_of_call(*call).map(|thread| (thread, chosen)));
                if let Some(made) = made.get_mut(chosen as usize) {
                    made.push(*call);
                }
                owner[*call as usize] = chosen;
            }
        }
    }
    owner
}

/// Which requests shared the service with the fewest others: mostly those that had it to
/// themselves.
fn solo(service: &Service, events: &[(i64, Event)]) -> Vec<bool> {
    let mut most = vec![0u32; service.requests.len()];
    let mut open: Vec<u32> = Vec::new();
    for (_, event) in events {
        match event {
            Event::Receipt(request) => {
                open.push(*request);
                let others = open.len() as u32 - 1;
                for request in &open {
                    let most = &mut most[*request as usize];
                    *most = others.max(*most);
                }
            }
            Event::Reply(request) => open.retain(|open| open != request),
            Event::Call(_) | Event::Answer(_) => {}
        }
    }
    let mut sorted = most.clone();
    sorted.sort_unstable();
    let bound = sorted.get(SOLO.min(sorted.len()).saturating_sub(1)).copied().unwrap_or(0);
    most.into_iter().map(|most| most <= bound).collect()
}

/// How well an assignment fits its own model, every part of which is left out where it speaks for
/// itself.
fn fit(service: &Service, owner: &[u32], shapes: &mut Shapes, model: &mut Model) -> f64 {
    let nobody = owner.iter().filter(|owner| **owner == NONE).count() as f64 * NOBODY;
    let mut sum = nobody;
    for (request, made) in (0..).zip(made_for(service, owner)) {
        sum += model.request(service, shapes, request, &made);
    }
    sum
}
