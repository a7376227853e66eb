//! Fit of the difference of two clocks: the line on which most candidates agree, and how far it
//! stands out from the second best.

use rustc_hash::FxHashSet;

use super::candidates::HalfFlowField;
use super::difference::{ClockDifference, DifferenceVote};
use super::median::find_median_of_few;
use super::stabbing::{WeightedInterval, deepest_interval, interval_around};
use super::{HalfFlowSide, signature};
use crate::tuning::{
    ACCEPTED_NATS, MAX_HOST_SKEW, MAX_PORT_NATS, MAX_VOTES_FOR_SKEW, MIN_TRUE_VOTES, PORT_NATS,
    SKEW_STEP, TIME_SLACK_NS, VOTE_NATS,
};

/// Fits the line with the largest agreeing weight, with its confidence; `None` without votes.
pub(super) fn fit_difference(
    field: &HalfFlowField,
    votes: &[DifferenceVote],
) -> Option<ClockDifference> {
    let first = votes.iter().map(|vote| vote.time).min()?;
    let last = votes.iter().map(|vote| vote.time).max()?;
    let (middle, half) = (first + (last - first) / 2, (last - first) as f64 / 2.0);
    let slack = TIME_SLACK_NS as f64;
    let mut ends = Vec::with_capacity(2 * votes.len());
    // At first any skew is possible, which blurs votes far from the middle.
    let blurred = votes.iter().map(|vote| {
        let blur = slack + MAX_HOST_SKEW * (vote.time - middle).unsigned_abs() as f64;
        WeightedInterval { low: vote.low - blur, high: vote.high + blur, weight: vote.weight }
    });
    let coarse = deepest_interval(blurred, &mut ends)?;
    let near = |vote: &&DifferenceVote| {
        let blur = slack + MAX_HOST_SKEW * half * 2.0;
        vote.low - blur <= coarse.high && coarse.low <= vote.high + blur
    };
    let mut asked: Vec<DifferenceVote> = votes.iter().filter(near).copied().collect();
    // Of equal weight, some of all times.
    let spread =
        |vote: &DifferenceVote| (vote.connecting.wrapping_mul(0x9E37_79B1), vote.accepting);
    asked.sort_unstable_by(|one, other| {
        other.weight.total_cmp(&one.weight).then_with(|| spread(one).cmp(&spread(other)))
    });
    asked.truncate(MAX_VOTES_FOR_SKEW);
    let along =
        |vote: &DifferenceVote, skew: f64, slack: f64| interval_at(vote, middle, skew, slack);
    let (mut skew, mut step, mut best) = (0.0, MAX_HOST_SKEW / 3.0, coarse);
    loop {
        let blur = slack + step * half / 2.0;
        let tries = (-4..=4).map(|steps| skew + f64::from(steps) * step);
        let tries = tries.filter(|skew| skew.abs() <= MAX_HOST_SKEW);
        let tried: Vec<(f64, WeightedInterval)> = tries
            .filter_map(|skew| {
                Some((
                    skew,
                    deepest_interval(asked.iter().map(|vote| along(vote, skew, blur)), &mut ends)?,
                ))
            })
            .collect();
        // The middle one of equally good ones.
        let most = tried.iter().map(|(_, found)| found.weight).fold(0.0, f64::max);
        let as_good: Vec<&(f64, WeightedInterval)> =
            tried.iter().filter(|(_, found)| found.weight >= most - 1e-6).collect();
        let Some(found) = as_good.get(as_good.len() / 2) else { break };
        (skew, best) = **found;
        if step * half < slack || step < 1e-9 {
            break;
        }
        step /= 4.0;
    }
    let best = deepest_interval(votes.iter().map(|vote| along(vote, skew, slack)), &mut ends)
        .unwrap_or(best);
    let offset = (best.low + best.high) / 2.0;
    let wide = interval_around(
        best,
        MIN_TRUE_VOTES,
        votes.iter().map(|vote| along(vote, skew, slack)),
        &mut ends,
    );
    let uncertainty = (wide.high - offset).max(offset - wide.low);
    let mut found = ClockDifference {
        at: middle,
        offset,
        skew,
        uncertainty: uncertainty.min(1e9),
        skew_uncertainty: skew_uncertainty(&asked, middle, skew, &mut ends),
        trust: 0.0,
        scale: 1e6,
        support: 0,
    };
    let (agreeing, others): (Vec<DifferenceVote>, Vec<DifferenceVote>) =
        votes.iter().partition(|vote| found.agrees_with(vote, uncertainty.min(slack) + slack));
    let second = deepest_interval(others.iter().map(|vote| along(vote, skew, slack)), &mut ends);
    let second: Vec<DifferenceVote> = others
        .iter()
        .filter(|vote| {
            let here = along(vote, skew, slack);
            second.is_some_and(|second| here.low <= second.low && second.low <= here.high)
        })
        .copied()
        .collect();
    let (support, rival) = (count_pairs(&agreeing), count_pairs(&second));
    let mut widths: Vec<f64> = agreeing.iter().map(|vote| vote.high - vote.low).collect();
    found.scale = find_median_of_few(&mut widths).unwrap_or(1e6).max(slack);
    found.support = support;
    found.trust = confidence_of_fit(field, votes.len(), &agreeing, support, rival);
    Some(found)
}

