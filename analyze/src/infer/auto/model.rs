//! What is known of a service: for each kind of request which calls are made for it, in which
//! order, how soon after what, and how soon it is answered then. All of it is a logarithm of a
//! probability or of a density per nanosecond, so that what is unlike is weighed by one measure.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::agreement::Agreement;
use super::at::At;
use super::connections::Connections;
use super::density::Density;
use super::promises::Promises;
use super::service::REPLY;
use super::service::{Event, OPEN, Service, recent};
use super::shapes::{ShapeId, Shapes};
use super::sizes::Sizes;
use super::threads::Threads;
use super::trigger::{Trigger, open_calls};
use crate::evidence::Evidence;
use crate::tuning::auto::model::fit::{
    ANY_DELAY, ANY_SHAPE, IDLE_NEVER, MIN_IDLE, MIN_NEXT, MIN_OPEN, MIN_SHAPED, NO_TRIGGER,
    NOT_COVERED, ORDER_WEIGHT, SLOTS, UNKNOWN,
};

/// How soon calls of a kind are made.
#[derive(Debug)]
pub(super) struct Delay {
    pub(super) trigger: Trigger,
    pub(super) density: Density,
    /// The logarithms of the probabilities that 0, 1, 2 or more other calls are open then.
    pub(super) open: [f64; 4],
}

/// The model of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// By the kinds of the request and the call, and how many calls of that kind there were before.
    pub(super) delays: FxHashMap<(u32, u32, u32), Arc<Delay>>,
    /// How many requests of a kind ended with which shape.
    pub(super) finals: FxHashMap<u32, Vec<(ShapeId, f64)>>,
    /// Of each kind of request and each kind of call: how many requests had 0, 1, 2 and more of
    /// them.
    pub(super) counts: FxHashMap<u32, Vec<(u32, Vec<f64>)>>,
    /// What is called next for a request of that kind and shape, and how often.
    pub(super) next: FxHashMap<(u32, ShapeId), Vec<(u32, f64)>>,
    /// By the kind of call: how many times less likely than by its delay alone it is that a later
    /// request overtakes, as a logarithm.
    pub(super) overtaking: FxHashMap<u32, f64>,
    /// What threads prove.
    pub(super) threads: Threads,
    /// What connections prove.
    pub(super) connections: Connections,
    /// What the ends of calls promise.
    pub(super) promises: Promises,
    /// What sizes prove.
    pub(super) sizes: Sizes,
    /// By the kinds of request and call: which part of the calls is made before the answer, and
    /// after it.
    pub(super) after_answer: FxHashMap<(u32, u32), [f64; 2]>,
    /// How often calls of a kind are made for no request, per nanosecond, as a logarithm.
    pub(super) spontaneous: FxHashMap<u32, f64>,
    /// Whether a call is taken to be nobody's only where that is likelier than all open requests
    /// together might be.
    pub(super) nobody_among_all: bool,
    /// How far assignments that were begun in other ways agree.
    pub(super) agreement: Agreement,
    /// The triggers that are not known by the last event of a request, sorted.
    pub(super) triggers: Vec<Trigger>,
    /// The request that each call was taken to be for when this was learned, and after which delay.
    pub(super) learned_calls: Arc<Vec<(u32, i64)>>,
    /// The delay of each reply that was learned from.
    pub(super) learned_replies: Arc<Vec<i64>>,
    /// What follows from all this and was found before.
    pub(super) memo: Memo,
}

/// What a model was asked before.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    /// What [`Model::shape`] found.
    shapes: FxHashMap<(u32, ShapeId), [f64; 2]>,
    /// What [`Model::step`] found, by the kind and the shape of the request and the kind of call.
    places: FxHashMap<(u32, ShapeId, u32), u32>,
    steps: Vec<Step>,
}

/// What is known of a call of one kind for requests of one kind and shape.
#[derive(Clone, Debug)]
struct Step {
    /// Whether calls of that kind were ever made for such requests.
    is_known: bool,
    /// How much less likely such requests have the shape with the call, as a logarithm.
    shaped: f64,
    /// How likely just that is called next.
    next: f64,
    /// How soon, if that is known.
    delay: Option<Arc<Delay>>,
}

/// How often calls are taken to be made for no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nobody {
    /// As often as in the assignment that is learned from. A call that fits nobody well is not
    /// learned from, then.
    Counted,
    /// The same, where nobody must be likelier than all open requests together.
    AmongAll,
    /// As often as they are made while no request is open.
    WhileIdle,
}

