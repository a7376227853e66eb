//! The output graph in the form of Project 5 (section 5.4, Figure 9): if a path continues to the
//! same node after several delays, these form one edge, the most frequent delay first. A trace that
//! is analyzed in batches has one delay graph, into which the graphs of its batches are merged.

use std::collections::BTreeMap;

use message_trace::table::MessageReader;
use message_trace::{DataDir, MessageTrace, PathError, Progress};
use rustc_hash::FxHashMap;

use super::PathGraph;
use super::search::PathSearch;
use super::sites::SiteMessages;
use crate::batches::TraceOverview;
use crate::infer::input::InferenceInput;
use crate::naming::Namer;
use crate::options::Options;
use crate::tuning::convolution::NEAR_DIVISOR;

/// A graph of nodes with the delays of each edge. Below each root it is a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayGraph {
    /// The names of the vertices' nodes; a node may occur several times in a path.
    pub nodes: Vec<String>,
    /// The edges, each after the edge that leads to its sender.
    pub edges: Vec<DelayEdge>,
}

/// Messages from one vertex to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayEdge {
    /// The sender's vertex.
    pub from: usize,
    /// The receiver's vertex.
    pub to: usize,
    /// Times between receipt and sending at the sender, in nanoseconds, each with the number of
    /// messages; unknown for a root.
    pub delays: Vec<(Option<i64>, usize)>,
}

impl DelayEdge {
    /// Number of messages with one of the delays.
    pub fn message_count(&self) -> usize {
        self.delays.iter().map(|(_, messages)| messages).sum()
    }
}

impl DelayGraph {
    /// The delay graph of `graph`.
    pub fn from_graph(graph: &PathGraph) -> DelayGraph {
        let mut all = DelayGraph::default();
        let mut roots: FxHashMap<&str, usize> = FxHashMap::default();
        let mut edges: FxHashMap<(usize, &str), usize> = FxHashMap::default();
        let mut delays: Vec<BTreeMap<Option<i64>, usize>> = Vec::new();
        let mut places = vec![0; graph.vertices().len()];
        for (place, vertex) in places.iter_mut().zip(graph.vertices()) {
            if vertex.edge.is_none() {
                *place = *roots.entry(&vertex.node).or_insert_with(|| all.add_node(&vertex.node));
            }
        }
        for edge in graph.edges() {
            let (from, node) = (places[edge.from], graph.vertices()[edge.to].node.as_str());
            let place = *edges.entry((from, node)).or_insert_with(|| {
                let to = all.add_node(node);
                all.edges.push(DelayEdge { from, to, delays: Vec::new() });
                delays.push(BTreeMap::new());
                all.edges.len() - 1
            });
            places[edge.to] = all.edges[place].to;
            *delays[place].entry(edge.delay).or_default() += edge.message_count();
        }
        for (edge, delays) in all.edges.iter_mut().zip(delays) {
            edge.delays = delays.into_iter().collect();
            // The sort is stable: equally frequent delays keep their order.
            edge.delays.sort_by_key(|(_, messages)| std::cmp::Reverse(*messages));
        }
        all
    }

    fn add_node(&mut self, node: &str) -> usize {
        self.nodes.push(node.to_owned());
        self.nodes.len() - 1
    }

