//! The beam of hypotheses that a search keeps, in columns, and the order in which their
//! continuations are examined.

use std::cmp::Reverse;

/// Hypotheses: possible assignments of all calls so far to requests. The states of requests and the
/// lists of finished requests are given by their numbers in [`super::states`].
#[derive(Debug, Default)]
pub(super) struct Beam {
    /// Number of open requests.
    open: usize,
    /// Log-likelihood of each hypothesis, in nats.
    scores: Vec<f64>,
    /// List of the finished requests of each hypothesis.
    over: Vec<u32>,
    /// The states of the open requests in their order, one hypothesis after the other.
    states: Vec<u32>,
}

impl Beam {
    /// Number of hypotheses.
    pub(super) fn len(&self) -> usize {
        self.scores.len()
    }

    /// Removes all hypotheses. The next ones have this number of open requests.
    pub(super) fn clear(&mut self, open: usize) {
        self.open = open;
        self.scores.clear();
        self.over.clear();
        self.states.clear();
    }

    /// Adds a hypothesis: its score, its list of finished requests, and the states of its open
    /// requests.
    pub(super) fn push(&mut self, score: f64, over: u32, states: &[u32]) {
        self.scores.push(score);
        self.over.push(over);
        self.states.extend_from_slice(states);
    }

    /// Adds a hypothesis as [`Beam::push`] does, leaving out the state at one place.
    pub(super) fn push_without(&mut self, score: f64, over: u32, states: &[u32], place: usize) {
        self.push(score, over, &states[..place]);
        self.states.extend_from_slice(&states[place + 1..]);
    }

    pub(super) fn score(&self, at: usize) -> f64 {
        self.scores[at]
    }

    pub(super) fn add_score(&mut self, at: usize, score: f64) {
        self.scores[at] += score;
    }

    /// The list of the finished requests of a hypothesis.
    pub(super) fn over(&self, at: usize) -> u32 {
        self.over[at]
    }

    /// The states of the open requests in a hypothesis.
    pub(super) fn states(&self, at: usize) -> &[u32] {
        &self.states[at * self.open..(at + 1) * self.open]
    }

    pub(super) fn states_mut(&mut self, at: usize) -> &mut [u32] {
        &mut self.states[at * self.open..(at + 1) * self.open]
    }

    /// Calls `each` for each place at which hypothesis `at` differs from the first one, with the
    /// place, the state in hypothesis `at`, and the state in the first one.
    pub(super) fn for_each_difference(&self, at: usize, mut each: impl FnMut(usize, u32, u32)) {
        // Number of states that are compared together.
        const LANES: usize = 16;
        let [own, first] = [at, 0].map(|at| self.states(at));
        for (chunk, (own, first)) in own.chunks(LANES).zip(first.chunks(LANES)).enumerate() {
            let differences =
                own.iter().zip(first).fold(0, |all, (own, first)| all | (own ^ first));
            if differences != 0 {
                let both =
                    own.iter().zip(first).enumerate().filter(|(_, (own, first))| own != first);
                both.for_each(|(place, (own, first))| each(chunk * LANES + place, *own, *first));
            }
        }
    }

    /// Appends an open request in this state to all hypotheses.
    pub(super) fn open(&mut self, state: u32) {
        let (open, all) = (self.open, self.len());
        self.states.resize(all * (open + 1), state);
        for at in (0..all).rev() {
            self.states.copy_within(at * open..(at + 1) * open, at * (open + 1));
            self.states[at * (open + 1) + open] = state;
        }
        self.open += 1;
    }

    /// The best hypothesis; among equal ones the last.
    pub(super) fn best(&self) -> Option<usize> {
        (0..self.len()).max_by(|one, other| self.scores[*one].total_cmp(&self.scores[*other]))
    }
}

/// Sorts the places of scores in a sequence: the best score first, and among equal scores the first
/// place.
#[derive(Debug, Default)]
pub(super) struct ScoreOrder {
    keys: Vec<OrderKey>,
}

/// Sort key; greater keys come first.
type OrderKey = (i64, Reverse<u32>);

impl ScoreOrder {
    /// Returns the places of the `scores` that are at least `least`, the best score first; at most
    /// `most` places.
    pub(super) fn best_first(
        &mut self,
        scores: impl Iterator<Item = f64>,
        least: f64,
        most: usize,
    ) -> impl Iterator<Item = u32> + '_ {
        fill_keys(&mut self.keys, scores, least);
        if self.keys.len() > most {
            self.keys.select_nth_unstable_by(most, |one, other| other.cmp(one));
            self.keys.truncate(most);
        }
        self.keys.sort_unstable_by(|one, other| other.cmp(one));
        self.keys.iter().map(|(_, Reverse(place))| *place)
    }

    /// Sorts places as [`ScoreOrder::best_first`] does, for a caller that will use only the first
    /// places, probably at most `likely` of them.
    pub(super) fn first_ones(
        &mut self,
        scores: impl Iterator<Item = f64>,
        least: f64,
        likely: usize,
    ) -> impl Iterator<Item = u32> + '_ {
        fill_keys(&mut self.keys, scores, least);
        let (mut next, mut sorted) = (0, 0);
        std::iter::from_fn(move || {
            if next == sorted {
                let left = &mut self.keys[sorted..];
                let more = left.len().min(likely.max(sorted));
                if more < left.len() {
                    left.select_nth_unstable_by(more, |one, other| other.cmp(one));
                }
                left[..more].sort_unstable_by(|one, other| other.cmp(one));
                sorted += more;
            }
            next += 1;
            self.keys[..sorted].get(next - 1).map(|(_, Reverse(place))| *place)
        })
    }
}

/// Replaces `keys` by the keys of the scores that are at least `least`.
fn fill_keys(keys: &mut Vec<OrderKey>, scores: impl Iterator<Item = f64>, least: f64) {
    keys.clear();
    let places = scores.zip(0..).filter(|(score, _)| *score >= least);
    keys.extend(places.map(|(score, place)| (order_key(score), Reverse(place))));
}

/// Integer key that sorts scores like [`f64::total_cmp`].
fn order_key(score: f64) -> i64 {
    let bits = score.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_scores_come_first_and_ties_keep_their_order() {
        let scores = [-3.5, 2.0, 0.0, -0.25, 2.0, -90.0, 7.5];
        let mut order = ScoreOrder::default();
        let all = [6, 1, 4, 2, 3, 0];
        assert!(order.best_first(scores.into_iter(), -50.0, 9).eq(all));
        for likely in [1, 2, 3, 9] {
            assert!(order.first_ones(scores.into_iter(), -50.0, likely).eq(all), "{likely}");
        }
        assert!(order.best_first(scores.into_iter(), -50.0, 3).eq([6, 1, 4]));
    }

    #[test]
    fn an_opened_request_is_appended_to_each_hypothesis() {
        let mut beam = Beam::default();
        beam.clear(1);
        beam.push(1.0, 0, &[4]);
        beam.push(3.0, 1, &[5]);
        beam.push(3.0, 2, &[6]);
        beam.open(9);
        assert_eq!([0, 1, 2].map(|at| beam.states(at).to_vec()), [[4, 9], [5, 9], [6, 9]]);
        assert_eq!(beam.best(), Some(2));
    }
}
