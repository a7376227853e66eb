//! Split of a group: the place at which values of one kind separate into two groups.

use crate::tuning::{
    MIN_APART, MIN_CLUSTER, SPLIT_NEIGHBOURS, VALLEY_SHARE, VALLEY_SIGMAS, VALLEY_WIDTHS,
};

/// A place between two groups of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ValueSplit {
    /// The first value of the upper group.
    pub(crate) at: f32,
    /// Distance of the medians of the two groups, in units of their spreads.
    pub(crate) apart: f32,
}

/// The best place to split sorted values, with at least `fewest` of them on each side; `None` if
/// they are one group.
///
/// Two signs of groups are searched. A gap: two neighbours that are farther apart than the spread
/// of the nearest [`SPLIT_NEIGHBOURS`] values on each side, and than [`MIN_APART`]. And a valley:
/// an interval with far fewer values than one of the same width on either side, by
/// [`VALLEY_SIGMAS`] standard deviations of such counts. Gaps find small groups; valleys find large
/// ones with some values in between, whatever the number of requests.
pub(crate) fn best_split(sorted: &[f32], fewest: usize) -> Option<ValueSplit> {
    let fewest = fewest.max(MIN_CLUSTER);
    let (first, last) = (sorted.first()?, sorted.last()?);
    if last - first < MIN_APART || sorted.len() < 2 * fewest {
        return None;
    }
    let places = wide_gaps(sorted, fewest).chain(density_valleys(sorted));
    let places = places.filter(|at| *at >= fewest && sorted.len() - at >= fewest);
    let splits =
        places.map(|at| ValueSplit { at: sorted[at], apart: median_separation(sorted, at) });
    splits.max_by(|a, b| a.apart.total_cmp(&b.apart).then(b.at.total_cmp(&a.at)))
}

/// Distance of the medians of the values before and from the index `at`, in units of their spreads.
fn median_separation(sorted: &[f32], at: usize) -> f32 {
    let (lower, upper) = sorted.split_at(at);
    let ((low, low_spread), (high, high_spread)) =
        (median_and_spread(lower), median_and_spread(upper));
    (high - low) / (1.0 + low_spread + high_spread)
}

/// Median and interquartile range of sorted values.
pub(crate) fn median_and_spread(sorted: &[f32]) -> (f32, f32) {
    let at = |share: usize| sorted.get(sorted.len() * share / 4).copied().unwrap_or_default();
    (at(2), at(3) - at(1))
}

/// Indices of the values after wide gaps.
fn wide_gaps(sorted: &[f32], fewest: usize) -> impl Iterator<Item = usize> {
    let neighbours = SPLIT_NEIGHBOURS.min(fewest.max(2));
    (fewest..=sorted.len() - fewest).filter(move |at| {
        let (before, after) = (sorted[at - 1], sorted[*at]);
        let gap = after - before;
        let lower = before - sorted[at - neighbours];
        let upper = sorted[at + neighbours - 1] - after;
        gap >= MIN_APART && gap >= lower && gap >= upper
    })
}

/// Indices of the values at which valleys split, with intervals of several widths.
fn density_valleys(sorted: &[f32]) -> impl Iterator<Item = usize> {
    VALLEY_WIDTHS.into_iter().filter_map(|width| clearest_valley(sorted, width))
}

