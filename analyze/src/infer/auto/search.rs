//! Which requests the calls of a service were made for, all together: a beam search over joint hypotheses. Events are
//! taken in the order of time; at each call every hypothesis is continued with every open request, and those that fit
//! best are kept. Hypotheses that differ only in what cannot matter any more become one ([`super::lattice`] keeps what
//! they were).

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::NONE;
use super::at_event::AtEvent;
use super::discipline;
use super::lattice::Lattice;
use super::model::{At, Model};
use super::service::{Event, Service};
use super::shapes::{ShapeId, Shapes};
use super::trigger::{Trigger, last_event};

/// Hypotheses so many nats worse than the best are given up.
const MARGIN: f64 = 25.0;
/// So many requests can be open; of more, the oldest is given up.
pub(super) const MOST_OPEN: usize = 1024;
/// So many ways to go on are looked at for one event: the more requests are open, the fewer hypotheses are kept.
const MOST_WAYS: usize = 2048;
/// Of these so many are gone on with, or found to be alike.
const MOST_KEPT: usize = 1024;
/// Of what was done for a request, so many calls are looked back at.
const MEMORY: usize = 64;
/// Hypotheses that never become one are made one after so many steps.
const LONGEST: usize = 4096;
/// The least probability that is worth keeping.
const LEAST: f64 = 0.001;

/// What was found of a service.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The request of each call in the best hypothesis; [`NONE`] is none.
    pub(super) owner: Vec<u32>,
    /// For each call its possible requests, [`NONE`] among them, with the probabilities; only where they are asked for.
    pub(super) shares: Vec<Vec<(u32, f64)>>,
}

impl Found {
    /// What is known of these calls before anything is.
    pub(super) fn of(calls: Range<u32>, with_shares: bool) -> Found {
        let shares = if with_shares { vec![Vec::new(); calls.len()] } else { Vec::new() };
        Found { owner: vec![NONE; calls.len()], shares }
    }
}

/// What was done for a request so far: a call, and what was done before.
#[derive(Clone, Copy, Debug)]
struct State {
    request: u32,
    call: u32,
    before: u32,
    shape: ShapeId,
    /// What the ends of its calls promise, in nats; it is in the score until the request is answered.
    promised: f64,
}

/// One way in which all calls so far may belong to requests.
#[derive(Clone, Debug)]
struct Hypothesis {
    score: f64,
    /// The states of the open requests, in their order.
    states: Vec<u32>,
    /// The list of what is over.
    over: u32,
}

/// A state at an event.
#[derive(Clone, Copy, Debug)]
struct Judged {
    score: f64,
    /// Since when it waits for the call.
    waiting: Option<i64>,
    /// Whether the call before on the same connection was made for it.
    has_before: bool,
    /// The state after it.
    grown: u32,
}

/// The search through one service's events.
pub(super) struct Search<'a> {
    service: &'a Service,
    shapes: &'a mut Shapes,
    model: &'a mut Model,
    width: usize,
    states: Vec<State>,
    /// Lists of final states: one, and the rest.
    over: Vec<(u32, u32)>,
    made: Vec<u32>,
    open: Vec<u32>,
    hypotheses: Vec<Hypothesis>,
    lattice: Option<Lattice>,
    judged: AtEvent<Judged>,
    marks: AtEvent<u64>,
    /// The first of the calls at hand, by which places in `found` are counted.
    first: u32,
    found: Found,
}

impl<'a> Search<'a> {
    /// Finds the best assignment of these `calls` of `service`, those among `events`, by `model`, keeping up to `width`
    /// hypotheses.
    pub(super) fn run(
        service: &'a Service,
        events: &[(i64, Event)],
        calls: Range<u32>,
        shapes: &'a mut Shapes,
        model: &'a mut Model,
        width: usize,
        with_shares: bool,
    ) -> Found {
        let mut search = Search {
            service,
            shapes,
            model,
            width,
            states: Vec::new(),
            over: Vec::new(),
            made: Vec::new(),
            open: Vec::new(),
            hypotheses: vec![Hypothesis { score: 0.0, states: Vec::new(), over: NONE }],
            lattice: with_shares.then(Lattice::new),
            judged: AtEvent::default(),
            marks: AtEvent::default(),
            first: calls.start,
            found: Found::of(calls, with_shares),
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
            if (search.open.is_empty() && search.hypotheses.len() == 1) || steps > LONGEST {
                search.settle();
                steps = 0;
            }
        }
        search.settle();
        search.found
    }

