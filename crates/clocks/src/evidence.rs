//! The evidence of the estimate, reduced for display: the fastest messages of each pair after
//! correction.

use crate::lines::solve::SolvedClocks;
use crate::model::ClockEvidence;
use crate::pairs::pair::ClockPair;
use crate::tuning::{EVIDENCE_A_DIRECTION, EVIDENCE_MESSAGES};

/// Returns for each of `pairs` some of its fastest messages, and how many contradict the others.
/// `name` returns the name of a clock.
pub(crate) fn pair_evidence(
    pairs: &[ClockPair],
    solved: &SolvedClocks,
    name: impl Fn(usize) -> String,
) -> Vec<ClockEvidence> {
    let [fewest, most] = EVIDENCE_A_DIRECTION;
    let share = (EVIDENCE_MESSAGES / (2 * pairs.len()).max(1)).clamp(fewest, most);
    pairs
        .iter()
        .zip(&solved.strays)
        .map(|(pair, strays)| {
            let mut least = [Vec::new(), Vec::new()];
            if let (Some(a), Some(b)) = (&solved.clocks[pair.a], &solved.clocks[pair.b]) {
                for (place, stamp) in pair.timestamps.iter().enumerate() {
                    let (Some(first), Some(second)) =
                        (a.common_time(stamp.a), b.common_time(stamp.b))
                    else {
                        continue;
                    };
                    if strays.binary_search(&place).is_ok() {
                        continue;
                    }
                    let (sent, received) =
                        if stamp.above { (first, second) } else { (second, first) };
                    let sent_at = a.origin.saturating_add(sent.round() as i64);
                    least[usize::from(!stamp.above)]
                        .push([sent_at, (received - sent).round() as i64]);
                }
            }
            ClockEvidence {
                hosts: [name(pair.a), name(pair.b)],
                messages: pair.messages,
                contradicting: strays.len() as u64,
                least: least.map(|points| thin_points(points, share)),
            }
        })
        .collect()
}

/// Returns at most `most` of the points: the one with the least delay in each interval of time.
fn thin_points(mut points: Vec<[i64; 2]>, most: usize) -> Vec<[i64; 2]> {
    points.sort_unstable();
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
        return points;
    };
    if points.len() <= most {
        return points;
    }
    let interval = ((last[0] - first[0]) / most as i64).saturating_add(1);
    let mut thinned: Vec<[i64; 2]> = Vec::with_capacity(most);
    let mut latest = -1;
    for point in points {
        let number = (point[0] - first[0]) / interval;
        match thinned.last_mut() {
            Some(least) if number == latest => {
                *least = if point[1] < least[1] { point } else { *least }
            }
            _ => thinned.push(point),
        }
        latest = number;
    }
    thinned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_delay_of_each_interval_is_kept() {
        let points = (0..10).map(|at| [at, (at * 7) % 5]).collect();
        // Intervals of 4: delays 0 2 4 1, 3 0 2 4, 1 3.
        assert_eq!(thin_points(points, 3), [[0, 0], [5, 0], [8, 1]]);
        assert_eq!(thin_points(vec![[2, 1], [1, 5]], 3), [[1, 5], [2, 1]]);
    }
}
