//! The data of the page of a comparison (`sockcap diff --html`): the result with a line for each
//! mutation, which is loaded immediately, and the mutations themselves in batches.

use compare::OverallChange;
use compare::output::{
    CallMap, ChangeBreakdown, ComparisonReport, DescribedMutation, DescribedPeriod,
    DescribedSuspect, DistributionPair,
};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::tuning::MUTATIONS_PER_BATCH;

/// The data of a page of a comparison, as JSON.
#[derive(Clone, Debug, Default)]
pub struct ComparisonPage {
    /// The names of the two periods.
    pub names: [String; 2],
    /// Number of mutations.
    pub mutations: usize,
    /// The result and its mutations in rows.
    pub overview: Vec<u8>,
    /// The details of [`MUTATIONS_PER_BATCH`] mutations each, in the order of the result.
    pub details: Vec<Vec<u8>>,
}

impl ComparisonPage {
    /// The page of `answer`, with all of its mutations.
    ///
    /// # Errors
    /// When `answer` contains a number that JSON cannot represent.
    pub fn new(answer: &ComparisonReport) -> serde_json::Result<ComparisonPage> {
        let names = [0, 1].map(|side| answer.periods[side].name.clone());
        Ok(ComparisonPage {
            names,
            mutations: answer.mutations.len(),
            overview: serde_json::to_vec(&ComparisonOverview::from_report(answer))?,
            details: encode_batches(&answer.mutations)?,
        })
    }
}

/// All of a result except the trees of its mutations.
#[derive(Serialize)]
struct ComparisonOverview<'a> {
    periods: &'a [DescribedPeriod; 2],
    doubts: &'a [String],
    changed: bool,
    response: &'a OverallChange,
    distribution: &'a DistributionPair,
    map: &'a CallMap,
    mean: &'a ChangeBreakdown,
    quantiles: &'a [Option<ChangeBreakdown>; 3],
    suspects: &'a [DescribedSuspect],
    faster: &'a [DescribedSuspect],
    categories: usize,
    large: [[usize; 2]; 2],
    /// Number of mutations in a batch of details.
    group: usize,
    mutations: Vec<MutationRow<'a>>,
}

impl<'a> ComparisonOverview<'a> {
    fn from_report(answer: &'a ComparisonReport) -> ComparisonOverview<'a> {
        ComparisonOverview {
            periods: &answer.periods,
            doubts: &answer.doubts,
            changed: answer.changed,
            response: &answer.response,
            distribution: &answer.distribution,
            map: &answer.map,
            mean: &answer.mean,
            quantiles: &answer.quantiles,
            suspects: &answer.suspects,
            faster: &answer.faster,
            categories: answer.categories,
            large: answer.large,
            group: MUTATIONS_PER_BATCH,
            mutations: answer.mutations.iter().map(MutationRow::from_mutation).collect(),
        }
    }
}

/// A mutation as the list of the page shows it.
#[derive(Serialize)]
struct MutationRow<'a> {
    kind: &'static str,
    contribution_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<[f64; 2]>,
    /// The root: its node and its operation.
    node: &'a str,
    operation: &'a str,
    steps: usize,
    counts: [f64; 2],
    mean_ns: [f64; 2],
    /// The nodes that the mutation's requests go through, each once, in the order of the tree.
    through: Vec<&'a str>,
}

impl<'a> MutationRow<'a> {
    fn from_mutation(mutation: &'a DescribedMutation) -> MutationRow<'a> {
        let tree = &mutation.tree;
        let root = tree.places.first();
        MutationRow {
            kind: mutation.kind,
            contribution_ns: mutation.contribution_ns,
            shares: mutation.shares,
            node: root.map_or("", |root| &root.node),
            operation: root.map_or("", |root| &root.operation),
            steps: tree.places.len(),
            counts: tree.counts,
            mean_ns: tree.mean_ns,
            through: distinct_names(tree.places.iter().map(|place| place.node.as_str())),
        }
    }
}

/// Each name once, in the order of first occurrence.
fn distinct_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = FxHashSet::default();
    names.filter(|name| seen.insert(*name)).collect()
}

/// All of `all` as JSON, [`MUTATIONS_PER_BATCH`] in a batch.
fn encode_batches(all: &[impl Serialize]) -> serde_json::Result<Vec<Vec<u8>>> {
    all.chunks(MUTATIONS_PER_BATCH).map(serde_json::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_contain_all_mutations_in_order() {
        let all: Vec<usize> = (0..2 * MUTATIONS_PER_BATCH + 3).collect();
        let made: Vec<Vec<usize>> = encode_batches(&all)
            .unwrap()
            .iter()
            .map(|piece| serde_json::from_slice(piece).unwrap())
            .collect();
        let sizes: Vec<_> = made.iter().map(Vec::len).collect();
        assert_eq!(sizes, [MUTATIONS_PER_BATCH, MUTATIONS_PER_BATCH, 3]);
        assert_eq!(made.concat(), all);
        assert_eq!(encode_batches(&[] as &[usize]).unwrap(), [[0_u8; 0]; 0]);
    }

    #[test]
    fn a_node_is_named_once() {
        assert_eq!(
            distinct_names(["web", "stock", "web", "", "stock"].into_iter()),
            ["web", "stock", ""]
        );
    }
}
