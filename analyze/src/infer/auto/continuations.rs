//! Continuations of hypotheses at a call: the open requests that the call may be for, in columns,
//! and the best of all continuations. If many requests are open, hypotheses share nearly all of the
//! states of these requests. So only the differences of a hypothesis from the previous one are
//! scored again.

use super::discipline::{NEVER, Precedence};
use super::model::ServiceModel;
use super::states::NONE;
use crate::tuning::auto::search::hypotheses::GATHERED_FACTOR;

/// A continuation of a hypothesis at an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Continuation {
    /// The score after the event, in nats.
    pub(super) score: f64,
    /// The part of the score that the event added.
    pub(super) added: f64,
    /// The number of the continued hypothesis.
    pub(super) from: u32,
    /// The place, among the open requests, of the request that the call is assigned to.
    pub(super) slot: u32,
}

/// A candidate request of a call, in some state.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestCandidate {
    /// Log-likelihood in nats.
    pub(super) score: f64,
    /// Time since which the request has been waiting for a call of this kind, in nanoseconds;
    /// [`NEVER`] if it has not.
    pub(super) waiting: i64,
    /// Whether the previous call on the same connection was made for the request.
    pub(super) has_previous_call: bool,
}

/// All candidate requests of a call, in one hypothesis.
#[derive(Debug, Default)]
pub(super) struct RequestCandidates {
    /// Places of the candidates among the open requests.
    slots: Vec<u32>,
    /// State of each candidate; [`NONE`] if it was not scored.
    states: Vec<u32>,
    scores: Vec<f64>,
    waiting: Vec<i64>,
    /// Weight of each candidate among the waiting requests; 0 if it does not wait.
    weights: Vec<f64>,
    /// The candidate that the previous call on the same connection was made for.
    same_connection: Option<usize>,
    /// Nats that the connection adds to the candidate `same_connection`, and to all others.
    shares: Option<[f64; 2]>,
    /// Nats by which overtaking of waiting requests is less likely than by delays alone. `None` if
    /// order is no evidence for calls of this kind.
    nats_less: Option<f64>,
}

impl RequestCandidates {
    /// Begins a call of the kind `kind`, which may be for the requests at the places `slots`.
    pub(super) fn begin(
        &mut self,
        model: &ServiceModel,
        kind: u32,
        slots: impl Iterator<Item = u32>,
    ) {
        self.slots.clear();
        self.slots.extend(slots);
        let all = self.slots.len();
        self.states.clear();
        self.states.resize(all, NONE);
        self.scores.resize(all, 0.0);
        self.waiting.resize(all, NEVER);
        self.weights.resize(all, 0.0);
        self.same_connection = None;
        self.shares = model.connections.shares(kind, all);
        self.nats_less = model.overtaking.get(&kind).copied();
    }

    /// Proceeds to a hypothesis in which the open requests have these states, and scores the states
    /// that differ from the states of the previous hypothesis.
    pub(super) fn score_hypothesis(
        &mut self,
        states: &[u32],
        mut score_state: impl FnMut(u32) -> RequestCandidate,
    ) {
        let counts = self.nats_less.is_some();
        for (place, slot) in self.slots.iter().enumerate() {
            let state = states[*slot as usize];
            if self.states[place] == state {
                continue;
            }
            let RequestCandidate { score, waiting, has_previous_call } = score_state(state);
            self.states[place] = state;
            self.scores[place] = score;
            self.waiting[place] = waiting;
            self.weights[place] = if counts && waiting != NEVER { score.exp() } else { 0.0 };
            if has_previous_call {
                self.same_connection = Some(place);
            } else if self.same_connection == Some(place) {
                self.same_connection = None;
            }
        }
    }

    /// Adds the continuations of the current hypothesis, which has the number `from` and this
    /// score, to `continuations`.
    pub(super) fn add_to(&mut self, continuations: &mut Continuations, from: u32, score: f64) {
        let held = self.same_connection.zip(self.shares);
        let (mut score_of_all, mut own) = (0.0, None);
        if let Some((place, [before, others])) = held {
            own = Some((place, self.scores[place], self.weights[place]));
            self.scores[place] += before - others;
            self.weights[place] *= (before - others).exp();
            score_of_all = others;
        }
        let precedence = self.nats_less.and_then(|nats_less| {
            Precedence::from_waiting_times(&self.waiting, &self.weights, nats_less)
        });
        for (place, slot) in self.slots.iter().enumerate() {
            let by_order =
                precedence.map_or(0.0, |precedence| precedence.added_nats(self.waiting[place]));
            let added = self.scores[place] + score_of_all + by_order;
            continuations.add(Continuation { score: score + added, added, from, slot: *slot });
        }
        if let Some((place, score, weight)) = own {
            (self.scores[place], self.weights[place]) = (score, weight);
        }
    }
}

