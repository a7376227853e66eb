//! Model and assignment of a service, each from the other, until they agree: expectation
//! maximisation with the one best assignment in place of an expectation. Nothing is known at first,
//! so it is begun in several ways ([`super::beginnings`]).

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::NONE;
use super::beginnings::{Begun, begin};
use super::connections::Connections;
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
use super::service::{Event, Service, Span, events, made_for};
use super::shapes::Shapes;
use super::sizes::Sizes;
use super::thread_time;
use crate::evidence::Evidence;

/// Hypotheses kept while the model is learned, and at last.
const WIDTHS: [usize; 2] = [24, 64];
/// About how many requests the model is learned from.
const REQUESTS: usize = 4000;
/// Where more are open at a time than so many, it is fewer in proportion, as at each call all that
/// are open are looked at;
const MANY_OPEN: f64 = 64.0;
/// but no fewer than that.
const LEAST_REQUESTS: usize = 1000;
/// Rounds of learning.
const ROUNDS: usize = 16;
/// Further rounds, in which calls are taken to be nobody's only as often as they are while no
/// request is open.
pub(super) const LAST_ROUNDS: usize = 2;
/// Learning is over when no more than one of so many calls was given to another request than
/// before, or when that becomes no fewer for so many rounds.
const SETTLED: usize = 500;
const PATIENCE: usize = 2;
/// It is over, too, when so many times in a row more calls than this part became nobody's: what is
/// nobody's is not learned from, so that with every round fewer would be left.
const LOSING: (usize, f64) = (2, 0.02);
/// So many times as many requests are worth to be learned from anew.
const MORE: usize = 2;
/// So are requests or calls of new kinds, if they are more than this part.
const NEW: f64 = 0.1;
/// With more shapes of requests than that, of which each search adds some, it is begun anew.
const MOST_SHAPES: usize = 1 << 16;
/// When this part of the calls is nobody's, something went wrong.
const LOST: f64 = 0.3;

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
        let sample = service.beginning(enough(service));
        let (mut model, mut owner) = learned(&sample, &mut shapes, Nobody::Counted);
        if nobodys(&owner) > LOST {
            // Of many requests that are alike each is unlikely to be the one, and what is nobody's
            // is not learned from.
            let (other, others_owner) = learned(&sample, &mut shapes, Nobody::AmongAll);
            if nobodys(&others_owner) < nobodys(&owner) {
                (model, owner) = (other, others_owner);
            }
        }
        let mut in_thread_time = false;
        let too_many = thread_time::too_many(&sample, &owner);
        if too_many > thread_time::RUNS
            && sample.is_event_loop()
            && sample.without.has(Evidence::Delays)
        {
            // One request has the calls of others, as the thread always does something.
            let mut others = Shapes::new();
            let (other, others_owner) =
                learned(&sample.in_thread_time(), &mut others, Nobody::Counted);
            let is_less = thread_time::too_many(&sample, &others_owner) < too_many;
            if is_less && nobodys(&others_owner) <= nobodys(&owner) + LOST / 2.0 {
                (model, shapes, in_thread_time) = (other, others, true);
            }
        }
        model.overtaking.retain(|_, less| *less > discipline::SURE);
        let kinds = [&sample.requests, &sample.calls]
            .map(|spans| spans.iter().map(|span| span.kind).collect());
        Known { model, shapes, in_thread_time, requests: sample.requests.len(), kinds }
    }

    /// The same for another stretch; nothing, if that has so much that is new that it is worth to
    /// be learned from itself.
    fn in_another(self, service: &Service) -> Option<Known> {
        let more = service.requests.len().min(enough(service)) > MORE * self.requests;
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
        let mut found = search(service, &events, &self.shapes, &self.model, WIDTHS[1], true);
        self.model.agreement.temper(service, &events, &mut found.shares);
        pool::temper(service, &mut found.shares);
        early::temper(service, &mut found.shares);
        // No call of another stretch is one of those that it was learned from.
        self.model.learned_calls = Arc::default();
        self.model.learned_replies = Arc::default();
        found
    }
}

/// The requests of all calls of `service`, with their probabilities, and what was learned of it.
/// What is known of it from an earlier stretch of the trace goes on to count, as long as calls find
/// their requests by it.
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

/// From about how many requests of a service its model is learned.
fn enough(service: &Service) -> usize {
    let lasted = (0..).zip(&service.requests);
    let lasted =
        lasted.map(|(at, span)| service.closed(at).saturating_sub(span.begin) as f64).sum::<f64>();
    let begin = |span: Option<&Span>| span.map_or(0, |span| span.begin);
    let all = begin(service.requests.last()).saturating_sub(begin(service.requests.first())).max(1);
    let open = lasted / all as f64;
    ((REQUESTS as f64 * MANY_OPEN / open.max(MANY_OPEN)) as usize).max(LEAST_REQUESTS)
}