/// No delay.
pub(super) const NO_DELAY: i64 = i64::MIN;

impl Model {
    /// The probabilities that a request of that kind ends with at least the calls of a shape, and
    /// with just them.
    fn shape(&mut self, shapes: &Shapes, kind: u32, shape: ShapeId) -> [f64; 2] {
        if let Some(known) = self.memo.shapes.get(&(kind, shape)) {
            return *known;
        }
        let (mut least, mut just, mut total) = (0.0, 0.0, 0.5);
        for (of, count) in self.finals.get(&kind).into_iter().flatten() {
            total += count;
            if *of == shape {
                just += count;
            }
            if shapes.contains(*of, shape) {
                least += count;
            }
        }
        // As if calls of each kind had nothing to do with those of others.
        let (mut any_least, mut any_just) = (1.0f64, 1.0f64);
        let known = self.counts.get(&kind).map_or(&[][..], Vec::as_slice);
        for (of, counts) in known {
            let count = shapes.count(shape, *of) as usize;
            let total = counts.iter().sum::<f64>() + 1.0;
            let beyond = (count + 1).saturating_sub(counts.len()) as i32;
            any_least *=
                (counts.iter().skip(count).sum::<f64>() + 0.5 * 0.3f64.powi(beyond)) / total;
            any_just *= (counts.get(count).copied().unwrap_or(0.0) + 0.02) / total;
        }
        for (of, count) in shapes.counts(shape) {
            if !known.iter().any(|(known, _)| known == of) {
                let rare = 0.01f64.powi(*count as i32);
                (any_least, any_just) = (any_least * rare, any_just * rare);
            }
        }
        let mixed =
            |seen: f64, any: f64| (1.0 - ANY_SHAPE) * seen / total + ANY_SHAPE * any.min(1.0);
        let found =
            [mixed(least, any_least).max(1e-12).ln(), mixed(just, any_just).max(1e-14).ln()];
        self.memo.shapes.insert((kind, shape), found);
        found
    }

    /// What is called next for a request of that kind and shape.
    fn next(&self, kind: u32, shape: ShapeId, call: u32) -> f64 {
        let Some(next) = self.next.get(&(kind, shape)) else { return 0.0 };
        let total: f64 = next.iter().map(|(_, count)| count).sum();
        let seen = next.iter().find(|(of, _)| *of == call).map_or(0.0, |(_, count)| *count);
        ((seen + 0.5) / (total + 0.5 * (next.len() as f64 + 1.0))).ln()
    }

    /// Sets how often calls are taken to be nobody's, where the model was learned from an
    /// assignment.
    pub(super) fn suppose(&mut self, service: &Service, events: &[(i64, Event)], nobody: Nobody) {
        self.nobody_among_all = nobody == Nobody::AmongAll;
        if nobody == Nobody::WhileIdle {
            let rates = while_idle(service, events);
            for (kind, rate) in &mut self.spontaneous {
                *rate = rates.get(kind).copied().unwrap_or(*rate);
            }
        }
    }

    fn delay_of(&self, kind: u32, call: u32, before: u32) -> Option<&Arc<Delay>> {
        (0..=before.min(SLOTS - 1)).rev().find_map(|slot| self.delays.get(&(kind, call, slot)))
    }

    /// What is known of a call of that kind for requests of that kind and shape, as a place among
    /// all steps.
    fn step(&mut self, shapes: &mut Shapes, kind: u32, shape: ShapeId, call: u32) -> usize {
        if let Some(step) = self.memo.places.get(&(kind, shape, call)) {
            return *step as usize;
        }
        let grown = shapes.with(shape, call);
        let [possible, _] = self.shape(shapes, kind, shape);
        let [still, _] = self.shape(shapes, kind, grown);
        let step = Step {
            is_known: self.delay_of(kind, call, 0).is_some(),
            shaped: still - possible,
            next: self.next(kind, shape, call),
            delay: self.delay_of(kind, call, shapes.count(shape, call)).cloned(),
        };
        self.memo.steps.push(step);
        self.memo.places.insert((kind, shape, call), self.memo.steps.len() as u32 - 1);
        self.memo.steps.len() - 1
    }

