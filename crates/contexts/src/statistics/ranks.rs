//! Kruskal-Wallis test: whether contexts differ in their response times, by ranks, so that a few
//! very long times have no more effect than other long times.

use super::sample::TimeSample;

/// Sums of the ranks of some contexts.
#[derive(Clone, Debug, Default)]
pub struct RankSums {
    /// Weight and sum of the ranks of each context.
    sums: Vec<(f64, f64)>,
    /// Weight of all samples so far.
    before: f64,
    /// Sum of t^3 - t over all times shared by several samples, t being their weight.
    ties: f64,
}

impl RankSums {
    /// The ranks of samples, sorted by time, of `contexts` contexts; `context` returns the context
    /// of the sample at each index.
    pub fn from_samples(
        sorted: &[TimeSample],
        contexts: usize,
        context: impl Fn(usize) -> usize,
    ) -> RankSums {
        let mut ranks = RankSums { sums: vec![(0.0, 0.0); contexts], before: 0.0, ties: 0.0 };
        let mut begin = 0;
        for tie in sorted.chunk_by(|a, b| a.time == b.time) {
            let weight: f64 = tie.iter().map(|sample| f64::from(sample.weight)).sum();
            let rank = ranks.before + (weight + 1.0) / 2.0;
            for (place, sample) in (begin..).zip(tie) {
                if let Some((sum, ranks)) = ranks.sums.get_mut(context(place)) {
                    *sum += f64::from(sample.weight);
                    *ranks += rank * f64::from(sample.weight);
                }
            }
            ranks.ties += weight.powi(3) - weight;
            ranks.before += weight;
            begin += tie.len();
        }
        ranks
    }
}

/// Certainty that contexts differ, and how much they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KruskalWallis {
    /// Distance of the statistic from its mean by chance, in standard deviations.
    pub sureness: f64,
    /// Share of the variance of the ranks that is between contexts, beyond chance: from 0 to 1.
    pub share: f64,
}

/// The Kruskal-Wallis test. Its statistic has a chi-squared distribution if contexts do not differ:
/// its mean is the number of contexts less one, its variance twice that.
pub fn kruskal_wallis(ranks: &RankSums) -> KruskalWallis {
    let all = ranks.before;
    let contexts = ranks.sums.iter().filter(|(weight, _)| *weight > 0.0);
    let freedom = contexts.clone().count() as f64 - 1.0;
    let untied = 1.0 - ranks.ties / (all.powi(3) - all);
    if freedom < 1.0 || all <= freedom + 1.0 || untied.is_nan() || untied <= 0.0 {
        return KruskalWallis::default();
    }
    let middle = (all + 1.0) / 2.0;
    let between: f64 = contexts.map(|(weight, sum)| weight * (sum / weight - middle).powi(2)).sum();
    let statistic = 12.0 * between / (all * (all + 1.0)) / untied;
    KruskalWallis {
        sureness: (statistic - freedom) / (2.0 * freedom).sqrt(),
        share: ((statistic - freedom) / (all - 1.0 - freedom)).clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_ranks(times: &[(i64, usize)]) -> KruskalWallis {
        let mut times = times.to_vec();
        times.sort_unstable();
        let samples: Vec<TimeSample> =
            times.iter().map(|(time, _)| TimeSample::certain(*time)).collect();
        let contexts = times.iter().map(|(_, context)| context + 1).max().unwrap_or(0);
        kruskal_wallis(&RankSums::from_samples(&samples, contexts, |place| times[place].1))
    }

    /// Ranks 1 to 6: the sums are 6 and 15, H = 12 / 42 * (36 / 3 + 225 / 3) - 21 = 3.857.
    #[test]
    fn by_hand() {
        let found = test_ranks(&[(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1)]);
        let statistic = found.sureness * 2f64.sqrt() + 1.0;
        assert!((statistic - 27.0 / 7.0).abs() < 1e-9, "{statistic}");
        assert!((found.share - (27.0 / 7.0 - 1.0) / 4.0).abs() < 1e-9);
    }

    #[test]
    fn equal_contexts_are_not_distinguished() {
        let alike: Vec<(i64, usize)> = (0..300).map(|n| (n * 7919 % 300, n as usize % 3)).collect();
        assert!(test_ranks(&alike).sureness < 3.0, "{:?}", test_ranks(&alike));
        let apart: Vec<(i64, usize)> =
            (0..300).map(|n| (n * 7919 % 300 + 150 * (n % 3), n as usize % 3)).collect();
        assert!(
            test_ranks(&apart).sureness > 20.0 && test_ranks(&apart).share > 0.3,
            "{:?}",
            test_ranks(&apart)
        );
        // One context, or equal times, give no evidence.
        assert_eq!(test_ranks(&[(1, 0), (2, 0)]), KruskalWallis::default());
        assert_eq!(test_ranks(&[(1, 0), (1, 1), (1, 0)]), KruskalWallis::default());
    }
}
