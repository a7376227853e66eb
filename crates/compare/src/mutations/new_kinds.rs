//! New kinds of requests, and kinds that disappeared: they occur in one period only (beyond
//! Spectroscope, which compares categories of kinds that both periods have).

use crate::options::Options;
use crate::period_windows::{degrees_of_counts, effect_of_counts};
use crate::request_kinds::RequestKind;
use crate::statistics::{rates_differ, with_estimated_variance};
use crate::tuning::WINDOWS;

/// A kind that occurs in one period only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindChange {
    /// Index of the kind.
    pub kind: usize,
    /// Share of the kind in all requests in both periods, from 0 to 1. One of the two shares is 0.
    pub shares: [f64; 2],
    /// Probability of counts that differ at least this much, if nothing changed.
    pub p_value: f64,
    /// The p-value adjusted for all tests.
    pub adjusted: f64,
}

/// Tests the kinds that occur in one period only, in their order. All are returned, changed or not.
pub fn kind_tests(kinds: &[RequestKind]) -> Vec<KindChange> {
    let mut all = [[0.0; WINDOWS]; 2];
    for kind in kinds {
        for (sums, counts) in all.iter_mut().zip(&kind.windows) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    let totals = all.each_ref().map(|counts| counts.iter().sum::<f64>());
    if totals.contains(&0.0) {
        return Vec::new();
    }
    let only = kinds.iter().enumerate().filter(|(_, kind)| kind.counts.contains(&0.0));
    only.map(|(number, kind)| {
        let effect = [0, 1].map(|side| effect_of_counts(&kind.windows[side], &all[side]));
        let p_value = rates_differ(kind.counts, totals, effect[0].max(effect[1]));
        let p_value = with_estimated_variance(p_value, degrees_of_counts(&all));
        let shares = [0, 1].map(|side| kind.counts[side] / totals[side]);
        KindChange { kind: number, shares, p_value, adjusted: 1.0 }
    })
    .collect()
}

/// The tested kinds that are new or disappeared.
pub fn kind_changes(mut tested: Vec<KindChange>, options: &Options) -> Vec<KindChange> {
    tested.retain(|change| {
        let is_large = change.shares[0].max(change.shares[1]) >= options.least_share;
        change.adjusted <= options.false_discoveries && is_large
    });
    tested
}