/// Which part of the calls is nobody's.
fn nobodys(owner: &[u32]) -> f64 {
    owner.iter().filter(|owner| **owner == NONE).count() as f64 / owner.len().max(1) as f64
}

/// The model of a service, and the requests of its calls by it.
fn learned(service: &Service, shapes: &mut Shapes, nobody: Nobody) -> (Model, Vec<u32>) {
    let axis = Axis { resolution: service.resolution() };
    let learner = Learner {
        service,
        events: events(service),
        axis,
        width: WIDTHS[0],
        exchanges: true,
        supposes: true,
    };
    let Begun { model, agreement } = begin(service, axis, shapes, nobody);
    let owner = learner.owner(shapes, &model);
    let (_, owner) = learner.learn(owner, ROUNDS, nobody, shapes);
    let (mut model, owner) = learner.learn(owner, LAST_ROUNDS, Nobody::WhileIdle, shapes);
    model.agreement = agreement;
    (model, owner)
}

/// What the rounds of learning so far came to.
#[derive(Debug, Default)]
struct Round {
    /// The fewest calls that were given to another request than before, and how many rounds ago.
    least: Option<usize>,
    since: usize,
    /// Which part of the calls was nobody's, and in how many rounds it grew since.
    nobodys: Option<f64>,
    losing: usize,
}

impl Round {
    /// Whether learning is over after a round that gave so many calls to another request, and all
    /// to these.
    fn is_last(&mut self, changed: usize, owner: &[u32]) -> bool {
        self.since =
            if self.least.is_none_or(|least| changed < least) { 0 } else { self.since + 1 };
        self.least = Some(self.least.map_or(changed, |least| least.min(changed)));
        let now = nobodys(owner);
        let grew = self.nobodys.is_some_and(|before| now > before + LOSING.1);
        self.losing = if grew { self.losing + 1 } else { 0 };
        self.nobodys = Some(now);
        changed * SETTLED <= owner.len() || self.since == PATIENCE || self.losing == LOSING.0
    }
}

/// What models are learned from.
pub(super) struct Learner<'a> {
    pub(super) service: &'a Service,
    pub(super) events: Vec<(i64, Event)>,
    pub(super) axis: Axis,
    /// Hypotheses kept.
    pub(super) width: usize,
    /// Whether requests exchange calls after the search where that fits better.
    pub(super) exchanges: bool,
    /// Whether event loops are supposed to serve in turn before that is learned.
    pub(super) supposes: bool,
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
        let mut round = Round::default();
        for _ in 0..rounds {
            model = self.model(&owner, nobody, shapes);
            let found = self.owner(shapes, &model);
            let changed = found.iter().zip(&owner).filter(|(one, other)| one != other).count();
            owner = found;
            if round.is_last(changed, &owner) {
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

    /// The same without what is learned of the order of service, which beginnings are too far off
    /// to tell.
    pub(super) fn without_turns(
        &self,
        owner: &[u32],
        nobody: Nobody,
        shapes: &mut Shapes,
    ) -> Model {
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
    pub(super) fn owner(&self, shapes: &Shapes, model: &Model) -> Vec<u32> {
        let mut owner = search(self.service, &self.events, shapes, model, self.width, false).owner;
        // Beginnings know nothing of the order of service, which exchanges would only hide.
        if self.exchanges && !model.overtaking.is_empty() {
            let (shapes, model) = (&mut shapes.clone(), &mut model.clone());
            exchanges::improve(self.service, &self.events, &mut owner, shapes, model);
        }
        owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After which round learning is over, given how many of 1000 calls changed and how many were
    /// nobody's.
    fn last(rounds: &[(usize, usize)]) -> Option<usize> {
        let mut round = Round::default();
        rounds.iter().position(|(changed, nobodys)| {
            let owner: Vec<u32> =
                (0..1000).map(|call| if call < *nobodys { NONE } else { 0 }).collect();
            round.is_last(*changed, &owner)
        })
    }

    #[test]
    fn learning_is_over_when_hardly_anything_changes_or_no_longer_less() {
        assert_eq!(last(&[(300, 0), (90, 0), (20, 0), (2, 0), (0, 0)]), Some(3));
        assert_eq!(last(&[(300, 0), (90, 0), (95, 0), (91, 0), (0, 0)]), Some(3));
        assert_eq!(last(&[(300, 0), (90, 0), (95, 0), (80, 0), (81, 0)]), None);
    }

    #[test]
    fn learning_is_over_when_more_and_more_calls_are_nobodys() {
        assert_eq!(last(&[(300, 90), (250, 140), (200, 190), (150, 230)]), Some(2));
        // Which is settled soon.
        assert_eq!(last(&[(300, 258), (250, 297), (200, 306), (150, 307)]), None);
        assert_eq!(last(&[(300, 140), (250, 190), (200, 120), (150, 170)]), None);
    }
}