/// The best continuations of all hypotheses.
#[derive(Debug, Default)]
pub(super) struct Continuations {
    all: Vec<Continuation>,
    /// Number of continuations requested.
    most: usize,
    /// Distance from the best score beyond which no continuation is kept, in nats.
    margin: f64,
    best: f64,
    /// Lowest score that is still kept.
    least: f64,
    scores: Vec<f64>,
}

impl Continuations {
    /// Removes all continuations, for an event at which `most` are requested.
    pub(super) fn begin(&mut self, most: usize, margin: f64) {
        self.all.clear();
        (self.most, self.margin) = (most, margin);
        (self.best, self.least) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    }

    pub(super) fn add(&mut self, next: Continuation) {
        if next.score < self.least {
            return;
        }
        if next.score > self.best {
            self.best = next.score;
            self.least = self.least.max(next.score - self.margin);
        }
        self.all.push(next);
    }

    /// Drops the worst continuations if many more than the requested number were gathered.
    pub(super) fn thin(&mut self) {
        if self.all.len() < GATHERED_FACTOR * self.most {
            return;
        }
        self.scores.clear();
        self.scores.extend(self.all.iter().map(|next| next.score));
        let (_, last, _) =
            self.scores.select_nth_unstable_by(self.most, |one, other| other.total_cmp(one));
        self.least = self.least.max(*last);
        let least = self.least;
        // The order in which continuations were found is kept; it decides between equal scores.
        self.all.retain(|next| next.score >= least);
    }

    /// The continuations that were not dropped.
    pub(super) fn kept_continuations(&self) -> &[Continuation] {
        &self.all
    }

    /// Number of continuations requested, and the lowest score within the margin.
    pub(super) fn bounds(&self) -> (usize, f64) {
        (self.most, self.best - self.margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored_candidate(state: u32) -> RequestCandidate {
        RequestCandidate { score: -f64::from(state), waiting: NEVER, has_previous_call: state == 7 }
    }

    #[test]
    fn only_states_that_differ_are_scored_again() {
        let mut candidates = RequestCandidates::default();
        candidates.begin(&ServiceModel::default(), 1, [0, 2, 3].into_iter());
        candidates.shares = Some([2.0, -1.0]);
        let mut asked = Vec::new();
        for states in [[1, 9, 3, 4], [1, 8, 7, 4], [7, 8, 3, 4]] {
            candidates.score_hypothesis(&states, |state| {
                asked.push(state);
                scored_candidate(state)
            });
        }
        assert_eq!(asked, [1, 3, 4, 7, 7, 3]);
        assert_eq!(
            (candidates.same_connection, candidates.scores.as_slice()),
            (Some(0), &[-7.0, -3.0, -4.0][..])
        );
        let mut continuations = Continuations::default();
        continuations.begin(9, 25.0);
        for _ in 0..2 {
            candidates.add_to(&mut continuations, 5, 100.0);
        }
        let scores = [95.0, 96.0, 95.0];
        let found = continuations.kept_continuations().iter().map(|next| next.score);
        assert!(
            found.eq(scores.into_iter().chain(scores)),
            "the second time as the first: {continuations:?}"
        );
        assert_eq!(
            continuations.kept_continuations()[1],
            Continuation { score: 96.0, added: -4.0, from: 5, slot: 2 }
        );
    }

    #[test]
    fn the_best_continuations_are_kept_in_their_order() {
        let mut continuations = Continuations::default();
        continuations.begin(3, 25.0);
        for slot in 0..100_u32 {
            let score = f64::from(slot * 37 % 50);
            continuations.add(Continuation { score, added: 0.0, from: 0, slot });
            continuations.thin();
        }
        let found = continuations.kept_continuations();
        assert_eq!(continuations.bounds(), (3, 24.0));
        let mut best: Vec<u32> =
            found.iter().filter(|next| next.score >= 48.0).map(|next| next.slot).collect();
        assert!(found.len() < GATHERED_FACTOR * 3 && best.is_sorted(), "{found:?}");
        best.sort_by_key(|slot| slot * 37 % 50);
        assert_eq!(best.iter().map(|slot| slot * 37 % 50).collect::<Vec<_>>(), [48, 48, 49, 49]);
    }
}
