//! Search step at which a request is answered (calls may still be made for it) or closed (answered
//! or abandoned, and no more calls are made for it).

use super::BeamSearch;
use crate::infer::auto::continuations::Continuation;
use crate::infer::auto::request_state::RequestState;
use crate::infer::auto::service::RequestId;
use crate::infer::auto::states::StateNode;
use crate::tuning::auto::search::hypotheses::MARGIN_NATS;
impl BeamSearch<'_> {
    /// Closes a request at `time`. `is_scored`: the score of its response counts; otherwise the
    /// request is dropped since too many are open.
    pub(super) fn reply(&mut self, request: RequestId, time: i64, is_scored: bool) {
        let Some(slot) = self.open.iter().position(|open| *open == request) else { return };
        self.open.remove(slot);
        let is_answered = self.service.closed_at(request)
            > self.service.request_end(&self.service.requests[request.index()]);
        self.answered.clear();
        let mut buffers = std::mem::take(&mut self.buffers);
        buffers.answered.clear();
        let all = std::mem::take(&mut self.hypotheses);
        for from in 0..all.len() {
            let state = all.states(from)[slot];
            let added = match self.answered.get(state) {
                _ if !is_scored => 0.0,
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
            buffers.answered.push(Continuation {
                score: all.score(from) + added,
                added,
                from: from as u32,
                slot: state,
            });
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(None);
        }
        self.digest_all(&all, Some(slot), time, &mut buffers.digests);
        let scores = || buffers.answered.iter().map(|next| next.score);
        let best = scores().fold(f64::NEG_INFINITY, f64::max);
        buffers.next.clear(self.open.len());
        buffers.seen.clear();
        for place in buffers.order.best_first(scores(), best - MARGIN_NATS, usize::MAX) {
            let Continuation { score, added, from, slot: state } = buffers.answered[place as usize];
            let digest = buffers.digests[from as usize];
            let next = buffers.next.len() as u32;
            let to = *buffers.seen.entry(digest).or_insert(next);
            if to == next {
                self.over.push((state, all.over(from as usize)));
                let over = self.over.len() as u32 - 1;
                buffers.next.push_without(score, over, all.states(from as usize), slot);
            }
            if let Some(lattice) = &mut self.lattice {
                lattice.add(from, to, None, added);
            }
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
        self.hypotheses = std::mem::replace(&mut buffers.next, all);
        self.buffers = buffers;
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
