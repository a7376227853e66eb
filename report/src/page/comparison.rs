//! The data of the page of a comparison (`sockcap diff --html`): the answer with a line for each
//! mutation, which is loaded at once, and the mutations themselves in pieces.

use compare::Overall;
use compare::output::{
    Answer, DescribedMutation, DescribedPeriod, DescribedSuspect, Distribution, Map, Parts,
};
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
        let pieces = answer.mutations.chunks(MUTATIONS_PER_PIECE);
        Ok(ComparisonPage {
            names,
            mutations: answer.mutations.len(),
            overview: serde_json::to_vec(&Overview::of(answer))?,
            details: pieces.map(serde_json::to_vec).collect::<Result<_, _>>()?,
        })
    }
}

/// All of an answer but the trees of its mutations.
#[derive(Serialize)]
struct Overview<'a> {
    periods: &'a [DescribedPeriod; 2],
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
        let mut through: Vec<&str> = Vec::new();
        for place in &tree.places {
            if !through.contains(&place.node.as_str()) {
                through.push(&place.node);
            }
        }
        Row {
            kind: mutation.kind,
            contribution_ns: mutation.contribution_ns,
            shares: mutation.shares,
            node: root.map_or("", |root| &root.node),
            operation: root.map_or("", |root| &root.operation),
            steps: tree.places.len(),
            counts: tree.counts,
            mean_ns: tree.mean_ns,
            through,
        }
    }
}

#[cfg(test)]
mod tests {
    use compare::output::{Tree, TreePlace};
    use serde_json::Value;

    use super::*;

    fn place(node: &str) -> TreePlace {
        TreePlace {
            parent: None,
            depth: 0,
            node: node.to_owned(),
            operation: "GET".to_owned(),
            failed: false,
            repeated: false,
            concurrent: false,
            own_ns: [1.0, 2.0],
            network_ns: [0.0; 2],
        }
    }

    fn mutation(contribution_ns: f64) -> DescribedMutation {
        DescribedMutation {
            kind: "response_time",
            contribution_ns,
            adjusted: 0.01,
            shares: None,
            tree: Tree {
                category: "c0ffee".to_owned(),
                caller: String::new(),
                counts: [10.0, 12.0],
                mean_ns: [1.0, 2.0],
                variance: [0.0; 2],
                squared_variation: [None; 2],
                distribution: Distribution::default(),
                places: ["web", "stock", "web"].map(place).to_vec(),
            },
            hops: Vec::new(),
            originators: Vec::new(),
            explanation: None,
        }
    }

    #[test]
    fn mutations_have_a_row_each_and_their_trees_are_in_pieces() {
        let period = |name: &str| DescribedPeriod {
            name: name.to_owned(),
            requests: 10,
            expected: 10.0,
            torn: 0,
            first: None,
            last: None,
        };
        let response = Overall {
            samples: Default::default(),
            mean: [1.0, 2.0],
            quantiles: [None; 3],
            p_value: 0.01,
            adjusted: 0.02,
            is_changed: true,
        };
        let all = MUTATIONS_PER_PIECE + 3;
        let answer = Answer {
            periods: [period("monday"), period("friday")],
            changed: true,
            response,
            distribution: Distribution::default(),
            map: Map { nodes: Vec::new(), edges: Vec::new() },
            mean: Parts { total_ns: 1.0, parts: Vec::new() },
            quantiles: [None, None, None],
            suspects: Vec::new(),
            faster: Vec::new(),
            mutations: (0..all).map(|number| mutation(number as f64)).collect(),
            categories: all,
            large: [[0; 2]; 2],
        };
        let page = ComparisonPage::new(&answer).unwrap();
        assert_eq!((page.names.concat().as_str(), page.mutations), ("mondayfriday", all));
        let overview: Value = serde_json::from_slice(&page.overview).unwrap();
        let rows = overview["mutations"].as_array().unwrap();
        assert_eq!(rows.len(), all);
        assert_eq!(rows[5]["contribution_ns"], 5.0);
        assert_eq!(rows[5]["through"], serde_json::json!(["web", "stock"]));
        assert_eq!(rows[5]["steps"], 3);
        assert!(rows[5].get("tree").is_none());
        let pieces: Vec<Value> =
            page.details.iter().map(|piece| serde_json::from_slice(piece).unwrap()).collect();
        let sizes: Vec<_> = pieces.iter().map(|piece| piece.as_array().unwrap().len()).collect();
        assert_eq!(sizes, [MUTATIONS_PER_PIECE, 3]);
        // All of a mutation is there as `--json` has it.
        assert_eq!(pieces[1][0], serde_json::to_value(&answer.mutations[64]).unwrap());
    }
}
