//! Beliefs: the probability of each candidate pair among its rivals, the other candidates of its
//! two ends. It follows from the odds of the candidates alone, given that each end can be in one
//! pair only, by belief propagation on the graph of candidates (exact if the graph
//! has no cycles, and approximate otherwise).

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use crate::tuning::{BELIEF_ROUNDS, CLEARLY_AHEAD, MAX_LOG_ODDS};

/// The candidates by either end.
#[derive(Debug)]
pub(super) struct CandidateRivals {
    /// For each candidate, its connecting and its accepting end, numbered from 0.
    ends: SpillableVec<[u32; 2]>,
    /// Number of half flows.
    halves: usize,
    /// Messages of belief propagation, from each candidate's connecting end to its accepting one
    /// and back: the weight of the candidate in view of that end's alternatives. Empty before the
    /// first round.
    beliefs: SpillableVec<[f64; 2]>,
    pool: MemoryPool,
}

impl CandidateRivals {
    /// `ends` are the connecting and the accepting half of each candidate, out of `halves`.
    pub(super) fn new(ends: SpillableVec<[u32; 2]>, halves: usize) -> CandidateRivals {
        let pool = ends.pool().clone();
        CandidateRivals { ends, halves, beliefs: SpillableVec::new(&pool), pool }
    }

    /// Estimates the probability of each candidate from its log-odds against chance.
    pub(super) fn estimate_beliefs(
        &mut self,
        odds: &SpillableVec<f64>,
    ) -> Result<SpillableVec<f64>, PathError> {
        let weight = |odds: &f64| odds.clamp(-MAX_LOG_ODDS, MAX_LOG_ODDS).exp();
        let weights = SpillableVec::collect(&self.pool, odds.iter().map(weight))?;
        if self.beliefs.is_empty() {
            self.beliefs.extend(weights.iter().map(|weight| [*weight; 2]))?;
        }
        let none = || SpillableVec::filled(&self.pool, self.halves, 0.0);
        let mut sums = [none()?, none()?];
        for _ in 0..BELIEF_ROUNDS {
            self.sum_by_end(&mut sums);
            let mut candidates = self.ends.iter().zip(weights.iter());
            self.beliefs.for_each_mut(0..weights.len(), |messages| {
                let Some((ends, weight)) = candidates.next() else { return };
                let from = *messages;
                // The connecting end weighs against the messages from the accepting ends of its
                // other candidates.
                let others =
                    [sums[0][ends[0] as usize] - from[1], sums[1][ends[1] as usize] - from[0]];
                for (side, others) in others.into_iter().enumerate() {
                    let next = weight / (1.0 + others.max(0.0));
                    // Damped, so that cycles converge.
                    messages[side] = (next * from[side]).sqrt().max(f64::MIN_POSITIVE);
                }
            });
        }
        self.sum_by_end(&mut sums);
        let belief = |(ends, messages): (&[u32; 2], &[f64; 2])| {
            let by_one = messages[1] / (1.0 + sums[0][ends[0] as usize]);
            let by_other = messages[0] / (1.0 + sums[1][ends[1] as usize]);
            by_one.min(by_other).clamp(0.0, 1.0)
        };
        SpillableVec::collect(&self.pool, self.ends.iter().zip(self.beliefs.iter()).map(belief))
    }

    /// By how much the probability of each candidate exceeds [`CLEARLY_AHEAD`] times that of the
    /// most probable of its rivals; 0 if it does not.
    pub(super) fn lead_over_rivals(
        &self,
        beliefs: &SpillableVec<f64>,
    ) -> Result<SpillableVec<f64>, PathError> {
        // The two most probable candidates of each end.
        let none = || SpillableVec::filled(&self.pool, self.halves, [0.0f64; 2]);
        let mut best = [none()?, none()?];
        for (ends, belief) in self.ends.iter().zip(beliefs.iter()) {
            for (best, end) in best.iter_mut().zip(ends) {
                let best = &mut best[*end as usize];
                if *belief > best[0] {
                    *best = [*belief, best[0]];
                } else {
                    best[1] = best[1].max(*belief);
                }
            }
        }
        let lead = |(ends, belief): (&[u32; 2], &f64)| {
            let rivals = best.iter().zip(ends).map(|(best, end)| {
                let [first, second] = best[*end as usize];
                if *belief < first { first } else { second }
            });
            (belief - CLEARLY_AHEAD * rivals.fold(0.0, f64::max)).max(0.0)
        };
        SpillableVec::collect(&self.pool, self.ends.iter().zip(beliefs.iter()).map(lead))
    }

    /// Sums the messages to each connecting and each accepting end into `sums`.
    fn sum_by_end(&self, sums: &mut [SpillableVec<f64>; 2]) {
        for sums in sums.iter_mut() {
            sums.for_each_mut(0..self.halves, |sum| *sum = 0.0);
        }
        for (ends, messages) in self.ends.iter().zip(self.beliefs.iter()) {
            sums[0][ends[0] as usize] += messages[1];
            sums[1][ends[1] as usize] += messages[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(ends: Vec<[u32; 2]>, halves: usize, odds: &[f64]) -> Vec<f64> {
        let pool = MemoryPool::default();
        let mut rivals = CandidateRivals::new(SpillableVec::collect(&pool, ends).unwrap(), halves);
        let odds = SpillableVec::collect(&pool, odds.iter().copied()).unwrap();
        (0..5).for_each(|_| drop(rivals.estimate_beliefs(&odds).unwrap()));
        rivals.estimate_beliefs(&odds).unwrap().iter().copied().collect()
    }

    fn near(beliefs: &[f64], expected: &[f64]) {
        for (belief, expected) in beliefs.iter().zip(expected) {
            assert!((belief - expected).abs() < 0.01, "{beliefs:?}");
        }
    }

    #[test]
    fn a_candidate_without_rivals_has_the_probability_of_its_odds() {
        near(&settled(vec![[0, 1]], 2, &[9.0f64.ln()]), &[0.9]);
    }

    #[test]
    fn rivals_share() {
        let ends = vec![[0, 1], [0, 2]];
        near(
            &settled(ends.clone(), 3, &[99.0f64.ln(), 99.0f64.ln()]),
            &[99.0 / 199.0, 99.0 / 199.0],
        );
        near(&settled(ends, 3, &[1e6f64.ln(), 1e3f64.ln()]), &[0.999, 0.001]);
    }

    #[test]
    fn a_half_flow_that_surely_has_a_partner_is_not_available() {
        // 0 and 1 both look like 2; 1 has no alternative, 0 also looks like 3.
        let beliefs = settled(vec![[0, 2], [1, 2], [0, 3]], 4, &[8.0, 8.0, 8.0]);
        assert!(beliefs[1] > 0.95 && beliefs[2] > 0.95 && beliefs[0] < 0.05, "{beliefs:?}");
    }
}