    fn receipt(&mut self, request: u32, time: i64) {
        if self.open.len() >= MOST_OPEN {
            self.reply(self.open[0], time, false);
        }
        let state = self.states.len() as u32;
        self.states.push(State { request, call: NONE, before: NONE, shape: 0, promised: 0.0 });
        self.open.push(request);
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.states.push(state));
    }

    fn reply(&mut self, request: u32, time: i64, is_judged: bool) {
        let Some(slot) = self.open.iter().position(|open| *open == request) else { return };
        self.open.remove(slot);
        let is_answered =
            self.service.closed(request) > self.service.over(&self.service.requests[request as usize]);
        let mut scores: FxHashMap<u32, f64> = FxHashMap::default();
        let mut all = std::mem::take(&mut self.hypotheses);
        let mut ways: Vec<(f64, f64, u32)> = Vec::with_capacity(all.len());
        for (from, hypothesis) in all.iter_mut().enumerate() {
            let state = hypothesis.states.remove(slot);
            let added = match scores.get(&state) {
                _ if !is_judged => 0.0,
                Some(score) => *score,
                None => {
                    let score = self.with(state, |search, at| {
                        // Where something may be done after the answer, the answer itself was judged when it was given.
                        match is_answered {
                            false => search.model.reply(search.service, search.shapes, at),
                            true => search.model.finish(search.service, search.shapes, at),
                        }
                    });
                    let score = score - if is_answered { 0.0 } else { self.states[state as usize].promised };
                    scores.insert(state, score);
                    score
                }
            };
            hypothesis.score += added;
            self.over.push((state, hypothesis.over));
            hypothesis.over = self.over.len() as u32 - 1;
            ways.push((hypothesis.score, added, from as u32));
        }
        ways.sort_by(|one, other| other.0.total_cmp(&one.0));
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(NONE);
        }
        self.marks.clear();
        let best = ways.first().map_or(0.0, |way| way.0);
        let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
        for (score, added, from) in ways {
            if score < best - MARGIN {
                break;
            }
            let mark = self.mark(&all[from as usize].states, time);
            let to = *seen.entry(mark).or_insert(self.hypotheses.len() as u32);
            if to as usize == self.hypotheses.len() {
                let states = std::mem::take(&mut all[from as usize].states);
                self.hypotheses.push(Hypothesis { score, states, over: all[from as usize].over });
            }
            if let Some(lattice) = &mut self.lattice {
                lattice.add(from, to, NONE, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
    }

    /// Judges an answer after which the request stays open.
    fn answer(&mut self, request: u32) {
        let Some(slot) = self.open.iter().position(|open| *open == request) else { return };
        let mut scores: FxHashMap<u32, f64> = FxHashMap::default();
        let mut all = std::mem::take(&mut self.hypotheses);
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(NONE);
        }
        for (place, hypothesis) in (0..).zip(&mut all) {
            let state = hypothesis.states[slot];
            let known = scores.get(&state).copied();
            let added = known.unwrap_or_else(|| {
                let score = self.with(state, |search, at| search.model.answer(search.service, at));
                score - std::mem::take(&mut self.states[state as usize].promised)
            });
            scores.insert(state, added);
            hypothesis.score += added;
            if let Some(lattice) = &mut self.lattice {
                lattice.add(place, place, NONE, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
        self.hypotheses = all;
    }

    fn call(&mut self, call: u32) {
        let span = self.service.calls[call as usize];
        let among = if self.model.nobody_among_all { (self.open.len().max(1) as f64).ln() } else { 0.0 };
        let spontaneous = self.model.spontaneous(span.kind) - among;
        let holder = self.service.holder(call);
        let is_held = self.open.contains(&holder);
        self.judged.clear();
        let mut ways: Vec<(f64, f64, u32, u32)> = Vec::new();
        let mut local: Vec<discipline::Way> = Vec::new();
        for from in 0..self.hypotheses.len() {
            local.clear();
            for slot in 0..self.open.len() {
                let request = self.open[slot];
                let is_possible =
                    self.service.closed(request) >= span.begin && !self.service.is_itself(request, call);
                if !is_possible || (is_held && request != holder) {
                    continue;
                }
                let judged = self.judge(self.hypotheses[from].states[slot], call);
                local.push(discipline::Way {
                    slot: slot as u32,
                    score: judged.score,
                    waiting: judged.waiting,
                    has_before: judged.has_before,
                });
            }
            self.model.connections.tilt(&mut local, span.kind);
            discipline::tilt(&mut local, span.kind, &self.model.overtaking);
            let score = self.hypotheses[from].score;
            ways.extend(local.iter().map(|way| (score + way.score, way.score, from as u32, way.slot)));
            if !is_held {
                ways.push((score + spontaneous, spontaneous, from as u32, NONE));
            }
        }
        let width = (MOST_WAYS / (self.open.len() + 1)).clamp(4, self.width);
        self.go_on(call, width, ways);
    }

    /// Continues with the best `ways`: the score, what is added to it, the hypothesis, and the place of the request.
    fn go_on(&mut self, call: u32, width: usize, mut ways: Vec<(f64, f64, u32, u32)>) {
        let time = self.service.calls[call as usize].begin;
        let kind = self.service.calls[call as usize].kind;
        let best = ways.iter().map(|way| way.0).fold(f64::NEG_INFINITY, f64::max);
        ways.retain(|way| way.0 >= best - MARGIN);
        if ways.len() > MOST_KEPT {
            ways.select_nth_unstable_by(MOST_KEPT, |one, other| other.0.total_cmp(&one.0));
            ways.truncate(MOST_KEPT);
        }
        ways.sort_by(|one, other| other.0.total_cmp(&one.0));
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(call);
        }
        self.marks.clear();
        let all = std::mem::take(&mut self.hypotheses);
        let bases: Vec<u64> = all.iter().map(|hypothesis| self.mark(&hypothesis.states, time)).collect();
        let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
        for (score, added, from, slot) in ways {
            let hypothesis = &all[from as usize];
            let (mut mark, mut grown, mut request) = (bases[from as usize], NONE, NONE);
            if slot != NONE {
                let state = hypothesis.states[slot as usize];
                grown = self.grow(state, call, kind);
                request = self.open[slot as usize];
                mark = mark.wrapping_sub(self.mark_of(state, time)).wrapping_add(self.mark_of(grown, time));
            }
            let to = match seen.get(&mark) {
                Some(to) => *to,
                None if self.hypotheses.len() < width => {
                    let to = self.hypotheses.len() as u32;
                    seen.insert(mark, to);
                    let mut next = Hypothesis { score, ..hypothesis.clone() };
                    if slot != NONE {
                        next.states[slot as usize] = grown;
                    }
                    self.hypotheses.push(next);
                    to
                }
                None => continue,
            };
            if let Some(lattice) = &mut self.lattice {
                lattice.add(from, to, request, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
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
        let (score, waiting, has_before) = self.with(state, |search, at| {
            let promise = search.model.promise(search.service, at.request, call);
            let score = promise + search.model.call(search.service, search.shapes, at, call);
            let waiting = others.then(|| search.model.waiting(search.service, search.shapes, at, call));
            (score, waiting.flatten(), before.is_some_and(|before| at.made.contains(&before)))
        });
        let judged = Judged { score, waiting, has_before, grown: NONE };
        self.judged.set(state, judged);
        judged
    }

    /// The state after the call.
    fn grow(&mut self, state: u32, call: u32, kind: u32) -> u32 {
        let judged = self.judged.get(state);
        if let Some(judged) = judged.filter(|judged| judged.grown != NONE) {
            return judged.grown;
        }
        let State { request, shape, promised, .. } = self.states[state as usize];
        let shape = self.shapes.with(shape, kind);
        let grown = self.states.len() as u32;
        let promised = promised + self.model.promise(self.service, request, call);
        self.states.push(State { request, call, before: state, shape, promised });
        if let Some(judged) = judged {
            self.judged.set(state, Judged { grown, ..judged });
        }
        grown
    }

    /// Puts the calls of a state into `made`, in their order.
    fn look_back(&mut self, state: u32) {
        self.made.clear();
        let mut at = self.states[state as usize];
        while at.call != NONE && self.made.len() < MEMORY {
            self.made.push(at.call);
            at = self.states[at.before as usize];
        }
        self.made.reverse();
    }

    /// Does something with what was done for the request of a state.
    fn with<T>(&mut self, state: u32, work: impl FnOnce(&mut Search<'a>, &At<'_>) -> T) -> T {
        self.look_back(state);
        let made = std::mem::take(&mut self.made);
        let State { request, shape, .. } = self.states[state as usize];
        let result = work(self, &At { request, made: &made, shape });
        self.made = made;
        result
    }

    /// A number that is the same for hypotheses of which the future does not tell one from the other.
    fn mark(&mut self, states: &[u32], time: i64) -> u64 {
        states.iter().fold(0u64, |sum, state| sum.wrapping_add(self.mark_of(*state, time)))
    }

    fn mark_of(&mut self, state: u32, time: i64) -> u64 {
        if let Some(mark) = self.marks.get(state) {
            return mark;
        }
        self.look_back(state);
        let State { request, shape, .. } = self.states[state as usize];
        let last = Trigger::Last.time(self.service, request, &self.made, time).unwrap_or(0);
        let open = self.made.iter().filter(|call| self.service.calls[**call as usize].end > time);
        let open = open.fold(0u64, |sum, call| sum.wrapping_add(mixed(0, u64::from(*call))));
        let promised = self.states[state as usize].promised.to_bits();
        let mut mark =
            [u64::from(shape), last as u64, open, promised].into_iter().fold(u64::from(request), mixed);
        if !self.service.call_threads.is_empty() {
            let last = last_event(self.service, &self.made, time);
            let thread =
                last.map(|(call, is_end)| self.service.call_threads[call as usize][usize::from(is_end)]);
            mark = mixed(mark, thread.map_or(u64::MAX, u64::from));
        }
        // Of calls on whose connection there will be another one in its time it matters whose they are.
        for call in self.made.iter().filter(|call| self.service.goes_on(**call, request, time)) {
            mark = mixed(mark, u64::from(*call));
        }
        for trigger in &self.model.triggers {
            let time = trigger.time(self.service, request, &self.made, time).unwrap_or(i64::MIN);
            mark = mixed(mark, time as u64);
        }
        self.marks.set(state, mark);
        mark
    }

    /// Keeps what is known of all calls so far, and goes on with the best hypothesis alone.
    fn settle(&mut self) {
        let first = self.first;
        if let Some(lattice) = &mut self.lattice {
            let shares = &mut self.found.shares;
            lattice.finish(|call, request, share| {
                if share >= LEAST || request == NONE {
                    shares[(call - first) as usize].push((request, share));
                }
            });
        }
        let best = self.hypotheses.drain(..).max_by(|one, other| one.score.total_cmp(&other.score));
        let Some(mut best) = best else { return };
        let mut over = best.over;
        let mut finals = best.states.clone();
        while over != NONE {
            let (state, rest) = self.over[over as usize];
            finals.push(state);
            over = rest;
        }
        for state in finals {
            let mut at = self.states[state as usize];
            while at.call != NONE {
                self.found.owner[(at.call - first) as usize] = at.request;
                at = self.states[at.before as usize];
            }
        }
        // What is still open is all that is kept.
        let old = std::mem::take(&mut self.states);
        self.over.clear();
        for state in &mut best.states {
            let mut chain = Vec::new();
            let mut at = *state;
            while at != NONE {
                chain.push(old[at as usize]);
                at = old[at as usize].before;
            }
            let mut before = NONE;
            for link in chain.into_iter().rev() {
                self.states.push(State { before, ..link });
                before = self.states.len() as u32 - 1;
            }
            *state = before;
        }
        self.hypotheses = vec![Hypothesis { score: 0.0, states: best.states, over: NONE }];
    }
}

/// A number that follows from two, and mostly from no others.
fn mixed(one: u64, other: u64) -> u64 {
    let sum = (one ^ other.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    sum ^ sum >> 29
}
