//! Missed and false paths, by path pattern, path instance and message (Project 5, section 7.5.1).
//!
//! A pattern is a false negative if no instance of it was inferred, and a false positive if no
//! instance is real. Instances are false negatives if a pattern has too few of them, and false
//! positives if it has too many. A message is ascribed to the right path if its inferred instance
//! has the root and the pattern of its true one; as every message is in one instance, a message
//! that is missing in one path is an additional message in another.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::forest::{PatternInterner, PatternNumber};
use super::pruning::{self, PatternOmission};
use super::scored_calls::ScoredCalls;
use super::whole_share::share_of_whole;
use crate::ground_truth::CallOrigin;

/// Missed and false paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FalsePaths {
    /// By path pattern.
    pub patterns: FalseCounts,
    /// By path instance.
    pub instances: FalseCounts,
    /// By message.
    pub messages: FalseCounts,
}

/// Numbers of real, inferred, missed and false patterns, instances or messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FalseCounts {
    /// Number of real items.
    pub real: u64,
    /// Number of inferred items.
    pub inferred: u64,
    /// Number of real items that were not inferred.
    pub false_negatives: u64,
    /// Number of inferred items that are not real.
    pub false_positives: u64,
    /// False negatives as a share of the real items.
    pub false_negative_rate: Option<f64>,
    /// False positives as a share of the inferred items.
    pub false_positive_rate: Option<f64>,
}

impl FalseCounts {
    fn new(real: u64, inferred: u64, false_negatives: u64, false_positives: u64) -> FalseCounts {
        FalseCounts {
            real,
            inferred,
            false_negatives,
            false_positives,
            false_negative_rate: share_of_whole(false_negatives as usize, real as usize),
            false_positive_rate: share_of_whole(false_positives as usize, inferred as usize),
        }
    }
}

/// Compares the true paths with the most likely ones.
pub(super) fn compare_paths(scored: &ScoredCalls) -> (FalsePaths, Vec<PatternOmission>) {
    let mut patterns = PatternInterner::default();
    let real = patterns.build_forest(scored, &scored.true_parents());
    let inferred: Vec<Option<u32>> =
        (0..scored.calls.len()).map(|call| scored.inferred_parent(call)).collect();
    let inferred = patterns.build_forest(scored, &inferred);
    let (of_truth, of_result) = (real.pattern_counts(), inferred.pattern_counts());
    let (mut messages, mut wrong) = (0, 0);
    for (number, call) in
        scored.calls.iter().enumerate().filter(|(_, call)| call.origin != CallOrigin::Unknown)
    {
        let same = real.roots[number] == inferred.roots[number]
            && real.pattern_of_call(number) == inferred.pattern_of_call(number);
        messages += call.messages as u64;
        wrong += if same { 0 } else { call.messages as u64 };
    }
    let lacking = |of: &FxHashMap<PatternNumber, u64>, others: &FxHashMap<PatternNumber, u64>| {
        let other = |pattern: &PatternNumber| others.get(pattern).copied().unwrap_or(0);
        let patterns = of.keys().filter(|pattern| other(pattern) == 0).count() as u64;
        let instances =
            of.iter().map(|(pattern, count)| count.saturating_sub(other(pattern))).sum::<u64>();
        (patterns, instances)
    };
    let (missed, made_up) = (lacking(&of_truth, &of_result), lacking(&of_result, &of_truth));
    let instances = |of: &FxHashMap<PatternNumber, u64>| of.values().sum::<u64>();
    let paths = FalsePaths {
        patterns: FalseCounts::new(
            of_truth.len() as u64,
            of_result.len() as u64,
            missed.0,
            made_up.0,
        ),
        instances: FalseCounts::new(
            instances(&of_truth),
            instances(&of_result),
            missed.1,
            made_up.1,
        ),
        messages: FalseCounts::new(messages, messages, wrong, wrong),
    };
    (paths, pruning::find_omissions(&of_truth, &of_result))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's own example: A -> B -> C -> D twice; the inferred paths are one complete, A ->
    /// B, and C -> D.
    #[test]
    fn section_7_5_1() {
        let scored = ScoredCalls::from_rows(&[
            ("a", "b", None, None, 1.0),
            ("b", "c", Some(0), Some(0), 1.0),
            ("c", "d", Some(1), Some(1), 1.0),
            ("a", "b", None, None, 1.0),
            // The message from B to C is ascribed to no path: its parents form a cycle.
            ("b", "c", Some(3), Some(4), 1.0),
            ("c", "d", Some(4), None, 1.0),
        ]);
        let (paths, _) = compare_paths(&scored);
        let negatives = |found: FalseCounts| (found.false_negatives, found.false_positives);
        assert_eq!(negatives(paths.patterns), (0, 2));
        assert_eq!(negatives(paths.instances), (1, 2));
        assert_eq!(negatives(paths.messages), (3, 3));
        assert_eq!((paths.patterns.real, paths.instances.real, paths.messages.real), (1, 2, 6));
        assert_eq!((paths.patterns.inferred, paths.instances.inferred), (3, 3));
        assert_eq!(paths.messages.false_negative_rate, Some(0.5));
        assert_eq!(paths.instances.false_positive_rate, Some(2.0 / 3.0));
    }

    #[test]
    fn calls_that_are_swapped_make_no_wrong_pattern_but_wrong_messages() {
        let scored = ScoredCalls::from_rows(&[
            ("a", "b", None, None, 1.0),
            ("a", "b", None, None, 1.0),
            ("b", "c", Some(0), Some(1), 1.0),
            ("b", "c", Some(1), Some(0), 1.0),
        ]);
        let (paths, _) = compare_paths(&scored);
        assert_eq!((paths.patterns.false_negatives, paths.instances.false_negatives), (0, 0));
        assert_eq!((paths.messages.real, paths.messages.false_negatives), (4, 2));
    }
}
