//! Report: a whole comparison, as `sockcap diff --json` prints it.

use serde::Serialize;

use super::call_map::CallMap;
use super::category_tree::CategoryLine;
use super::contributions::ChangeBreakdown;
use super::described::{DescribedKind, DescribedMutation, DescribedPeriod, DescribedSuspect};
use super::distribution::DistributionPair;
use crate::comparison::Comparison;
use crate::explanation::MutationExplanation;
use crate::overall::OverallChange;
use crate::tuning::MIN_TESTED;
use crate::warnings::find_warnings;

/// A comparison with names and sentences.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    /// The first and the second period.
    pub periods: [DescribedPeriod; 2],
    /// Reasons why the comparison may be unreliable.
    pub doubts: Vec<String>,
    /// Whether anything changed between the periods.
    pub changed: bool,
    /// Response times of all requests together: mean, p50, p95, p99.
    pub response: OverallChange,
    /// Response times of all requests in both periods.
    pub distribution: DistributionPair,
    /// Callers and callees.
    pub map: CallMap,
    /// Contributions to the change of the mean response time.
    pub mean: ChangeBreakdown,
    /// Contributions to the changes of the quantiles p50, p95 and p99; `None` without requests.
    pub quantiles: [Option<ChangeBreakdown>; 3],
    /// Nodes that caused the change, in descending order of suspicion.
    pub suspects: Vec<DescribedSuspect>,
    /// Nodes that became faster.
    pub faster: Vec<DescribedSuspect>,
    /// Kinds of requests that occur in one period only.
    pub new_kinds: Vec<DescribedKind>,
    /// Mutations, in descending order of contribution.
    pub mutations: Vec<DescribedMutation>,
    /// Number of categories in both periods.
    pub categories: usize,
    /// All categories, the most frequent first.
    pub category_list: Vec<CategoryLine>,
    /// Number of categories with enough requests in a period for a test, and how many of these have
    /// a squared coefficient of variation below 1 there (Spectroscope, 5.2).
    pub large: [[usize; 2]; 2],
}

impl ComparisonReport {
    /// The report of a comparison with `names` for its periods. `explanations` are those of the
    /// first mutations; the list may be shorter than that of the mutations.
    pub fn from_comparison(
        comparison: &Comparison,
        names: [&str; 2],
        explanations: Vec<Option<MutationExplanation>>,
    ) -> ComparisonReport {
        let [before, after] = &comparison.totals;
        let large = [0, 1].map(|side| {
            let samples = comparison.categories.iter().map(|category| &category.response[side]);
            let large = samples.filter(|sample| sample.sorted.len() >= MIN_TESTED);
            let variations: Vec<bool> = large
                .map(|sample| sample.moments.squared_variation().is_some_and(|of| of < 1.0))
                .collect();
            [variations.len(), variations.iter().filter(|is_below| **is_below).count()]
        });
        let explanations = explanations.into_iter().chain(std::iter::repeat(None));
        let mutations = comparison.mutations.iter().zip(explanations);
        let quantiles = comparison
            .overall
            .quantiles
            .map(|values| values.map(|values| ChangeBreakdown::from_quantile(comparison, values)));
        ComparisonReport {
            periods: [
                DescribedPeriod::from_totals(names[0], before),
                DescribedPeriod::from_totals(names[1], after),
            ],
            doubts: find_warnings(comparison, names),
            changed: comparison.is_changed,
            response: comparison.overall.clone(),
            distribution: DistributionPair::from_samples(&comparison.overall.samples),
            map: CallMap::from_comparison(comparison),
            mean: ChangeBreakdown::from_mean(comparison),
            quantiles,
            suspects: DescribedSuspect::from_suspects(comparison, &comparison.suspects),
            faster: DescribedSuspect::from_suspects(comparison, &comparison.faster),
            mutations: mutations
                .filter_map(|(of, explanation)| {
                    Some(DescribedMutation {
                        explanation,
                        ..DescribedMutation::from_mutation(comparison, of)?
                    })
                })
                .collect(),
            new_kinds: DescribedKind::from_comparison(comparison),
            categories: comparison.categories.len(),
            category_list: CategoryLine::from_comparison(comparison),
            large,
        }
    }
}
