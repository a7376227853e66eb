//! Structural mutations (Spectroscope, 4.2.2): categories with a changed share of their kind's
//! requests. Categories that became more frequent are mutations, the others may be their
//! originators.
//!
//! The paper compares numbers of requests with a threshold. Numbers depend on the length of the
//! recording and on sampling; shares depend on neither.

use crate::analysis::CategoryStats;
use crate::options::Options;
use crate::period_windows::{degrees_of_counts, effect_of_counts};
use crate::request_kinds::RequestKind;
use crate::statistics::{rates_differ, with_estimated_variance};
use crate::tuning::PAPER_MIN_DIFFERENCE;

/// A category with a changed share of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChange {
    /// Index of the category.
    pub category: usize,
    /// Index of the category's kind.
    pub kind: usize,
    /// Shares of the category in the kind's requests in both periods, from 0 to 1.
    pub shares: [f64; 2],
    /// Probability of counts that differ at least this much, if nothing changed.
    pub p_value: f64,
    /// The p-value adjusted for all tests.
    pub adjusted: f64,
}

impl RateChange {
    /// Increase of the category's share, from -1 to 1.
    pub fn change(&self) -> f64 {
        self.shares[1] - self.shares[0]
    }
}

/// Tests the shares of all categories of kinds that occur in both periods, in the order of kinds.
/// All tested categories are returned, changed or not.
pub fn rate_tests(categories: &[CategoryStats], kinds: &[RequestKind]) -> Vec<RateChange> {
    let mut tested = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        // A kind that occurs in one period only has no shares to compare: the kind is new, or
        // disappeared.
        if kind.counts[0] <= 0.0 || kind.counts[1] <= 0.0 {
            continue;
        }
        for category in &kind.categories {
            let of = &categories[*category];
            let effect =
                [0, 1].map(|side| effect_of_counts(&of.windows[side], &kind.windows[side]));
            let p_value = rates_differ(of.counts, kind.counts, effect[0].max(effect[1]));
            let p_value = with_estimated_variance(p_value, degrees_of_counts(&kind.windows));
            let shares = [0, 1].map(|side| of.counts[side] / kind.counts[side]);
            tested.push(RateChange {
                category: *category,
                kind: number,
                shares,
                p_value,
                adjusted: 1.0,
            });
        }
    }
    tested
}

/// The tested shares that changed.
pub fn rate_changes(
    mut tested: Vec<RateChange>,
    categories: &[CategoryStats],
    options: &Options,
) -> Vec<RateChange> {
    tested.retain(|change| {
        if options.paper {
            let [before, after] = categories[change.category].counts;
            return (after - before).abs() >= PAPER_MIN_DIFFERENCE;
        }
        let less = change.shares[0].min(change.shares[1]);
        let least = options.least_share.max(options.least_relative * less);
        change.adjusted <= options.false_discoveries && change.change().abs() >= least
    });
    tested
}
