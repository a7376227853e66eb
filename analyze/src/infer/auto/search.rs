//! Beam search for the best joint assignment of all calls of a service. A hypothesis is a possible
//! assignment of all calls so far. Events are processed in the order of time. At each call every
//! hypothesis is continued with every open request, and the continuations with the best scores are
//! kept ([`super::beam`]). Hypotheses that differ only in the past that can no longer matter are
//! merged ([`super::lattice`] keeps their histories).

mod calls;
mod replies;

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::assignment::Assignment;
use super::beam::{Beam, ScoreOrder};
use super::continuations::{Continuation, Continuations, RequestCandidate, RequestCandidates};
use super::event_cache::EventCache;
use super::events::ServiceEvent;
use super::lattice::Lattice;
use super::model::ServiceModel;
use super::service::{MadeCallId, RequestId, Service};
use super::shapes::Shapes;
use super::states::{NONE, States};
use crate::tuning::auto::search::hypotheses::{MAX_OPEN_REQUESTS, MAX_STEPS, MIN_SHARE};

/// Score of a call for a state.
#[derive(Clone, Copy, Debug)]
struct CallScore {
    candidate: RequestCandidate,
    /// Lookahead from the end of the call.
    lookahead: f64,
    /// The state after the call.
    grown: u32,
}

/// The search through one service's events.
pub(super) struct BeamSearch<'a> {
    service: &'a Service,
    shapes: &'a mut Shapes,
    model: &'a mut ServiceModel,
    /// Maximum number of hypotheses that are kept.
    width: usize,
    states: States,
    /// Lists of the final states of finished requests, linked: each entry is the last state of a
    /// list, and the index of the entry before it ([`NONE`] if there is none).
    over: Vec<(u32, u32)>,
    /// The open requests, in the order of their receipts.
    open: Vec<RequestId>,
    hypotheses: Beam,
    lattice: Option<Lattice>,
    /// Score of the current call for each state.
    scores: EventCache<CallScore>,
    /// Nats that a response adds to the score, by state.
    answered: EventCache<f64>,
    /// The index of the first of the searched calls; indices in `found` are relative to it.
    first: usize,
    found: Assignment,
    buffers: SearchBuffers,
}

/// Buffers that are reused for each event.
#[derive(Default)]
struct SearchBuffers {
    next: Beam,
    order: ScoreOrder,
    /// Continuation of each hypothesis at a response.
    answered: Vec<Continuation>,
    candidates: RequestCandidates,
    continuations: Continuations,
    /// The digest of each hypothesis.
    digests: Vec<u64>,
    /// The hypothesis with each digest.
    seen: FxHashMap<u64, u32>,
}

impl<'a> BeamSearch<'a> {
    /// Finds the best assignment of these `calls` of `service`, which occur in `events`, under
    /// `model`, keeping up to `width` hypotheses.
    pub(super) fn run(
        service: &'a Service,
        events: &[(i64, ServiceEvent)],
        calls: Range<usize>,
        shapes: &'a mut Shapes,
        model: &'a mut ServiceModel,
        width: usize,
        with_shares: bool,
    ) -> Assignment {
        let mut hypotheses = Beam::default();
        hypotheses.push(0.0, NONE, &[]);
        let mut search = BeamSearch {
            service,
            shapes,
            model,
            width,
            states: States::default(),
            over: Vec::new(),
            open: Vec::new(),
            hypotheses,
            lattice: with_shares.then(Lattice::new),
            scores: EventCache::default(),
            answered: EventCache::default(),
            first: calls.start,
            found: Assignment::unassigned(calls, with_shares),
            buffers: SearchBuffers::default(),
        };
        let mut steps = 0;
        for (time, event) in events {
            steps += 1;
            match event {
                ServiceEvent::Receipt(request) => search.receipt(*request, *time),
                ServiceEvent::Call(call) => search.call(*call),
                ServiceEvent::Answer(request) => search.answer(*request),
                ServiceEvent::Reply(request) => search.reply(*request, *time, true),
            }
            if (search.open.is_empty() && search.hypotheses.len() == 1) || steps > MAX_STEPS {
                search.commit_best();
                steps = 0;
            }
        }
        search.commit_best();
        search.found
    }

    /// Adds a received request to the open ones.
    fn receipt(&mut self, request: RequestId, time: i64) {
        if self.open.len() >= MAX_OPEN_REQUESTS {
            self.reply(self.open[0], time, false);
        }
        let state = self.states.begin(request);
        self.open.push(request);
        self.hypotheses.open(state);
    }

    /// Computes into `digests` a digest for each of `all` hypotheses, from their differences to the
    /// first one. Hypotheses with equal digests have the same future. The request at the place
    /// `left_out` does not count.
    pub(super) fn digest_all(
        &mut self,
        all: &Beam,
        left_out: Option<usize>,
        time: i64,
        digests: &mut Vec<u64>,
    ) {
        digests.clear();
        for at in 0..all.len() {
            let mut digest = 0u64;
            all.for_each_difference(at, |slot, state, first| {
                if left_out != Some(slot) {
                    digest = digest
                        .wrapping_add(self.state_digest(state, time))
                        .wrapping_sub(self.state_digest(first, time));
                }
            });
            digests.push(digest);
        }
    }

    /// Digest that is equal for states with the same future.
    pub(super) fn state_digest(&mut self, state: u32, time: i64) -> u64 {
        self.states.state_digest(self.service, self.model, state, time)
    }

    /// Commits the requests of all calls so far, and continues with the best hypothesis alone.
    fn commit_best(&mut self) {
        let first = self.first;
        if let Some(lattice) = &mut self.lattice {
            let shares = &mut self.found.shares;
            lattice.finish(|call, request, share| {
                if share >= MIN_SHARE || request.is_none() {
                    shares[call.index() - first].push((request, share));
                }
            });
        }
        let Some(best) = self.hypotheses.best() else { return };
        let request_of_call = &mut self.found.request_of_call;
        let mut keep = |call: MadeCallId, request: RequestId| {
            request_of_call[call.index() - first] = Some(request)
        };
        let mut states = self.hypotheses.states(best).to_vec();
        states.iter().for_each(|state| self.states.calls(*state, &mut keep));
        let mut over = self.hypotheses.over(best);
        while over != NONE {
            let (state, rest) = self.over[over as usize];
            self.states.calls(state, &mut keep);
            over = rest;
        }
        // Only open requests are kept.
        self.over.clear();
        self.states.keep(&mut states);
        self.hypotheses.clear(states.len());
        self.hypotheses.push(0.0, NONE, &states);
    }
}