    /// How well it fits that `time` is when something is done for a request after such a delay,
    /// where `triggered` is when what it is done after was; `own` is the delay that was learned
    /// from just that.
    fn timing(
        &self,
        service: &Service,
        at: &At<'_>,
        delay: &Delay,
        triggered: Option<i64>,
        time: i64,
        own: i64,
    ) -> f64 {
        let begin = service.requests[at.request as usize].begin;
        let (since, missing) = match triggered {
            Some(since) => (since, 0.0),
            None => {
                let last = Trigger::Last.time(service, at.request, at.made, time);
                (last.unwrap_or(begin), NO_TRIGGER)
            }
        };
        let took = time.saturating_sub(service.free_since(since, time));
        let density = match service.without.has(Evidence::Delays) {
            true => delay.density.log(took, since.saturating_sub(begin), own == took),
            false => ANY_DELAY,
        };
        density + missing + delay.open[open_calls(service, at.made, time)]
    }

    /// How well it fits that `call` is made for a request in that state.
    pub(super) fn call(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        at: &At<'_>,
        call: u32,
    ) -> f64 {
        self.judge(service, shapes, at, call).0
    }

    /// Since when a request in that state waits for making such a call; `None`: it does not.
    pub(super) fn waiting(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        at: &At<'_>,
        call: u32,
    ) -> Option<i64> {
        self.judge(service, shapes, at, call).1
    }

    /// How well it fits that `call` is made for a request in that state; and since when it waits
    /// for making such a call.
    pub(super) fn judge(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        at: &At<'_>,
        call: u32,
    ) -> (f64, Option<i64>) {
        let span = service.calls[call as usize];
        let kind = service.requests[at.request as usize].kind;
        let step = self.step(shapes, kind, at.shape, span.kind);
        let step = &self.memo.steps[step];
        let Some(delay) = &step.delay else { return (UNKNOWN, None) };
        let is_covered = service.covers(at.request, call);
        let triggered = delay.trigger.time(service, at.request, at.made, span.begin);
        let waiting =
            triggered.filter(|_| is_covered && step.waits(service, at, delay, span.begin));
        if !step.is_known {
            return (UNKNOWN, waiting);
        }
        let learned =
            self.learned_calls.get(call as usize).filter(|(owner, _)| *owner == at.request);
        let own = learned.map_or(NO_DELAY, |(_, delay)| *delay);
        let sizes = self.sizes.odds(service, at.request, call, learned.is_some());
        let uncovered = if is_covered { 0.0 } else { NOT_COVERED };
        let shaped = if service.without.has(Evidence::Shapes) { step.shaped } else { 0.0 };
        let order = if service.without.has(Evidence::Order) { ORDER_WEIGHT } else { 0.0 };
        let score = shaped
            + self.timing(service, at, delay, triggered, span.begin, own)
            + order * step.next
            + uncovered
            + self.afterwards(service, at.request, call)
            + sizes
            + self.by_thread(service, at, span.kind, service.caller(call), span.begin);
        (score, waiting)
    }

    /// How likely a call of that kind is to be made after the answer, if it is, or else before it.
    fn afterwards(&self, service: &Service, request: u32, call: u32) -> f64 {
        if !service.goes_on_after_answers() {
            return 0.0;
        }
        let (request, call) = (service.requests[request as usize], service.calls[call as usize]);
        let [before, after] =
            self.after_answer.get(&(request.kind, call.kind)).copied().unwrap_or([0.5; 2]);
        if call.begin > request.end { after.ln() } else { before.ln() }
    }

    /// What the end of the call promises for the request.
    pub(super) fn promise(&self, service: &Service, request: u32, call: u32) -> f64 {
        let learned =
            self.learned_calls.get(call as usize).is_some_and(|(owner, _)| *owner == request);
        self.promises.of(service, request, call, learned)
    }

    /// How well it fits that a request in that state is answered when it is, and that this was all
    /// that was done for it.
    pub(super) fn reply(&mut self, service: &Service, shapes: &Shapes, at: &At<'_>) -> f64 {
        self.finish(service, shapes, at) + self.answer(service, at)
    }

