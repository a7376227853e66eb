//! Which requests the calls of a service were made for, all together: a beam search over joint
//! hypotheses. Events are taken in the order of time; at each call every hypothesis is continued
//! with every open request, and those that fit best are kept ([`super::beam`]). Hypotheses that
//! differ only in what cannot matter any more become one ([`super::lattice`] keeps what they were).

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::NONE;
use super::assignment::Assignment;
use super::at::At;
use super::at_event::AtEvent;
use super::beam::{Beam, Order};
use super::continuations::{Candidate, Candidates, Continuation, Continuations};
use super::discipline::NEVER;
use super::lattice::Lattice;
use super::model::Model;
use super::service::{Event, Service};
use super::shapes::Shapes;
use super::states::{State, States};
use crate::tuning::auto::search::hypotheses::{
    ALIKE_FACTOR, KEPT_BOUNDS, MARGIN, MAX_CONTINUATIONS, MAX_OPEN_REQUESTS, MAX_STEPS, MIN_SHARE,
};

/// A state at an event.
#[derive(Clone, Copy, Debug)]
struct Judged {
    candidate: Candidate,
    /// What the end of the call promises for it.
    promise: f64,
    /// The state after it.
    grown: u32,
}

/// The search through one service's events.
pub(super) struct Search<'a> {
    service: &'a Service,
    shapes: &'a mut Shapes,
    model: &'a mut Model,
    width: usize,
    states: States,
    /// Lists of final states: one, and the rest.
    over: Vec<(u32, u32)>,
    open: Vec<u32>,
    hypotheses: Beam,
    lattice: Option<Lattice>,
    judged: AtEvent<Judged>,
    /// What an answer adds to the score, by state.
    answered: AtEvent<f64>,
    /// The first of the calls at hand, by which places in `found` are counted.
    first: u32,
    found: Assignment,
    room: Room,
}

/// What is used for one event after the other.
#[derive(Default)]
struct Room {
    next: Beam,
    order: Order,
    /// What an answer makes of each hypothesis.
    answered: Vec<Continuation>,
    candidates: Candidates,
    continuations: Continuations,
    /// The mark of each hypothesis.
    marks: Vec<u64>,
    /// Which hypothesis has a mark.
    seen: FxHashMap<u64, u32>,
}

impl<'a> Search<'a> {
    /// Finds the best assignment of these `calls` of `service`, those among `events`, by `model`,
    /// keeping up to `width` hypotheses.
    pub(super) fn run(
        service: &'a Service,
        events: &[(i64, Event)],
        calls: Range<u32>,
        shapes: &'a mut Shapes,
        model: &'a mut Model,
        width: usize,
        with_shares: bool,
    ) -> Assignment {
        let mut hypotheses = Beam::default();
        hypotheses.push(0.0, NONE, &[]);
        let mut search = Search {
            service,
            shapes,
            model,
            width,
            states: States::default(),
            over: Vec::new(),
            open: Vec::new(),
            hypotheses,
            lattice: with_shares.then(Lattice::new),
            judged: AtEvent::default(),
            answered: AtEvent::default(),
            first: calls.start,
            found: Assignment::of(calls, with_shares),
            room: Room::default(),
        };
        let mut steps = 0;
        for (time, event) in events {
            steps += 1;
            match event {
                Event::Receipt(request) => search.receipt(*request, *time),
                Event::Call(call) => search.call(*call),
                Event::Answer(request) => search.answer(*request),
                Event::Reply(request) => search.reply(*request, *time, true),
            }
            if (search.open.is_empty() && search.hypotheses.len() == 1) || steps > MAX_STEPS {
                search.settle();
                steps = 0;
            }
        }
        search.settle();
        search.found
    }

    fn receipt(&mut self, request: u32, time: i64) {
        if self.open.len() >= MAX_OPEN_REQUESTS {
            self.reply(self.open[0], time, false);
        }
        let state = self.states.begin(request);
        self.open.push(request);
        self.hypotheses.open(state);
    }

