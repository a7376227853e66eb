//! Model and assignment of a service, each from the other, until they agree: expectation maximisation with the one best
//! assignment in place of an expectation. Nothing is known at first, so it is begun in several ways, on the beginning of
//! the trace and with few hypotheses, and what fits best after that is gone on with.

use rustc_hash::{FxHashMap, FxHashSet};

use super::NONE;
use super::agreement::Agreement;
use super::connections::Connections;
use super::correlate;
use super::density::Axis;
use super::discipline;
use super::early;
use super::exchanges;
use super::learn::learn;
use super::model::{Model, Nobody};
use super::parts::search;
use super::pool;
use super::promises::Promises;
use super::search::Found;
use super::service::{Event, Service, Span, UNKNOWN_THREAD, events, made_for};
use super::shapes::Shapes;
use super::sizes::Sizes;
use super::thread_time;
use super::waits;
use crate::evidence::Evidence;

/// Hypotheses kept while a beginning is tried, while the model is learned, and at last.
const WIDTHS: [usize; 3] = [8, 24, 64];
/// About how many requests beginnings are tried on, and the model is learned from.
const REQUESTS: [usize; 2] = [800, 4000];
/// Rounds of learning for a beginning, and in all.
const ROUNDS: [usize; 2] = [4, 16];
/// Further rounds, in which calls are taken to be nobody's only as often as they are while no request is open.
const LAST_ROUNDS: usize = 2;
/// Learning is over when no more than one of so many calls was given to another request than before, or when that becomes
/// no fewer for so many rounds.
const SETTLED: usize = 500;
const PATIENCE: usize = 2;
/// So many requests at least, those that shared the service with the fewest others, are worth to be learned from alone.
const SOLO: usize = 30;
/// So many times as many requests are worth to be learned from anew.
const MORE: usize = 2;
/// So are requests or calls of new kinds, if they are more than this part.
const NEW: f64 = 0.1;
/// With more shapes of requests than that, of which each search adds some, it is begun anew.
const MOST_SHAPES: usize = 1 << 16;
/// When this part of the calls is nobody's, something went wrong.
const LOST: f64 = 0.3;
/// What was begun by threads explains threads by itself, so it must fit better by so many nats a call.
const BY_ITSELF: f64 = 0.1;
/// What it costs a beginning, in nats a call, if requests only ever wait after their last call and
/// never before their first. One that is about as likely the other way round fits by up to 0.4 nats
/// better or worse, by chance.
const WAITS: f64 = 2.0;
/// A call for which nobody has a request, as if the model said so.
const NOBODY: f64 = -30.0;

/// What was learned of a service in one stretch of the trace, for the next ones.
#[derive(Debug)]
pub(super) struct Known {
    model: Model,
    shapes: Shapes,
    /// Whether delays are in the time of a thread.
    in_thread_time: bool,
    /// From how many requests.
    requests: usize,
    /// The kinds of these requests, and of their calls.
    kinds: [FxHashSet<u32>; 2],
}

impl Known {
    /// What the beginning of `service` tells.
    fn of(service: &Service) -> Known {
        let mut shapes = Shapes::new();
        let sample = service.beginning(REQUESTS[1]);
        let (mut model, mut owner) = learned(&sample, &mut shapes, Nobody::Counted);
        if nobodys(&owner) > LOST {
            // Of many requests that are alike each is unlikely to be the one, and what is nobody's is not learned from.
            let (other, others_owner) = learned(&sample, &mut shapes, Nobody::AmongAll);
            if nobodys(&others_owner) < nobodys(&owner) {
                (model, owner) = (other, others_owner);
            }
        }
        let mut in_thread_time = false;
        let too_many = thread_time::too_many(&sample, &owner);
        if too_many > thread_time::RUNS && sample.is_event_loop() && sample.without.has(Evidence::Delays) {
            // One request has the calls of others, as the thread always does something.
            let mut others = Shapes::new();
            let (other, others_owner) = learned(&sample.in_thread_time(), &mut others, Nobody::Counted);
            let is_less = thread_time::too_many(&sample, &others_owner) < too_many;
            if is_less && nobodys(&others_owner) <= nobodys(&owner) + LOST / 2.0 {
                (model, shapes, in_thread_time) = (other, others, true);
            }
        }
        model.overtaking.retain(|_, less| *less > discipline::SURE);
        let kinds =
            [&sample.requests, &sample.calls].map(|spans| spans.iter().map(|span| span.kind).collect());
        Known { model, shapes, in_thread_time, requests: sample.requests.len(), kinds }
    }

    /// The same for another stretch; nothing, if that has so much that is new that it is worth to be learned from itself.
    fn in_another(self, service: &Service) -> Option<Known> {
        let more = service.requests.len().min(REQUESTS[1]) > MORE * self.requests;
        let is_new = |spans: &[Span], known: &FxHashSet<u32>| {
            let new = spans.iter().filter(|span| !known.contains(&span.kind)).count();
            new as f64 > NEW * spans.len() as f64
        };
        let [requests, calls] = &self.kinds;
        let new = is_new(&service.requests, requests) || is_new(&service.calls, calls);
        let is_timed_alike = !self.in_thread_time || service.is_event_loop();
        (!more && !new && is_timed_alike && self.shapes.len() <= MOST_SHAPES).then_some(self)
    }