    /// How well it fits that just these calls, in the order of time, are made for a request, and
    /// that it is answered when it is.
    pub(super) fn request(
        &mut self,
        service: &Service,
        shapes: &mut Shapes,
        request: u32,
        made: &[u32],
    ) -> f64 {
        let (mut sum, mut shape) = (0.0, 0);
        for (at, call) in made.iter().enumerate() {
            let before = recent(made.get(..at).unwrap_or_default());
            sum += self.call(service, shapes, &At { request, made: before, shape }, *call);
            shape = shapes.with(shape, service.calls[*call as usize].kind);
        }
        sum + self.reply(service, shapes, &At { request, made: recent(made), shape })
    }

    /// How well it fits that nothing more is done for a request in that state.
    pub(super) fn finish(&mut self, service: &Service, shapes: &Shapes, at: &At<'_>) -> f64 {
        let kind = service.requests[at.request as usize].kind;
        let [least, just] = self.shape(shapes, kind, at.shape);
        if service.without.has(Evidence::Shapes) { just - least } else { 0.0 }
    }

    /// How well it fits that a request in that state is answered when it is.
    pub(super) fn answer(&self, service: &Service, at: &At<'_>) -> f64 {
        let request = service.requests[at.request as usize];
        if request.end == OPEN {
            return 0.0;
        }
        let own = self.learned_replies.get(at.request as usize).copied().unwrap_or(NO_DELAY);
        let at = &At { made: before_answer(service, at.request, at.made), ..*at };
        let timing = self.delay_of(request.kind, REPLY, 0).map_or(UNKNOWN, |delay| {
            let triggered = delay.trigger.time(service, at.request, at.made, request.end);
            self.timing(service, at, delay, triggered, request.end, own)
        });
        timing + self.by_thread(service, at, REPLY, service.answerer(at.request), request.end)
    }

    /// What it proves that this thread makes such a call (or the reply).
    fn by_thread(&self, service: &Service, at: &At<'_>, call: u32, thread: u32, time: i64) -> f64 {
        let kind = service.requests[at.request as usize].kind;
        self.threads.odds(kind, call, self.threads.sample(service, at, call, thread, time))
    }

    /// How well it fits that a call of that kind is made for no request.
    pub(super) fn spontaneous(&self, kind: u32) -> f64 {
        self.spontaneous.get(&kind).copied().unwrap_or(UNKNOWN - 1.0)
    }
}

impl Step {
    /// Whether a request in that state waits for making such a call at `time`, which it might have
    /// made since it was triggered.
    fn waits(&self, service: &Service, at: &At<'_>, delay: &Delay, time: i64) -> bool {
        self.shaped >= MIN_SHAPED
            && (!service.has_thread_time() || self.next >= MIN_NEXT)
            && delay.open[open_calls(service, at.made, time)] >= MIN_OPEN
    }
}

/// How often calls of each kind are made while no request is open, per nanosecond, as a logarithm.
fn while_idle(service: &Service, events: &[(i64, Event)]) -> FxHashMap<u32, f64> {
    let mut counts: FxHashMap<u32, f64> =
        service.calls.iter().map(|call| (call.kind, IDLE_NEVER)).collect();
    let (mut open, mut idle, mut since) =
        (0_usize, 0.0, events.first().map_or(0, |(time, _)| *time));
    let begin = since;
    for (time, event) in events {
        match event {
            Event::Receipt(_) => {
                if open == 0 {
                    idle += time.saturating_sub(since) as f64;
                }
                open += 1;
            }
            Event::Reply(_) => {
                open = open.saturating_sub(1);
                since = *time;
            }
            Event::Call(call) if open == 0 => {
                *counts.entry(service.calls[*call as usize].kind).or_default() += 1.0;
            }
            Event::Call(_) | Event::Answer(_) => {}
        }
    }
    let all = events.last().map_or(1, |(time, _)| time.saturating_sub(begin)).max(1) as f64;
    let idle = f64::max(idle, MIN_IDLE * all);
    // Where hardly any time is idle, what never happened is rarer still.
    let rate = |count: f64| (count / if count > IDLE_NEVER { idle } else { all }).ln();
    counts.into_iter().map(|(kind, count)| (kind, rate(count))).collect()
}

/// Of the calls `made` for a request, in their order, those that were made before its answer.
pub(super) fn before_answer<'made>(
    service: &Service,
    request: u32,
    made: &'made [u32],
) -> &'made [u32] {
    let end = service.requests[request as usize].end;
    if !service.goes_on_after_answers() {
        return made;
    }
    let before = made.partition_point(|call| service.calls[*call as usize].begin <= end);
    made.get(..before).unwrap_or(made)
}
