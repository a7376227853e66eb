//! Line stabbing: the place that is within the heaviest set of windows.

/// An interval of the line, including both ends, with the weight of its vote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WeightedInterval {
    pub(super) low: f64,
    pub(super) high: f64,
    /// How much the vote counts.
    pub(super) weight: f64,
}

/// The interval with the largest agreeing weight, with that weight; `None` if there are no
/// intervals. `ends` is memory that is reused.
pub(super) fn deepest_interval(
    intervals: impl Iterator<Item = WeightedInterval>,
    ends: &mut Vec<(f64, f64)>,
) -> Option<WeightedInterval> {
    sort_ends(intervals, ends);
    let (mut depth, mut best): (f64, Option<WeightedInterval>) = (0.0, None);
    let mut open = false;
    for (at, weight) in ends.iter() {
        if *weight < 0.0 {
            if let Some(best) = best.as_mut().filter(|_| open) {
                best.high = *at;
            }
            open = false;
        }
        depth += weight;
        if *weight >= 0.0 && best.is_none_or(|best| depth > best.weight + 1e-9) {
            best = Some(WeightedInterval { low: *at, high: *at, weight: depth });
            open = true;
        }
    }
    best
}

/// Sorts the ends of the intervals.
fn sort_ends(intervals: impl Iterator<Item = WeightedInterval>, ends: &mut Vec<(f64, f64)>) {
    ends.clear();
    for interval in intervals {
        ends.push((interval.low, interval.weight));
        ends.push((interval.high, -interval.weight));
    }
    // An interval that begins where another ends overlaps it.
    ends.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
}

/// The interval around the deepest place `best` of the same intervals in which at least `share` of
/// its weight agrees: it contains the true place even if a few agree there by chance.
pub(super) fn interval_around(
    best: WeightedInterval,
    share: f64,
    intervals: impl Iterator<Item = WeightedInterval>,
    ends: &mut Vec<(f64, f64)>,
) -> WeightedInterval {
    sort_ends(intervals, ends);
    let enough = share * best.weight - 1e-9;
    let (mut depth, mut low) = (0.0, None);
    for (at, weight) in ends.iter() {
        depth += weight;
        if depth >= enough {
            low = low.or(Some(*at));
        } else if let Some(low) = low.take().filter(|low| *low <= best.low && best.low <= *at) {
            return WeightedInterval { low, high: *at, weight: best.weight };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_place_is_found() {
        let interval = |low, high, weight| WeightedInterval { low, high, weight };
        let all = [
            interval(0.0, 10.0, 1.0),
            interval(8.0, 20.0, 1.0),
            interval(30.0, 31.0, 1.5),
            interval(9.0, 9.5, 1.0),
        ];
        let best = deepest_interval(all.into_iter(), &mut Vec::new());
        assert_eq!(best, Some(interval(9.0, 9.5, 3.0)));
        let touching = [interval(0.0, 5.0, 1.0), interval(5.0, 9.0, 1.0)];
        assert_eq!(
            deepest_interval(touching.into_iter(), &mut Vec::new()),
            Some(interval(5.0, 5.0, 2.0))
        );
        assert_eq!(deepest_interval([].into_iter(), &mut Vec::new()), None);
    }
    #[test]
    fn a_few_chance_agreements_do_not_move_it() {
        let interval = |low, high, weight| WeightedInterval { low, high, weight };
        // Ten agree from 3 to 9, and two agree by chance from 8 on.
        let all: Vec<WeightedInterval> = (0..10)
            .map(|at| interval(f64::from(at) / 3.0, 9.0 + f64::from(at), 1.0))
            .chain([interval(8.0, 20.0, 1.0), interval(8.5, 30.0, 1.0), interval(40.0, 50.0, 12.0)])
            .collect();
        let mut ends = Vec::new();
        let best = interval(8.5, 9.0, 12.0);
        assert_eq!(deepest_interval(all[..12].iter().copied(), &mut ends), Some(best));
        assert_eq!(
            interval_around(best, 0.8, all.iter().copied(), &mut ends),
            interval(3.0, 11.0, 12.0)
        );
        assert_eq!(interval_around(best, 1.0, all.iter().copied(), &mut ends), best);
    }
}