    fn reply(&mut self, request: u32, time: i64, is_judged: bool) {
        let Some(slot) = self.open.iter().position(|open| *open == request) else { return };
        self.open.remove(slot);
        let is_answered = self.service.closed(request)
            > self.service.over(&self.service.requests[request as usize]);
        self.answered.clear();
        let mut room = std::mem::take(&mut self.room);
        room.answered.clear();
        let all = std::mem::take(&mut self.hypotheses);
        for from in 0..all.len() {
            let state = all.states(from)[slot];
            let added = match self.answered.get(state) {
                _ if !is_judged => 0.0,
                Some(score) => score,
                None => {
                    let Search { service, shapes, model, states, .. } = self;
                    let score = states.with_calls(state, |State { request, shape, .. }, made| {
                        let at = &At { request, made, shape };
                        // Where something may be done after the answer, the answer itself was
                        // judged when it was given.
                        match is_answered {
                            false => model.reply(service, shapes, at),
                            true => model.finish(service, shapes, at),
                        }
                    });
                    let score =
                        score - if is_answered { 0.0 } else { self.states.get(state).promised };
                    self.answered.set(state, score);
                    score
                }
            };
            room.answered.push(Continuation {
                score: all.score(from) + added,
                added,
                from: from as u32,
                slot: state,
            });
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(NONE);
        }
        self.mark_all(&all, Some(slot), time, &mut room.marks);
        let scores = || room.answered.iter().map(|next| next.score);
        let best = scores().fold(f64::NEG_INFINITY, f64::max);
        room.next.clear(self.open.len());
        room.seen.clear();
        for place in room.order.sorted(scores(), best - MARGIN, usize::MAX) {
            let Continuation { score, added, from, slot: state } = room.answered[place as usize];
            let mark = room.marks[from as usize];
            let next = room.next.len() as u32;
            let to = *room.seen.entry(mark).or_insert(next);
            if to == next {
                self.over.push((state, all.over(from as usize)));
                let over = self.over.len() as u32 - 1;
                room.next.push_without(score, over, all.states(from as usize), slot);
            }
            if let Some(lattice) = &mut self.lattice {
                lattice.add(from, to, NONE, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
        self.hypotheses = std::mem::replace(&mut room.next, all);
        self.room = room;
    }

    /// Judges an answer after which the request stays open.
    fn answer(&mut self, request: u32) {
        let Some(slot) = self.open.iter().position(|open| *open == request) else { return };
        self.answered.clear();
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(NONE);
        }
        for at in 0..self.hypotheses.len() {
            let state = self.hypotheses.states(at)[slot];
            let added = self.answered.get(state).unwrap_or_else(|| {
                let Search { service, model, states, .. } = self;
                let score = states.with_calls(state, |State { request, shape, .. }, made| {
                    model.answer(service, &At { request, made, shape })
                });
                score - states.keep_promise(state)
            });
            self.answered.set(state, added);
            self.hypotheses.add_score(at, added);
            if let Some(lattice) = &mut self.lattice {
                lattice.add(at as u32, at as u32, NONE, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
    }

    fn call(&mut self, call: u32) {
        let span = self.service.calls[call as usize];
        let among =
            if self.model.nobody_among_all { (self.open.len().max(1) as f64).ln() } else { 0.0 };
        let spontaneous = self.model.spontaneous(span.kind) - among;
        let holder = self.service.holder(call);
        let is_held = holder != NONE && self.open.contains(&holder);
        let mut room = std::mem::take(&mut self.room);
        let possible = (0..).zip(&self.open).filter(|(_, request)| {
            let is_possible = self.service.closed(**request) >= span.begin
                && !self.service.is_itself(**request, call);
            is_possible && (!is_held || **request == holder)
        });
        room.candidates.begin(self.model, span.kind, possible.map(|(slot, _)| slot));
        let width =
            (MAX_CONTINUATIONS / (self.open.len() + 1)).clamp(KEPT_BOUNDS[0], KEPT_BOUNDS[1]);
        room.continuations.begin(width * ALIKE_FACTOR, MARGIN);
        self.judged.clear();
        let all = std::mem::take(&mut self.hypotheses);
        for from in 0..all.len() {
            room.candidates.go_to(all.states(from), |state| self.judge(state, call).candidate);
            let (score, from) = (all.score(from), from as u32);
            room.candidates.add_to(&mut room.continuations, from, score);
            if !is_held {
                room.continuations.add(Continuation {
                    score: score + spontaneous,
                    added: spontaneous,
                    from,
                    slot: NONE,
                });
            }
            room.continuations.thin();
        }
        self.hypotheses = all;
        self.go_on(call, width.min(self.width), &mut room);
        self.room = room;
    }

    /// Continues with the best continuations.
    fn go_on(&mut self, call: u32, width: usize, room: &mut Room) {
        let time = self.service.calls[call as usize].begin;
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(call);
        }
        let all = std::mem::take(&mut self.hypotheses);
        self.mark_all(&all, None, time, &mut room.marks);
        let Room { next, order, continuations, marks, seen, .. } = room;
        let ((most, least), continuations) = (continuations.bounds(), continuations.found());
        next.clear(self.open.len());
        seen.clear();
        let scores = || continuations.iter().map(|next| next.score);
        let mut go_on = |search: &mut Search<'_>, place: u32| {
            let Continuation { score, added, from, slot } = continuations[place as usize];
            let states = all.states(from as usize);
            let (mut mark, mut grown, mut request) = (marks[from as usize], NONE, NONE);
            if let Some(state) = states.get(slot as usize) {
                grown = search.grow(*state, call);
                request = search.open[slot as usize];
                mark = mark
                    .wrapping_sub(search.mark(*state, time))
                    .wrapping_add(search.mark(grown, time));
            }
            let to = match seen.get(&mark) {
                Some(to) => *to,
                None if next.len() < width => {
                    let to = next.len() as u32;
                    seen.insert(mark, to);
                    next.push(score, all.over(from as usize), states);
                    if let Some(state) = next.states_mut(to as usize).get_mut(slot as usize) {
                        *state = grown;
                    }
                    to
                }
                None => return false,
            };
            if let Some(lattice) = &mut search.lattice {
                lattice.add(from, to, request, added);
            }
            true
        };
        if self.lattice.is_some() {
            for place in order.sorted(scores(), least, most) {
                go_on(self, place);
            }
        } else {
            // What is found to be alike later on is asked for by nobody.
            order.first_ones(scores(), least, 2 * width).take(most).all(|place| go_on(self, place));
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
        self.hypotheses = std::mem::replace(next, all);
    }

    /// How well it fits that the call is made for a request in that state.
    fn judge(&mut self, state: u32, call: u32) -> Judged {
        if let Some(judged) = self.judged.get(state) {
            return judged;
        }
        let others = self.open.len() > 1;
        let before = Some(self.service.before(call)).filter(|before| {
            *before != NONE && self.model.connections.count(self.service.calls[call as usize].kind)
        });
        let Search { service, shapes, model, states, .. } = self;
        let judged = states.with_calls(state, |State { request, shape, .. }, made| {
            let promise = model.promise(service, request, call);
            let (score, waiting) = model.judge(service, shapes, &At { request, made, shape }, call);
            let candidate = Candidate {
                score: promise + score,
                waiting: waiting.filter(|_| others).unwrap_or(NEVER),
                has_before: before.is_some_and(|before| made.contains(&before)),
            };
            Judged { candidate, promise, grown: NONE }
        });
        self.judged.set(state, judged);
        judged
    }

    /// The state after the call, which was judged.
    fn grow(&mut self, state: u32, call: u32) -> u32 {
        let judged = self.judge(state, call);
        if judged.grown != NONE {
            return judged.grown;
        }
        let kind = self.service.calls[call as usize].kind;
        let shape = self.shapes.with(self.states.get(state).shape, kind);
        let grown = self.states.grow(state, call, shape, judged.promise);
        self.judged.set(state, Judged { grown, ..judged });
        grown
    }

    /// For each of `all` hypotheses a number that is the same where the future does not tell one
    /// from the other, by what differs from the first of them. What is in the place `left_out` does
    /// not count.
    fn mark_all(&mut self, all: &Beam, left_out: Option<usize>, time: i64, marks: &mut Vec<u64>) {
        marks.clear();
        for at in 0..all.len() {
            let mut mark = 0u64;
            all.differing(at, |slot, state, first| {
                if left_out != Some(slot) {
                    mark = mark
                        .wrapping_add(self.mark(state, time))
                        .wrapping_sub(self.mark(first, time));
                }
            });
            marks.push(mark);
        }
    }

    /// A number that is the same for states of which the future does not tell one from the other.
    fn mark(&mut self, state: u32, time: i64) -> u64 {
        self.states.mark(self.service, self.model, state, time)
    }

    /// Keeps what is known of all calls so far, and goes on with the best hypothesis alone.
    fn settle(&mut self) {
        let first = self.first;
        if let Some(lattice) = &mut self.lattice {
            let shares = &mut self.found.shares;
            lattice.finish(|call, request, share| {
                if share >= MIN_SHARE || request == NONE {
                    shares[(call - first) as usize].push((request, share));
                }
            });
        }
        let Some(best) = self.hypotheses.best() else { return };
        let owner = &mut self.found.owner;
        let mut keep = |call: u32, request: u32| owner[(call - first) as usize] = request;
        let mut states = self.hypotheses.states(best).to_vec();
        states.iter().for_each(|state| self.states.calls(*state, &mut keep));
        let mut over = self.hypotheses.over(best);
        while over != NONE {
            let (state, rest) = self.over[over as usize];
            self.states.calls(state, &mut keep);
            over = rest;
        }
        // What is still open is all that is kept.
        self.over.clear();
        self.states.keep(&mut states);
        self.hypotheses.clear(states.len());
        self.hypotheses.push(0.0, NONE, &states);
    }
}
