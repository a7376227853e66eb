//! Evidence: how much of an operation's standard deviation a kind of context explains, how much of
//! that is chance, and how sure it is that contexts differ.

use crate::result::DeviationDecrease;
use crate::statistics::{
    AverageDeviation, RankSums, TimeMoments, TimeSample, kruskal_wallis, relative_decrease,
};

/// The decrease from `whole` to its `contexts`. `context` returns the context of each of the sorted
/// samples.
pub(super) fn measure_decrease(
    whole: &TimeMoments,
    contexts: &[TimeMoments],
    sorted: &[TimeSample],
    context: impl Fn(usize) -> usize,
) -> DeviationDecrease {
    let within = AverageDeviation::from_contexts(contexts);
    let test = kruskal_wallis(&RankSums::from_samples(sorted, contexts.len(), context));
    DeviationDecrease {
        deviation: within.mean(),
        share: decrease_share(whole, contexts),
        beyond_chance: beyond_chance(whole, contexts),
        sureness: test.sureness,
        rank_share: test.share,
    }
}

/// The share of the standard deviation that contexts explain (section 3.3).
pub(super) fn decrease_share(whole: &TimeMoments, contexts: &[TimeMoments]) -> f64 {
    relative_decrease(
        &AverageDeviation::from_contexts([whole]),
        &AverageDeviation::from_contexts(contexts),
    )
}

/// The share explained beyond chance. For n response times in k contexts that do not differ, the
/// sum of squares within contexts is on average (n - k) / (n - 1) of the whole one.
fn beyond_chance(whole: &TimeMoments, contexts: &[TimeMoments]) -> f64 {
    let contexts = contexts.iter().filter(|context| context.weight > 0.0);
    let free = whole.weight - contexts.clone().count() as f64;
    if free <= 0.0 || whole.squared_distances() <= 0.0 {
        return 0.0;
    }
    let within: f64 = contexts.map(TimeMoments::squared_distances).sum();
    let ratio = (within / free) / (whole.squared_distances() / (whole.weight - 1.0));
    (1.0 - ratio.sqrt()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> TimeMoments {
        let mut moments = TimeMoments::default();
        values.iter().for_each(|value| moments.add(*value, 1.0));
        moments
    }

    #[test]
    fn contexts_with_one_execution_explain_nothing() {
        let whole = moments(&[1.0, 5.0, 9.0]);
        let alone = [1.0, 5.0, 9.0].map(|value| moments(&[value]));
        assert_eq!((decrease_share(&whole, &alone), beyond_chance(&whole, &alone)), (1.0, 0.0));
    }

    /// Sums of squares: 2 + 2 within, 2 + 2 + 4 * 16 = 68 in all. (4 / 2) / (68 / 3) = 3 / 34.
    #[test]
    fn by_hand() {
        let parts = [moments(&[0.0, 2.0]), moments(&[8.0, 10.0])];
        let mut whole = parts[0];
        whole.merge(&parts[1]);
        let expected = 1.0 - (3.0_f64 / 34.0).sqrt();
        assert!((beyond_chance(&whole, &parts) - expected).abs() < 1e-12);
        assert!((decrease_share(&whole, &parts) - (1.0 - 1.0 / 17f64.sqrt())).abs() < 1e-12);
    }
}