/// The interval of differences at the time `middle` for which a vote stands, if clocks drift apart
/// by `skew`.
fn interval_at(vote: &DifferenceVote, middle: i64, skew: f64, slack: f64) -> WeightedInterval {
    let drift = skew * (vote.time - middle) as f64;
    WeightedInterval {
        low: vote.low - drift - slack,
        high: vote.high - drift + slack,
        weight: vote.weight,
    }
}

/// Uncertainty of `skew`: its largest change by which nearly as much weight agrees on a difference.
/// A line through wide windows can be tilted, and is then far off at both ends.
fn skew_uncertainty(
    votes: &[DifferenceVote],
    middle: i64,
    skew: f64,
    ends: &mut Vec<(f64, f64)>,
) -> f64 {
    let mut weight = |skew: f64| {
        let votes = votes.iter().map(|vote| interval_at(vote, middle, skew, TIME_SLACK_NS as f64));
        deepest_interval(votes, ends).map_or(0.0, |found| found.weight)
    };
    let enough = MIN_TRUE_VOTES * weight(skew);
    let far = votes.iter().map(|vote| vote.time.abs_diff(middle)).max().unwrap_or(0).max(1);
    let first = (TIME_SLACK_NS as f64 / far as f64).min(MAX_HOST_SKEW);
    let mut farthest = 0.0f64;
    for sign in [-1.0, 1.0] {
        let mut change = first;
        while change <= MAX_HOST_SKEW && weight(skew + sign * change) >= enough {
            farthest = farthest.max(change);
            change *= SKEW_STEP;
        }
    }
    farthest
}

/// Maximum number of disjoint pairs among votes.
fn count_pairs(votes: &[DifferenceVote]) -> u32 {
    let distinct = |end: fn(&DifferenceVote) -> u32| {
        votes.iter().map(end).collect::<FxHashSet<u32>>().len() as u32
    };
    distinct(|vote| vote.connecting).min(distinct(|vote| vote.accepting))
}

/// Confidence of a difference that `agreeing` of the `asked` votes support, with `support` pairs,
/// while the second best has `rival` pairs.
fn confidence_of_fit(
    field: &HalfFlowField,
    asked: usize,
    agreeing: &[DifferenceVote],
    support: u32,
    rival: u32,
) -> f64 {
    if support < 2 {
        return 0.0;
    }
    // Indistinguishable candidates are no further evidence.
    let mut seen = FxHashSet::default();
    let mut information = 0.0;
    for vote in agreeing {
        if seen.insert(signature::appearance_hash(
            field.half_at(vote.connecting),
            HalfFlowSide::Connecting,
        )) {
            information += (vote.information / 2.0).min(8.0);
        }
    }
    // Among many pairs some have the same port by chance.
    let port = (PORT_NATS - (asked.max(1) as f64).ln()).clamp(0.0, MAX_PORT_NATS);
    let kept = agreeing.iter().filter(|vote| vote.kept_port).count().min(8) as f64 * port;
    let (support, rival) = (f64::from(support), f64::from(rival));
    let votes = VOTE_NATS * (support - rival) / (1.0 + rival / 4.0).sqrt();
    1.0 / (1.0
        + (ACCEPTED_NATS - votes - information.min(votes.max(0.0) * 2.0) - kept)
            .clamp(-40.0, 40.0)
            .exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vote at `time` for differences from `low` to `high`, all in milliseconds.
    fn vote(time: i64, low: f64, high: f64) -> DifferenceVote {
        let (connecting, accepting, weight, information) = (0, 0, 1.0, 0.0);
        let [low, high] = [low, high].map(|end| 1e6 * end);
        let time = 1_000_000 * time;
        DifferenceVote {
            time,
            low,
            high,
            weight,
            connecting,
            accepting,
            information,
            kept_port: false,
        }
    }

    fn ppm(votes: &[DifferenceVote], middle: i64) -> f64 {
        1e6 * skew_uncertainty(votes, 1_000_000 * middle, 0.0, &mut Vec::new())
    }

    #[test]
    fn only_a_line_through_wide_windows_can_be_tilted() {
        // Ten windows over 9 s, each from -0.1 to 0.1 ms. A line within nine of them, with 0.02 ms
        // of slack, is within those of 8 s: it tilts by 0.24 ms at most, which is 30 ppm.
        let narrow: Vec<DifferenceVote> = (0..10).map(|at| vote(1000 * at, -0.1, 0.1)).collect();
        let narrow = ppm(&narrow, 4500);
        assert!((30.0 / SKEW_STEP..=30.0).contains(&narrow), "{narrow} ppm");
        // Each from -1 to 1 ms: by 2.04 ms, 255 ppm.
        let wide: Vec<DifferenceVote> = (0..10).map(|at| vote(1000 * at, -1.0, 1.0)).collect();
        let wide = ppm(&wide, 4500);
        assert!((255.0 / SKEW_STEP..=255.0).contains(&wide), "{wide} ppm");
    }

    #[test]
    fn the_skew_stays_within_its_limit() {
        let votes = [vote(0, -5.0, 5.0), vote(1, -5.0, 5.0)];
        let found = ppm(&votes, 0);
        assert!(0.0 < found && found <= 1e6 * MAX_HOST_SKEW, "{found} ppm");
    }
}
