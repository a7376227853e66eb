//! Search step at which a request is answered (calls may still be made for it) or closed (answered
//! or abandoned, and no more calls are made for it).

use super::BeamSearch;
use crate::infer::auto::at::RequestState;
use crate::infer::auto::continuations::Continuation;
use crate::infer::auto::service::RequestId;
use crate::infer::auto::states::StateNode;
use crate::tuning::auto::search::hypotheses::MARGIN;
impl BeamSearch<'_> {
    pub(super) fn reply(&mut self, request: RequestId, time: i64, is_judged: bool) {
        let Some(slot) = self.open.iter().position(|open| *open == request) else { return };
        self.open.remove(slot);
        let is_answered = self.service.closed_at(request)
            > self.service.request_end(&self.service.requests[request.index()]);
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
                    let BeamSearch { service, shapes, model, states, .. } = self;
                    let score =
                        states.with_calls(state, |StateNode { request, shape, .. }, made| {
                            let at = &RequestState { request, made, shape };
                            // If calls are possible after the response, the response itself was
                            // scored when it was sent.
                            match is_answered {
                                false => model.reply(service, shapes, at),
                                true => model.finish(service, shapes, at),
                            }
                        });
                    let score =
                        score - if is_answered { 0.0 } else { self.states.get(state).lookahead };
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
            lattice.begin(None);
        }
        self.digest_all(&all, Some(slot), time, &mut room.marks);
        let scores = || room.answered.iter().map(|next| next.score);
        let best = scores().fold(f64::NEG_INFINITY, f64::max);
        room.next.clear(self.open.len());
        room.seen.clear();
        for place in room.order.best_first(scores(), best - MARGIN, usize::MAX) {
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
                lattice.add(from, to, None, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
        self.hypotheses = std::mem::replace(&mut room.next, all);
        self.room = room;
    }

    /// Scores a response after which the request stays open.
    pub(super) fn answer(&mut self, request: RequestId) {
        let Some(slot) = self.open.iter().position(|open| *open == request) else { return };
        self.answered.clear();
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(None);
        }
        for at in 0..self.hypotheses.len() {
            let state = self.hypotheses.states(at)[slot];
            let added = self.answered.get(state).unwrap_or_else(|| {
                let BeamSearch { service, model, states, .. } = self;
                let score = states.with_calls(state, |StateNode { request, shape, .. }, made| {
                    model.answer(service, &RequestState { request, made, shape })
                });
                score - states.take_lookahead(state)
            });
            self.answered.set(state, added);
            self.hypotheses.add_score(at, added);
            if let Some(lattice) = &mut self.lattice {
                lattice.add(at as u32, at as u32, None, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
    }
}