    fn search(&mut self, service: &Service) -> Found {
        let in_thread_time = self.in_thread_time.then(|| service.in_thread_time());
        let service = in_thread_time.as_ref().unwrap_or(service);
        self.model.threads = std::mem::take(&mut self.model.threads).in_all_of(service);
        let events = events(service);
        let mut found = search(service, &events, &self.shapes, &self.model, WIDTHS[2], true);
        self.model.agreement.temper(service, &events, &mut found.shares);
        pool::temper(service, &mut found.shares);
        early::temper(service, &mut found.shares);
        // No call of another stretch is one of those that it was learned from.
        self.model.learned_calls = Vec::new();
        self.model.learned_replies = Vec::new();
        found
    }
}

/// The requests of all calls of `service`, with their probabilities, and what was learned of it. What is known of it from an
/// earlier stretch of the trace goes on to count, as long as calls find their requests by it.
pub(super) fn estimate(service: &Service, known: Option<Known>) -> (Found, Known) {
    if let Some(mut known) = known.and_then(|known| known.in_another(service)) {
        let found = known.search(service);
        if nobodys(&found.owner) <= LOST {
            return (found, known);
        }
    }
    let mut known = Known::of(service);
    (known.search(service), known)
}

/// Which part of the calls is nobody's.
fn nobodys(owner: &[u32]) -> f64 {
    owner.iter().filter(|owner| **owner == NONE).count() as f64 / owner.len().max(1) as f64
}

/// The model of a service, and the requests of its calls by it.
fn learned(service: &Service, shapes: &mut Shapes, nobody: Nobody) -> (Model, Vec<u32>) {
    let axis = Axis { resolution: service.resolution() };
    let learner =
        Learner { service, events: events(service), axis, width: WIDTHS[1], exchanges: true, supposes: true };
    let Begun { model, agreement } = begin(service, axis, shapes, nobody);
    let owner = learner.owner(shapes, &model);
    let (_, owner) = learner.learn(owner, ROUNDS[1], nobody, shapes);
    let (mut model, owner) = learner.learn(owner, LAST_ROUNDS, Nobody::WhileIdle, shapes);
    model.agreement = agreement;
    (model, owner)
}

/// What models are learned from.
struct Learner<'a> {
    service: &'a Service,
    events: Vec<(i64, Event)>,
    axis: Axis,
    /// Hypotheses kept.
    width: usize,
    /// Whether requests exchange calls after the search where that fits better.
    exchanges: bool,
    /// Whether event loops are supposed to serve in turn before that is learned.
    supposes: bool,
}

impl Learner<'_> {
    /// Model and assignment, each from the other, up to so many rounds.
    fn learn(
        &self,
        mut owner: Vec<u32>,
        rounds: usize,
        nobody: Nobody,
        shapes: &mut Shapes,
    ) -> (Model, Vec<u32>) {
        let mut model = Model::default();
        let (mut least, mut since) = (usize::MAX, 0);
        for _ in 0..rounds {
            model = self.model(&owner, nobody, shapes);
            let found = self.owner(shapes, &model);
            let changed = found.iter().zip(&owner).filter(|(one, other)| one != other).count();
            owner = found;
            since = if changed < least { 0 } else { since + 1 };
            least = least.min(changed);
            if changed * SETTLED <= owner.len() || since == PATIENCE {
                break;
            }
        }
        (model, owner)
    }

    /// The model of an assignment.
    fn model(&self, owner: &[u32], nobody: Nobody, shapes: &mut Shapes) -> Model {
        let mut model = self.without_turns(owner, nobody, shapes);
        if self.service.without.has(Evidence::Turns) {
            discipline::learn(self.service, &self.events, owner, shapes, &mut model);
        }
        model
    }

    /// The same without what is learned of the order of service, which beginnings are too far off to tell.
    fn without_turns(&self, owner: &[u32], nobody: Nobody, shapes: &mut Shapes) -> Model {
        let service = self.service;
        let mut model = learn(service, &made_for(service, owner), |_| true, shapes, self.axis);
        model.suppose(service, &self.events, nobody);
        model.connections = Connections::learn(service, &self.events, owner);
        model.sizes = Sizes::learn(service, &self.events, owner);
        model.promises = Promises::learn(service, &self.events, owner, self.axis);
        if self.supposes && service.without.has(Evidence::Turns) {
            discipline::suppose(service, &mut model);
        }
        model
    }

    /// The best assignment by a model.
    fn owner(&self, shapes: &Shapes, model: &Model) -> Vec<u32> {
        let mut owner = search(self.service, &self.events, shapes, model, self.width, false).owner;
        // Beginnings know nothing of the order of service, which exchanges would only hide.
        if self.exchanges && !model.overtaking.is_empty() {
            let (shapes, model) = (&mut shapes.clone(), &mut model.clone());
            exchanges::improve(self.service, &self.events, &mut owner, shapes, model);
        }
        owner
    }
}

