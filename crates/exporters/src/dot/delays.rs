//! The delays of the convolution algorithm, as in Figure 9 of Project 5: paths of nodes. Each edge
//! has the delays of the sender, the most frequent first, each with its number of messages.

use std::collections::{BTreeMap, BinaryHeap};
use std::io;

use analyze::infer::convolution::{DelayEdge, DelayGraph};
use message_trace::units::{format_count, format_duration};

use super::text::{quote_lines, write_preamble};
/// Draws the `limit` edges of `graph` that are reached first from the roots, always by the edge
/// with the most messages.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn draw_delays(
    graph: &DelayGraph,
    limit: usize,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let edges = choose_edges(graph, limit);
    write_preamble(out, "delays by convolution")?;
    for (place, node) in graph.nodes.iter().enumerate() {
        if edges.iter().any(|edge| edge.from == place || edge.to == place) {
            writeln!(out, "  n{place} [label={}];", quote_lines(&[node]))?;
        }
    }
    for edge in &edges {
        let known = edge.delays.iter().filter_map(|(delay, _)| *delay);
        let delays: Vec<String> =
            known.map(|delay| format_duration(delay as f64).to_string()).collect();
        let messages = format!("({})", format_count(edge.message_count() as u64));
        let label = quote_lines(&[&delays.join(", "), &messages]);
        writeln!(out, "  n{} -> n{} [label={label}];", edge.from, edge.to)?;
    }
    writeln!(out, "}}")
}

/// Chooses the edges to draw, in the order of the graph.
fn choose_edges(graph: &DelayGraph, limit: usize) -> Vec<&DelayEdge> {
    if graph.edges.len() <= limit {
        return graph.edges.iter().collect();
    }
    let mut outgoing: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut is_root = vec![true; graph.nodes.len()];
    for (place, edge) in graph.edges.iter().enumerate() {
        outgoing.entry(edge.from).or_default().push(place);
        is_root[edge.to] = false;
    }
    let mut chosen = Vec::new();
    let mut next: BinaryHeap<(usize, std::cmp::Reverse<usize>)> = BinaryHeap::new();
    let add_outgoing = |next: &mut BinaryHeap<_>, vertex: usize| {
        let edges = outgoing.get(&vertex).into_iter().flatten();
        next.extend(
            edges.map(|place| (graph.edges[*place].message_count(), std::cmp::Reverse(*place))),
        );
    };
    (0..graph.nodes.len())
        .filter(|vertex| is_root[*vertex])
        .for_each(|root| add_outgoing(&mut next, root));
    while let Some((_, std::cmp::Reverse(place))) = next.pop().filter(|_| chosen.len() < limit) {
        chosen.push(place);
        add_outgoing(&mut next, graph.edges[place].to);
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|place| &graph.edges[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::assert_golden;

    #[test]
    fn delays_as_in_figure_9() {
        let edge = |from, to, delays: &[(Option<i64>, usize)]| DelayEdge {
            from,
            to,
            delays: delays.to_vec(),
        };
        let graph = DelayGraph {
            nodes: ["client", "web", "auth \"server\"", "web"].map(str::to_owned).to_vec(),
            edges: vec![
                edge(0, 1, &[(None, 4321)]),
                edge(1, 2, &[(Some(7_000_000), 3000), (Some(25_000_000), 1000)]),
                edge(2, 3, &[(Some(600_000), 3990)]),
            ],
        };
        let mut out = Vec::new();
        draw_delays(&graph, 100, &mut out).unwrap();
        assert_golden!("figure9.dot", &String::from_utf8(out).unwrap());
    }

    #[test]
    fn the_most_frequent_edges_are_drawn_with_the_edges_leading_to_them() {
        let edge = |from, to, messages| DelayEdge { from, to, delays: vec![(Some(1), messages)] };
        let graph = DelayGraph {
            nodes: ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec(),
            edges: vec![edge(0, 1, 5), edge(1, 2, 1), edge(1, 3, 9), edge(4, 5, 7)],
        };
        let drawn = |limit| {
            choose_edges(&graph, limit).iter().map(|edge| (edge.from, edge.to)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(0), []);
        assert_eq!(drawn(1), [(4, 5)]);
        assert_eq!(drawn(2), [(0, 1), (4, 5)]);
        assert_eq!(drawn(3), [(0, 1), (1, 3), (4, 5)]);
        assert_eq!(drawn(9).len(), 4);
    }
}
