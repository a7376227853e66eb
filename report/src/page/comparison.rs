//! The data of the page of a comparison (`sockcap diff --html`): the answer with a line for each
//! mutation, which is loaded at once, and the mutations themselves in pieces.

use compare::Overall;
use compare::output::{
    Answer, DescribedMutation, DescribedPeriod, DescribedSuspect, Distribution, Map, Parts,
};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::tuning::MUTATIONS_PER_PIECE;

/// The data of a page of a comparison, as JSON.
#[derive(Clone, Debug, Default)]
pub struct ComparisonPage {
    /// What the two periods are called.
    pub names: [String; 2],
    /// Number of mutations.
    pub mutations: usize,
    /// The answer and its mutations in rows.
    pub overview: Vec<u8>,
    /// The details of [`MUTATIONS_PER_PIECE`] mutations each, in the order of the answer.
    pub details: Vec<Vec<u8>>,
}

impl ComparisonPage {
    /// The page of `answer`, with all of its mutations.
    ///
    /// # Errors
    /// When an answer has a number that JSON does not have.
    pub fn new(answer: &Answer) -> serde_json::Result<ComparisonPage> {
        let names = [0, 1].map(|side| answer.periods[side].name.clone());
        Ok(ComparisonPage {
            names,
            mutations: answer.mutations.len(),
            overview: serde_json::to_vec(&Overview::of(answer))?,
            details: pieces(&answer.mutations)?,
        })
    }
}

/// All of an answer but the trees of its mutations.
#[derive(Serialize)]
struct Overview<'a> {
    periods: &'a [DescribedPeriod; 2],
    doubts: &'a [String],
    changed: bool,
    response: &'a Overall,
    distribution: &'a Distribution,
    map: &'a Map,
    mean: &'a Parts,
    quantiles: &'a [Option<Parts>; 3],
    suspects: &'a [DescribedSuspect],
    faster: &'a [DescribedSuspect],
    categories: usize,
    large: [[usize; 2]; 2],
    /// Number of mutations in a piece of details.
    group: usize,
    mutations: Vec<Row<'a>>,
}

impl<'a> Overview<'a> {
    fn of(answer: &'a Answer) -> Overview<'a> {
        Overview {
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
            group: MUTATIONS_PER_PIECE,
            mutations: answer.mutations.iter().map(Row::of).collect(),
        }
    }
}

/// A mutation as the list of the page shows it.
#[derive(Serialize)]
struct Row<'a> {
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
    /// The nodes that it goes through, each once, in the order of the tree.
    through: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn of(mutation: &'a DescribedMutation) -> Row<'a> {
        let tree = &mutation.tree;
        let root = tree.places.first();
        Row {
            kind: mutation.kind,
            contribution_ns: mutation.contribution_ns,
            shares: mutation.shares,
            node: root.map_or("", |root| &root.node),
            operation: root.map_or("", |root| &root.operation),
            steps: tree.places.len(),
            counts: tree.counts,
            mean_ns: tree.mean_ns,
            through: distinct(tree.places.iter().map(|place| place.node.as_str())),
        }
    }
}

/// Each name once, in the order in which they come first.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = FxHashSet::default();
    names.filter(|name| seen.insert(*name)).collect()
}

/// All of these as JSON, [`MUTATIONS_PER_PIECE`] in a piece.
fn pieces(all: &[impl Serialize]) -> serde_json::Result<Vec<Vec<u8>>> {
    all.chunks(MUTATIONS_PER_PIECE).map(serde_json::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_all_in_order() {
        let all: Vec<usize> = (0..2 * MUTATIONS_PER_PIECE + 3).collect();
        let made: Vec<Vec<usize>> = pieces(&all)
            .unwrap()
            .iter()
            .map(|piece| serde_json::from_slice(piece).unwrap())
            .collect();
        let sizes: Vec<_> = made.iter().map(Vec::len).collect();
        assert_eq!(sizes, [MUTATIONS_PER_PIECE, MUTATIONS_PER_PIECE, 3]);
        assert_eq!(made.concat(), all);
        assert_eq!(pieces(&[] as &[usize]).unwrap(), [[0_u8; 0]; 0]);
    }

    #[test]
    fn a_node_is_named_once() {
        assert_eq!(
            distinct(["web", "stock", "web", "", "stock"].into_iter()),
            ["web", "stock", ""]
        );
    }
}