    /// Builds the graph of all messages of `data`, which are analyzed in batches.
    ///
    /// # Errors
    /// If the messages cannot be read.
    pub fn from_data(
        data: &DataDir,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<DelayGraph, PathError> {
        let overview = TraceOverview::read(data, options.resources.thread_count(), false)?;
        let mut namer = Namer::new(&overview.outline, options);
        let mut reader = MessageReader::open_with_nodes(
            data.messages_path(),
            overview.outline.trace().nodes.clone(),
            false,
        )?;
        let mut left = reader.row_count();
        progress.begin_step("correlating messages", left);
        let mut all = BatchedDelayGraph::default();
        while left > 0 {
            let mut trace = MessageTrace::new(reader.nodes().clone());
            // The last batch is never so short that its delays do not stand out.
            let most = options.stretch.max(1) as u64;
            let most = if left / 2 < most { left } else { most };
            reader.read_rows(&mut trace, most as usize)?;
            if trace.is_empty() {
                break;
            }
            left = left.saturating_sub(trace.len() as u64);
            let naming = namer.name_batch(&trace);
            let sites = SiteMessages::from_trace(&trace, &naming);
            let (graph, quanta) = PathSearch::new(
                &InferenceInput::without_progress(&trace, &naming, options),
                &sites,
            )
            .find_all_paths();
            all.add_batch(&DelayGraph::from_graph(&graph), quanta.step());
            progress.advance_step(trace.len() as u64);
        }
        Ok(all.graph)
    }
}

/// The graph of the batches so far.
#[derive(Default)]
struct BatchedDelayGraph {
    graph: DelayGraph,
    /// The root vertex of each node.
    roots: FxHashMap<String, usize>,
    /// The edge from a vertex to a node.
    edges: FxHashMap<(usize, String), usize>,
}

impl BatchedDelayGraph {
    /// Adds the graph of the next batch. Its delays have this `precision` in nanoseconds.
    fn add_batch(&mut self, batch: &DelayGraph, precision: i64) {
        let mut is_root = vec![true; batch.nodes.len()];
        batch.edges.iter().for_each(|edge| is_root[edge.to] = false);
        let mut places = vec![0; batch.nodes.len()];
        for (place, node) in batch.nodes.iter().enumerate().filter(|(place, _)| is_root[*place]) {
            places[place] =
                *self.roots.entry(node.clone()).or_insert_with(|| self.graph.add_node(node));
        }
        for edge in &batch.edges {
            let (from, node) = (places[edge.from], &batch.nodes[edge.to]);
            let place = *self.edges.entry((from, node.clone())).or_insert_with(|| {
                let to = self.graph.add_node(node);
                self.graph.edges.push(DelayEdge { from, to, delays: Vec::new() });
                self.graph.edges.len() - 1
            });
            let known = &mut self.graph.edges[place];
            places[edge.to] = known.to;
            known.merge_delays(&edge.delays, precision);
        }
    }
}

impl DelayEdge {
    /// Merges the delays of the same edge in another batch: each into the nearest known delay if
    /// the two differ by at most `precision` nanoseconds or a fraction of the delay.
    fn merge_delays(&mut self, delays: &[(Option<i64>, usize)], precision: i64) {
        let before = self.delays.len();
        for (delay, messages) in delays {
            let distance = |known: &Option<i64>| match (known, delay) {
                (None, None) => Some(0),
                (Some(known), Some(delay)) => {
                    let distance = known.saturating_sub(*delay).saturating_abs();
                    Some(distance)
                        .filter(|distance| *distance <= precision.max(known / NEAR_DIVISOR))
                }
                _ => None,
            };
            let near = self.delays[..before].iter().enumerate();
            let near = near.filter_map(|(place, (known, _))| Some((distance(known)?, place)));
            match near.min() {
                Some((_, place)) => {
                    let (known, count) = &mut self.delays[place];
                    *known = known
                        .zip(*delay)
                        .map(|(known, delay)| weighted_mean(known, *count, delay, *messages));
                    *count += messages;
                }
                None => self.delays.push((*delay, *messages)),
            }
        }
        self.delays.sort_by_key(|(_, messages)| std::cmp::Reverse(*messages));
    }
}

/// The mean of two delays, weighted by their numbers of messages.
fn weighted_mean(one: i64, count: usize, other: i64, more: usize) -> i64 {
    let part = more as f64 / (count + more).max(1) as f64;
    one.saturating_add((other.saturating_sub(one) as f64 * part).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::convolution::graph::tests::edge;

    #[test]
    fn edges_to_one_node_are_merged_with_the_most_frequent_delay_first() {
        // A -> B, and from there to C after 5 or 7 ms; from either to D after 1 ms.
        let mut graph = PathGraph::default();
        let root = graph.add_root("A");
        let ab = graph.add_edge("B", edge(root, None, 0..10));
        let b = graph.edges()[ab].to;
        let early = graph.add_edge("C", edge(b, Some(5), 0..4));
        let late = graph.add_edge("C", edge(b, Some(7), 4..10));
        for (edge_to, messages) in [(early, 0..4), (late, 4..9)] {
            graph.add_edge("D", edge(graph.edges()[edge_to].to, Some(1), messages));
        }
        let merged = DelayGraph::from_graph(&graph);
        assert_eq!(merged.nodes, ["A", "B", "C", "D"]);
        let edges: Vec<_> =
            merged.edges.iter().map(|edge| (edge.from, edge.to, &edge.delays[..])).collect();
        assert_eq!(
            edges,
            [
                (0, 1, &[(None, 10)][..]),
                (1, 2, &[(Some(7), 6), (Some(5), 4)]),
                (2, 3, &[(Some(1), 9)])
            ]
        );
        assert_eq!(merged.edges[1].message_count(), 10);
    }

    #[test]
    fn graphs_of_batches_are_merged_by_path_and_near_delay() {
        let edge = |from, to, delays: &[(Option<i64>, usize)]| DelayEdge {
            from,
            to,
            delays: delays.to_vec(),
        };
        let graph = |nodes: &[&str], edges: Vec<DelayEdge>| DelayGraph {
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
            edges,
        };
        let mut all = BatchedDelayGraph::default();
        let first = graph(
            &["A", "B", "C"],
            vec![edge(0, 1, &[(None, 10)]), edge(1, 2, &[(Some(1000), 6), (Some(2000), 3)])],
        );
        all.add_batch(&first, 1);
        assert_eq!(all.graph, first);
        // The vertices have other numbers, one path is new, and another delay is the more frequent
        // one.
        let second = graph(
            &["X", "B", "A", "B", "C", "D"],
            vec![
                edge(0, 1, &[(None, 2)]),
                edge(2, 3, &[(None, 20)]),
                edge(3, 4, &[(Some(2040), 9), (Some(1400), 5)]),
                edge(3, 5, &[(Some(7), 1)]),
            ],
        );
        all.add_batch(&second, 1);
        assert_eq!(all.graph.nodes, ["A", "B", "C", "X", "B", "D"]);
        let expected = vec![
            edge(0, 1, &[(None, 30)]),
            edge(1, 2, &[(Some(2030), 12), (Some(1000), 6), (Some(1400), 5)]),
            edge(3, 4, &[(None, 2)]),
            edge(1, 5, &[(Some(7), 1)]),
        ];
        assert_eq!(all.graph.edges, expected);
        // Delays that are within the quanta of a batch are merged as well.
        let mut edge = expected[1].clone();
        edge.merge_delays(&[(Some(1300), 5)], 100);
        assert_eq!(edge.delays[1..], [(Some(1350), 10), (Some(1000), 6)]);
    }

    #[test]
    fn all_messages_count_for_any_length_of_batch() {
        let mut fixture = crate::fixture::Fixture::new();
        for call in 0..400 {
            // Irregular times; otherwise every period would be a delay.
            let at = 10_000_000 * call + call * call * 7919 % 9_000_001;
            fixture.send("A", "B", at, at + 10).on(2 * call);
            fixture.send("B", "C", at + 50_010, at + 50_020).on(2 * call + 1);
        }
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        fixture.trace().write(data.messages_path(), data.nodes_path()).unwrap();
        let of = |stretch| {
            DelayGraph::from_data(&data, &Options { stretch, ..Options::default() }, &()).unwrap()
        };
        for stretch in [100_000, 300, 200] {
            let graph = of(stretch);
            assert_eq!(graph.nodes, ["A", "B", "C"], "{stretch}");
            assert_eq!(graph.edges[0].delays, [(None, 400)], "{stretch}");
            let (delay, messages) = graph.edges[1].delays[0];
            assert!(
                messages == 400 && (40_000..60_000).contains(&delay.unwrap()),
                "{stretch}: {graph:?}"
            );
        }
    }
}