/// What the best beginning comes to.
struct Begun {
    model: Model,
    agreement: Agreement,
}

/// The best of several assignments to begin with.
fn begin(service: &Service, axis: Axis, shapes: &mut Shapes, nobody: Nobody) -> Begun {
    let part = service.beginning(REQUESTS[0]);
    let learner = Learner {
        service: &part,
        events: events(&part),
        axis,
        width: WIDTHS[0],
        exchanges: false,
        supposes: true,
    };
    let solo = solo(&part, &learner.events);
    let mut all: Vec<(f64, Vec<u32>, Model)> = Vec::new();
    for choice in Choice::ALL {
        let is_unknown = match choice {
            Choice::Thread => part.call_threads.is_empty(),
            Choice::Answered => part.after_answer.is_empty(),
            Choice::Woken => !part.has_thread_time(),
            _ => false,
        };
        if is_unknown {
            continue;
        }
        let mut owner = match choice {
            Choice::Correlated => {
                let mut model = correlate::model(&part, shapes, axis);
                model.suppose(&part, &learner.events, nobody);
                learner.owner(shapes, &model)
            }
            Choice::Solo => {
                let owner = first(&part, &learner.events, choice);
                let mut model = learn(&part, &made_for(&part, &owner), |request| solo[request], shapes, axis);
                model.suppose(&part, &learner.events, nobody);
                learner.owner(shapes, &model)
            }
            _ => first(&part, &learner.events, choice),
        };
        let is_begun = all.iter().any(|(_, other, _)| *other == owner);
        if is_begun {
            continue;
        }
        for (rounds, nobody) in [(ROUNDS[0], nobody), (LAST_ROUNDS, Nobody::WhileIdle)] {
            for _ in 0..rounds {
                let model = learner.without_turns(&owner, nobody, shapes);
                owner = learner.owner(shapes, &model);
            }
        }
        let mut model = learn(&part, &made_for(&part, &owner), |_| true, shapes, axis);
        model.connections = Connections::learn(&part, &learner.events, &owner);
        model.sizes = Sizes::learn(&part, &learner.events, &owner);
        model.suppose(&part, &learner.events, nobody);
        let by_itself = if choice == Choice::Thread { BY_ITSELF * part.calls.len() as f64 } else { 0.0 };
        let waiting = WAITS * part.calls.len() as f64 * waits::after_last_call(&part, &owner);
        let fit = fit(&part, &owner, shapes, &mut model) - by_itself - waiting;
        all.push((fit, owner, model));
    }
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut fits: Vec<(f64, &[u32])> = all.iter().map(|(fit, owner, _)| (*fit, owner.as_slice())).collect();
    // What all beginnings suppose they do not tell.
    let free = part.is_event_loop().then(|| {
        let free = Learner { supposes: false, events: events(&part), ..learner };
        let mut model = correlate::model(&part, shapes, axis);
        model.suppose(&part, &free.events, nobody);
        let mut owner = free.owner(shapes, &model);
        for _ in 0..ROUNDS[0] {
            let model = free.without_turns(&owner, nobody, shapes);
            owner = free.owner(shapes, &model);
        }
        owner
    });
    if let (Some((fit, _)), Some(free)) = (fits.first().copied(), &free) {
        // It has as many voices as all those together.
        fits.extend(vec![(fit, free.as_slice()); fits.len()]);
    }
    let agreement = Agreement::of(&part, &learner.events, &fits);
    let model = all.into_iter().next().map(|(_, _, model)| model).unwrap_or_default();
    Begun { model, agreement }
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
    /// The one with the fewest calls of any kind so far, and of these the one that was received first: a queue is served
    /// strictly in turn.
    InTurn,
    /// The one that was answered last, of kinds that are seen to be made after the answer.
    Answered,
    /// The first, but only requests that shared the service with the fewest others are learned from at first.
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
                let answered =
                    open.iter().rfind(|request| !unanswered(request) && service.covers(**request, *call));
                let is_afterwards = answered.is_some() && service.after_answer.binary_search(&kind).is_ok();
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

/// Which requests shared the service with the fewest others: mostly those that had it to themselves.
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

/// How well an assignment fits its own model, every part of which is left out where it speaks for itself.
fn fit(service: &Service, owner: &[u32], shapes: &mut Shapes, model: &mut Model) -> f64 {
    let nobody = owner.iter().filter(|owner| **owner == NONE).count() as f64 * NOBODY;
    let mut sum = nobody;
    for (request, made) in (0..).zip(made_for(service, owner)) {
        sum += model.request(service, shapes, request, &made);
    }
    sum
}
