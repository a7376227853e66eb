//! Search step at which a call is made, and assigned to a request.

use super::{BeamSearch, CallScore, SearchBuffers};
use crate::infer::auto::continuations::{Continuation, RequestCandidate};
use crate::infer::auto::discipline::NEVER;
use crate::infer::auto::request_state::RequestState;
use crate::infer::auto::service::MadeCallId;
use crate::infer::auto::states::{NONE, StateNode};
use crate::tuning::auto::search::hypotheses::{
    ALIKE_FACTOR, KEPT_BOUNDS, MARGIN_NATS, MAX_CONTINUATIONS,
};
impl BeamSearch<'_> {
    /// Continues the hypotheses with each request that the call may be for, or with none.
    pub(super) fn call(&mut self, call: MadeCallId) {
        let span = self.service.calls[call.index()];
        let among = if self.model.background_among_all {
            (self.open.len().max(1) as f64).ln()
        } else {
            0.0
        };
        let spontaneous = self.model.spontaneous(span.kind) - among;
        let bound = self.service.bound_request(call).filter(|bound| self.open.contains(bound));
        let mut buffers = std::mem::take(&mut self.buffers);
        let possible = (0..).zip(&self.open).filter(|(_, request)| {
            let is_possible = self.service.closed_at(**request) >= span.begin
                && !self.service.is_itself(**request, call)
                && !self.service.are_of_two_traces(**request, call);
            is_possible && bound.is_none_or(|bound| **request == bound)
        });
        buffers.candidates.begin(self.model, span.kind, possible.map(|(slot, _)| slot));
        let width =
            (MAX_CONTINUATIONS / (self.open.len() + 1)).clamp(KEPT_BOUNDS[0], KEPT_BOUNDS[1]);
        buffers.continuations.begin(width * ALIKE_FACTOR, MARGIN_NATS);
        self.scores.clear();
        let all = std::mem::take(&mut self.hypotheses);
        for from in 0..all.len() {
            buffers
                .candidates
                .score_hypothesis(all.states(from), |state| self.score_call(state, call).candidate);
            let (score, from) = (all.score(from), from as u32);
            buffers.candidates.add_to(&mut buffers.continuations, from, score);
            if bound.is_none() {
                buffers.continuations.add(Continuation {
                    score: score + spontaneous,
                    added: spontaneous,
                    from,
                    slot: NONE,
                });
            }
            buffers.continuations.thin();
        }
        self.hypotheses = all;
        self.keep_best(call, width.min(self.width), &mut buffers);
        self.buffers = buffers;
    }

    /// Replaces the hypotheses by their best continuations, at most `width` of them.
    fn keep_best(&mut self, call: MadeCallId, width: usize, buffers: &mut SearchBuffers) {
        let time = self.service.calls[call.index()].begin;
        if let Some(lattice) = &mut self.lattice {
            lattice.begin(Some(call));
        }
        let all = std::mem::take(&mut self.hypotheses);
        self.digest_all(&all, None, time, &mut buffers.digests);
        let SearchBuffers { next, order, continuations, digests, seen, .. } = buffers;
        let ((most, least), continuations) =
            (continuations.bounds(), continuations.kept_continuations());
        next.clear(self.open.len());
        seen.clear();
        let scores = || continuations.iter().map(|next| next.score);
        let mut continue_with = |search: &mut BeamSearch<'_>, place: u32| {
            let Continuation { score, added, from, slot } = continuations[place as usize];
            let states = all.states(from as usize);
            let (mut digest, mut grown, mut request) = (digests[from as usize], NONE, None);
            if let Some(state) = states.get(slot as usize) {
                grown = search.grow(*state, call);
                request = Some(search.open[slot as usize]);
                digest = digest
                    .wrapping_sub(search.state_digest(*state, time))
                    .wrapping_add(search.state_digest(grown, time));
            }
            let to = match seen.get(&digest) {
                Some(to) => *to,
                None if next.len() < width => {
                    let to = next.len() as u32;
                    seen.insert(digest, to);
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
            for place in order.best_first(scores(), least, most) {
                continue_with(self, place);
            }
        } else {
            // Hypotheses that later turn out to be equal are not needed.
            order
                .first_ones(scores(), least, 2 * width)
                .take(most)
                .all(|place| continue_with(self, place));
        }
        if let Some(lattice) = &mut self.lattice {
            lattice.end();
        }
        self.hypotheses = std::mem::replace(next, all);
    }

    /// Score of the call for a request in the state `state`.
    fn score_call(&mut self, state: u32, call: MadeCallId) -> CallScore {
        if let Some(scored) = self.scores.get(state) {
            return scored;
        }
        let others = self.open.len() > 1;
        let before = self.service.previous_call(call).filter(|_| {
            self.model.connections.is_evidence_for(self.service.calls[call.index()].kind)
        });
        let BeamSearch { service, shapes, model, states, .. } = self;
        let scored = states.with_calls(state, |StateNode { request, shape, .. }, made| {
            let lookahead = model.lookahead(service, request, call);
            let (score, waiting) =
                model.score_call(service, shapes, &RequestState { request, made, shape }, call);
            let candidate = RequestCandidate {
                score: lookahead + score,
                waiting: waiting.filter(|_| others).unwrap_or(NEVER),
                has_previous_call: before.is_some_and(|before| made.contains(&before)),
            };
            CallScore { candidate, lookahead, grown: NONE }
        });
        self.scores.set(state, scored);
        scored
    }

    /// The state after the call, which was scored before.
    fn grow(&mut self, state: u32, call: MadeCallId) -> u32 {
        let scored = self.score_call(state, call);
        if scored.grown != NONE {
            return scored.grown;
        }
        let kind = self.service.calls[call.index()].kind;
        let shape = self.shapes.with_call(self.states.get(state).shape, kind);
        let grown = self.states.grow(state, call, shape, scored.lookahead);
        self.scores.set(state, CallScore { grown, ..scored });
        grown
    }
}