/// Index of the first value after the clearest valley, with intervals of the width `width`; `None`
/// if there is no valley.
fn clearest_valley(sorted: &[f32], width: f32) -> Option<usize> {
    let first = *sorted.first()?;
    // Index of the first value of each interval.
    let mut begins = vec![0_usize];
    for (place, value) in sorted.iter().enumerate() {
        let interval = ((value - first) / width) as usize;
        while begins.len() <= interval {
            begins.push(place);
        }
    }
    begins.push(sorted.len());
    let counts: Vec<usize> = begins.windows(2).map(|of| of[1] - of[0]).collect();
    // Count and number of the fullest interval above each interval; `below` is the fullest one
    // below the current interval.
    let mut above = vec![(0, 0); counts.len() + 1];
    for at in (0..counts.len()).rev() {
        above[at] = above[at + 1].max((counts[at], at));
    }
    let mut below = (0, 0);
    let mut best: Option<(f64, usize)> = None;
    for (at, count) in counts.iter().enumerate() {
        let high = above[at + 1];
        let (lower, upper) = (below.0.min(high.0) as f64, *count as f64);
        let distance = (high.1 as f32 - below.1 as f32) * width;
        let sigmas = (lower - upper) / (lower + upper).sqrt().max(1.0);
        let is_valley = upper <= VALLEY_SHARE * lower && distance >= MIN_APART;
        if is_valley && sigmas >= VALLEY_SIGMAS && best.is_none_or(|(most, _)| sigmas > most) {
            best = Some((sigmas, at));
        }
        below = below.max((*count, at));
    }
    let (_, at) = best?;
    // The widest gap within the interval, including its borders with both neighbours.
    let (from, to) = (begins[at].max(1), (begins[at + 1] + 1).min(sorted.len()));
    let gap = |place: &usize| sorted[*place] - sorted[place - 1];
    (from..to).max_by(|a, b| gap(a).total_cmp(&gap(b)).then(b.cmp(a)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values at the quantiles of a normal distribution, without randomness.
    fn bell(middle: f32, sigma: f32, count: usize) -> impl Iterator<Item = f32> {
        (0..count).map(move |at| {
            let share = (at as f32 + 0.5) / count as f32;
            // The logistic curve is close enough, and has heavier tails.
            middle + sigma * 0.55 * (share / (1.0 - share)).ln()
        })
    }

    fn sorted(values: impl IntoIterator<Item = f32>) -> Vec<f32> {
        let mut values: Vec<f32> = values.into_iter().collect();
        values.sort_by(f32::total_cmp);
        values
    }

    #[test]
    fn two_bells_are_split_between_them_and_one_is_not() {
        let both = sorted(bell(100.0, 1.0, 300).chain(bell(114.0, 1.0, 200)));
        let found = best_split(&both, 5).unwrap();
        assert_eq!(both.partition_point(|value| *value < found.at), 300);
        // Medians are 14 apart; the quartiles of each 2 * 0.55 * ln 3 = 1.2.
        assert!((found.apart - 14.0 / 3.42).abs() < 0.1, "{found:?}");
        for (sigma, count) in [(0.5, 10), (1.0, 500), (6.0, 50), (6.0, 5_000), (30.0, 100_000)] {
            assert_eq!(best_split(&sorted(bell(200.0, sigma, count)), 5), None, "{sigma} {count}");
        }
    }

    #[test]
    fn a_valley_that_is_not_empty_splits_and_a_long_tail_does_not() {
        let some = (0..60).map(|at| 95.0 + at as f32 * 0.4);
        let both = sorted(bell(100.0, 1.0, 30_000).chain(bell(114.0, 1.0, 20_000)).chain(some));
        let at = best_split(&both, 100).unwrap().at;
        assert!((103.0..111.0).contains(&at), "{at}");
        let tail = sorted((1..20_000).map(|at| 100.0 - 8.0 * (at as f32 / 20_000.0).ln()));
        assert_eq!(best_split(&tail, 5), None);
    }

    #[test]
    fn few_values_far_away_are_a_group_only_if_they_are_enough_and_near_each_other() {
        let far = |count: usize, step: f32| (0..count).map(move |at| 150.0 + at as f32 * step);
        let with = |count, step| sorted(bell(100.0, 1.0, 500).chain(far(count, step)));
        assert_eq!(best_split(&with(4, 0.1), 5), None);
        assert_eq!(best_split(&with(5, 0.1), 5).map(|split| split.at), Some(150.0));
        assert_eq!(best_split(&with(5, 20.0), 5), None);
    }
}
