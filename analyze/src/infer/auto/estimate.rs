//! Model and assignment of a service, each from the other, until they agree: expectation maximisation with the one best
//! assignment in place of an expectation. Nothing is known at first, so it is begun in several ways, on the beginning of
//! the trace and with few hypotheses, and what fits best after that is gone on with.

use rustc_hash::FxHashMap;

use super::NONE;
use super::density::Axis;
use super::discipline;
use super::learn::learn;
use super::model::{At, Model};
use super::search::{Found, Search};
use super::service::{Event, Service, events, made_for, recent};
use super::shapes::Shapes;

/// Hypotheses kept while a beginning is tried, while the model is learned, and at last.
const WIDTHS: [usize; 3] = [8, 24, 64];
/// About how many requests beginnings are tried on, and the model is learned from.
const REQUESTS: [usize; 2] = [800, 4000];
/// Rounds of learning for a beginning, and in all.
const ROUNDS: [usize; 2] = [2, 8];
/// So many requests that had the service to themselves are worth to be learned from alone.
const SOLO: usize = 30;
/// A call for which nobody has a request, as if the model said so.
const NOBODY: f64 = -30.0;

/// The requests of all calls of `service`, with their probabilities.
pub(super) fn estimate(service: &Service) -> Found {
    let axis = Axis { resolution: service.resolution() };
    let mut shapes = Shapes::new();
    let sample = service.beginning(REQUESTS[1]);
    let sample_events = events(&sample);
    let mut owner = begin(&sample, axis, &mut shapes);
    let mut model = Model::default();
    for _ in 0..ROUNDS[1] {
        model = model_of(&sample, &sample_events, &owner, &mut shapes, axis);
        let found = Search::run(&sample, &sample_events, &mut shapes, &mut model, WIDTHS[1], false);
        let changed = found.owner.iter().zip(&owner).filter(|(one, other)| one != other).count();
        owner = found.owner;
        if changed == 0 {
            break;
        }
    }
    Search::run(service, &events(service), &mut shapes, &mut model, WIDTHS[2], true)
}

/// The model of an assignment.
fn model_of(
    service: &Service,
    events: &[(i64, Event)],
    owner: &[u32],
    shapes: &mut Shapes,
    axis: Axis,
) -> Model {
    let mut model = learn(service, &made_for(service, owner), |_| true, shapes, axis);
    discipline::learn(service, events, owner, shapes, &mut model);
    model
}

/// The best of several assignments to begin with.
fn begin(service: &Service, axis: Axis, shapes: &mut Shapes) -> Vec<u32> {
    let part = service.beginning(REQUESTS[0]);
    let part_events = events(&part);
    let solo = solo(&part, &part_events);
    let mut best: Option<(f64, Model)> = None;
    for choice in Choice::ALL {
        if choice == Choice::Solo && solo.iter().filter(|solo| **solo).count() < SOLO {
            continue;
        }
        let mut owner = first(&part, &part_events, choice);
        let mut only_solo = choice == Choice::Solo;
        for _ in 0..ROUNDS[0] {
            let used = |request: usize| !only_solo || solo[request];
            let mut model = learn(&part, &made_for(&part, &owner), used, shapes, axis);
            owner = Search::run(&part, &part_events, shapes, &mut model, WIDTHS[0], false).owner;
            only_solo = false;
        }
        let mut model = learn(&part, &made_for(&part, &owner), |_| true, shapes, axis);
        let fit = fit(&part, &owner, shapes, &mut model);
        if best.as_ref().is_none_or(|(best, _)| fit > *best) {
            best = Some((fit, model));
        }
    }
    let Some((_, mut model)) = best else { return vec![NONE; service.calls.len()] };
    Search::run(service, &events(service), shapes, &mut model, WIDTHS[1], false).owner
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
    /// The one with the fewest calls of that kind so far.
    Fewest,
    /// The first, but only requests that had the service to themselves are learned from.
    Solo,
}

impl Choice {
    const ALL: [Choice; 6] =
        [Choice::Solo, Choice::Fewest, Choice::Oldest, Choice::Newest, Choice::EndsFirst, Choice::EndsLast];
}

fn first(service: &Service, events: &[(i64, Event)], choice: Choice) -> Vec<u32> {
    let mut owner = vec![NONE; service.calls.len()];
    let mut open: Vec<u32> = Vec::new();
    let mut counts: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for (_, event) in events {
        match event {
            Event::Receipt(request) => open.push(*request),
            Event::Reply(request) => open.retain(|open| open != request),
            Event::Call(call) => {
                let kind = service.calls[*call as usize].kind;
                let mut covering = open.iter().filter(|request| service.covers(**request, *call));
                let end = |request: &&u32| service.requests[**request as usize].end;
                let chosen = match choice {
                    Choice::Oldest | Choice::Solo => covering.next(),
                    Choice::Newest => covering.next_back(),
                    Choice::Fewest => {
                        covering.min_by_key(|request| counts.get(&(**request, kind)).copied().unwrap_or(0))
                    }
                    Choice::EndsFirst => covering.min_by_key(end),
                    Choice::EndsLast => covering.max_by_key(end),
                };
                let chosen = chosen.or(open.last()).copied().unwrap_or(NONE);
                *counts.entry((chosen, kind)).or_default() += 1;
                owner[*call as usize] = chosen;
            }
        }
    }
    owner
}

/// Which requests were never open together with another.
fn solo(service: &Service, events: &[(i64, Event)]) -> Vec<bool> {
    let mut solo = vec![true; service.requests.len()];
    let mut open: Vec<u32> = Vec::new();
    for (_, event) in events {
        match event {
            Event::Receipt(request) => {
                open.push(*request);
                if open.len() > 1 {
                    open.iter().for_each(|request| solo[*request as usize] = false);
                }
            }
            Event::Reply(request) => open.retain(|open| open != request),
            Event::Call(_) => {}
        }
    }
    solo
}

/// How well an assignment fits its own model, every part of which is left out where it speaks for itself.
fn fit(service: &Service, owner: &[u32], shapes: &mut Shapes, model: &mut Model) -> f64 {
    let nobody = owner.iter().filter(|owner| **owner == NONE).count() as f64 * NOBODY;
    let mut sum = nobody;
    for (request, made) in made_for(service, owner).iter().enumerate() {
        let request = request as u32;
        let mut shape = 0;
        for (at, call) in made.iter().enumerate() {
            let Some((before, _)) = made.split_at_checked(at) else { continue };
            sum += model.call(service, shapes, &At { request, made: recent(before), shape }, *call);
            shape = shapes.with(shape, service.calls[*call as usize].kind);
        }
        sum += model.reply(service, shapes, &At { request, made: recent(made), shape });
    }
    sum
}
