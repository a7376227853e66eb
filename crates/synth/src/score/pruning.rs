//! Top-N omission (Project 5, section 7.5.1 and Figure 17): a user looks at the most frequent
//! patterns. Omitted are those of the N most frequent patterns in the truth that are not among the
//! N most frequent inferred patterns.
//!
//! Most omitted patterns have nearly the count of the Nth pattern, so they are also counted with a
//! tolerance: a pattern with an inferred count within 2 or 6 percent of the Nth pattern's count is
//! not counted as omitted. Of equal counts, the pattern that occurs first in the truth comes first.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::forest::PatternNumber;
use crate::tuning::MAX_TOP_N;

/// Numbers of omitted patterns for one N.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PatternOmission {
    /// N, the number of most frequent patterns that are compared.
    pub n: u64,
    /// Number of omitted patterns.
    pub omitted: u64,
    /// Number of omitted patterns with an inferred count that is not within 2% of the Nth
    /// pattern's.
    pub omitted_at_2_percent: u64,
    /// Number of omitted patterns with an inferred count that is not within 6% of the Nth
    /// pattern's.
    pub omitted_at_6_percent: u64,
}

/// The numbers of omitted patterns for every N up to the number of true patterns, from the number
/// of instances of each pattern in the truth and in the result.
pub(super) fn find_omissions(
    truth: &FxHashMap<PatternNumber, u64>,
    result: &FxHashMap<PatternNumber, u64>,
) -> Vec<PatternOmission> {
    let (truth, ranked) = (rank_patterns(truth), rank_patterns(result));
    let mut top = FxHashSet::default();
    (1..=truth.len().min(MAX_TOP_N))
        .map(|n| {
            top.extend(ranked.get(n - 1).map(|(pattern, _)| *pattern));
            let nth = ranked.get(n - 1).map_or(0, |(_, count)| *count);
            let omitted = |tolerance: f64| {
                let enough = (1.0 - tolerance) * nth as f64;
                truth[..n]
                    .iter()
                    .filter(|(pattern, _)| !top.contains(pattern))
                    .filter(|(pattern, _)| {
                        let count = result.get(pattern).copied().unwrap_or(0);
                        tolerance == 0.0 || count == 0 || (count as f64) < enough
                    })
                    .count() as u64
            };
            PatternOmission {
                n: n as u64,
                omitted: omitted(0.0),
                omitted_at_2_percent: omitted(0.02),
                omitted_at_6_percent: omitted(0.06),
            }
        })
        .collect()
}

/// The patterns by descending count.
fn rank_patterns(counts: &FxHashMap<PatternNumber, u64>) -> Vec<(PatternNumber, u64)> {
    let mut ranked: Vec<(PatternNumber, u64)> =
        counts.iter().map(|(pattern, count)| (*pattern, *count)).collect();
    ranked.sort_unstable_by_key(|(pattern, count)| (std::cmp::Reverse(*count), *pattern));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_was_displaced_is_omitted_unless_it_is_a_near_tie() {
        let counts =
            |counts: &[(PatternNumber, u64)]| counts.iter().copied().collect::<FxHashMap<_, _>>();
        let truth = counts(&[(0, 1000), (1, 500), (2, 400)]);
        // The two most frequent are swapped, 1.5% apart, and a false one comes before the third.
        let result = counts(&[(0, 500), (1, 507), (2, 95), (9, 100)]);
        let found = find_omissions(&truth, &result);
        let row = |n: usize| {
            (
                found[n - 1].omitted,
                found[n - 1].omitted_at_2_percent,
                found[n - 1].omitted_at_6_percent,
            )
        };
        assert_eq!(row(1), (1, 0, 0));
        assert_eq!(row(2), (0, 0, 0));
        // 95 is 5% less than 100.
        assert_eq!(row(3), (1, 1, 0));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_pattern_that_was_not_inferred_is_omitted_at_any_tolerance() {
        let truth = [(0, 5), (1, 1)].into_iter().collect();
        let found = find_omissions(&truth, &[(0, 6)].into_iter().collect());
        assert_eq!((found[0].omitted, found[1].omitted, found[1].omitted_at_6_percent), (0, 1, 1));
    }
}
