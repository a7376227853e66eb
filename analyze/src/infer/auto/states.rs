//! States of requests: the calls made for each so far, in every variant that the search examines. A
//! state is a call after an earlier state, so that states with a common beginning share it.

use super::model::ServiceModel;
use super::service::{MadeCallId, RequestId, Service};
use super::shapes::ShapeId;
use super::trigger::{Trigger, last_event};
use crate::tuning::auto::search::hypotheses::CALLS_BACK;

/// Marker of the search for a missing state, list of states, or place among the open requests.
pub(super) const NONE: u32 = u32::MAX;

/// State of a request: a call that was made for it, and the state before.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateNode {
    pub(super) request: RequestId,
    /// The call; `None` in the state without calls.
    pub(super) call: Option<MadeCallId>,
    /// Number of the state before the call; [`NONE`] in the state without calls.
    pub(super) before: u32,
    /// How many calls of each kind were made.
    pub(super) shape: ShapeId,
    /// Lookahead from the ends of its calls, in nats; it is part of the score until the request is
    /// answered.
    pub(super) lookahead: f64,
    /// Cached result of [`States::state_digest`].
    digest: u64,
    /// Time until which the digest is valid, in nanoseconds.
    valid_until: i64,
}

const _: () = assert!(size_of::<StateNode>() == 40);

/// All states since there was a single hypothesis.
#[derive(Debug, Default)]
pub(super) struct States {
    all: Vec<StateNode>,
    /// Buffer: the calls of the state that was traced back, in their order.
    made: Vec<MadeCallId>,
}

impl States {
    /// The state of a request without calls.
    pub(super) fn begin(&mut self, request: RequestId) -> u32 {
        self.push(StateNode {
            request,
            call: None,
            before: NONE,
            shape: 0,
            lookahead: 0.0,
            digest: 0,
            valid_until: i64::MIN,
        })
    }

    /// The state after a call, with its new shape and the lookahead of the call.
    pub(super) fn grow(
        &mut self,
        before: u32,
        call: MadeCallId,
        shape: ShapeId,
        added: f64,
    ) -> u32 {
        let StateNode { request, lookahead, .. } = self.get(before);
        let lookahead = lookahead + added;
        self.push(StateNode {
            request,
            call: Some(call),
            before,
            shape,
            lookahead,
            digest: 0,
            valid_until: i64::MIN,
        })
    }

    fn push(&mut self, state: StateNode) -> u32 {
        self.all.push(state);
        self.all.len() as u32 - 1
    }

    pub(super) fn get(&self, state: u32) -> StateNode {
        self.all[state as usize]
    }

    /// Removes and returns the lookahead of the calls of a state.
    pub(super) fn take_lookahead(&mut self, state: u32) -> f64 {
        let state = &mut self.all[state as usize];
        state.valid_until = i64::MIN;
        std::mem::take(&mut state.lookahead)
    }

    /// Calls `work` with a state and its last calls, in their order, and returns the result.
    pub(super) fn with_calls<T>(
        &mut self,
        state: u32,
        work: impl FnOnce(StateNode, &[MadeCallId]) -> T,
    ) -> T {
        let state = self.get(state);
        self.made.clear();
        let mut at = state;
        while let Some(call) = at.call.filter(|_| self.made.len() < CALLS_BACK) {
            self.made.push(call);
            at = self.get(at.before);
        }
        self.made.reverse();
        work(state, &self.made)
    }

    /// Digest that is equal for states of a request that have the same future at `time`. From call
    /// to call of this function `time` never decreases.
    pub(super) fn state_digest(
        &mut self,
        service: &Service,
        model: &ServiceModel,
        state: u32,
        time: i64,
    ) -> u64 {
        let StateNode { digest, valid_until, .. } = self.get(state);
        if time < valid_until {
            return digest;
        }
        let (digest, valid_until) =
            self.with_calls(state, |state, made| digest_until(service, model, state, made, time));
        let state = &mut self.all[state as usize];
        (state.digest, state.valid_until) = (digest, valid_until);
        digest
    }

    /// Calls `take` for each call of a state, from the last to the first, with the call and its
    /// request.
    pub(super) fn calls(&self, state: u32, mut take: impl FnMut(MadeCallId, RequestId)) {
        let mut at = self.get(state);
        while let Some(call) = at.call {
            take(call, at.request);
            at = self.get(at.before);
        }
    }

    /// Drops all states except these and their predecessors, and replaces these numbers by the new
    /// ones.
    pub(super) fn keep(&mut self, states: &mut [u32]) {
        let old = std::mem::take(&mut self.all);
        let mut chain = Vec::new();
        for state in states {
            chain.clear();
            let mut at = *state;
            while at != NONE {
                chain.push(old[at as usize]);
                at = old[at as usize].before;
            }
            let mut before = NONE;
            for link in chain.drain(..).rev() {
                before = self.push(StateNode { before, ..link });
            }
            *state = before;
        }
    }
}

/// The digest at `time` of a state in which these calls were `made`, and until when it is valid.
fn digest_until(
    service: &Service,
    model: &ServiceModel,
    state: StateNode,
    made: &[MadeCallId],
    time: i64,
) -> (u64, i64) {
    let StateNode { request, shape, lookahead, .. } = state;
    let last = Trigger::Last.time(service, request, made, time).unwrap_or(0);
    let (mut open, mut until) = (0u64, i64::MAX);
    for call in made {
        let end = service.calls[call.index()].end;
        if end > time {
            open = open.wrapping_add(mix_digests(0, call.index() as u64));
            until = until.min(end);
        }
    }
    let mut digest = [u64::from(shape), last as u64, open, lookahead.to_bits()]
        .into_iter()
        .fold(request.index() as u64, mix_digests);
    if !service.call_threads.is_empty() {
        let last = last_event(service, made, time);
        let thread =
            last.map(|(call, is_end)| service.call_threads[call.index()][usize::from(is_end)]);
        digest = mix_digests(digest, thread.map_or(u64::MAX, u64::from));
    }
    // If there will be another call on the connection of a call while the request is open, the
    // request of the call matters.
    for call in made {
        if let Some(next) = service.next_call_time(*call, request, time) {
            digest = mix_digests(digest, call.index() as u64);
            until = until.min(next);
        }
    }
    for trigger in &model.triggers {
        let since = trigger.time(service, request, made, time).unwrap_or(i64::MIN);
        digest = mix_digests(digest, since as u64);
        if *trigger == Trigger::Answer {
            let first = service.requests[request.index()].end;
            let ends = [first, first.saturating_add(service.response_send_time(request))];
            until = ends.into_iter().filter(|end| *end > time).fold(until, i64::min);
        }
    }
    (digest, until)
}

/// Mixes two numbers into one that mostly differs for other pairs.
fn mix_digests(one: u64, other: u64) -> u64 {
    let sum = (one ^ other.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    sum ^ sum >> 29
}
