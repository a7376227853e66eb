//! The system as the patterns show it: who talks to whom, how often and how long that takes.
//! Requests and responses between two nodes over one port are one edge.

use std::collections::BTreeMap;

use analyze::paths::{Hop, PathPattern};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::names::Names;
use super::number::Number;
use analyze::paths::timing::connecting;

/// Nodes and edges as the page has them.
#[derive(Debug, Default, Serialize)]
pub(super) struct SystemMap {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// A node, and what it does in all patterns together.
#[derive(Debug, Serialize)]
struct Node {
    name: u32,
    traced: bool,
    /// Delays of the node that are expected to be real.
    expected: Number,
    /// Their mean, in nanoseconds.
    mean: Option<Number>,
    /// Their sum.
    time: Number,
}

/// Messages between two nodes in both directions.
#[derive(Debug, Serialize)]
struct Edge {
    /// Who began: the one that sends to the port.
    from: u32,
    to: u32,
    port: u32,
    protocol: &'static str,
    /// Expected messages from `from` to `to`, and those back.
    there: Number,
    back: Number,
    /// The mean network latency, in nanoseconds; none where an end was not traced.
    network: Option<Number>,
    /// The mean time at an untraced node and on both ways to it.
    untraced: Option<Number>,
    /// The sums of both, each delay as often as is expected.
    network_time: Number,
    untraced_time: Number,
    /// The time for which its connections were made, likewise.
    connect_time: Number,
    /// Expected bytes in both directions.
    bytes: Number,
}

/// A sum of delays, each as often as is expected.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    expected: f64,
    time: f64,
}

impl Sum {
    fn add(&mut self, expected: f64, mean: f64) {
        self.expected += expected;
        self.time += expected * mean;
    }

    fn mean(self) -> Option<Number> {
        (self.expected > 0.0).then(|| Number::whole(self.time / self.expected))
    }
}

#[derive(Debug, Default)]
struct Between {
    there: f64,
    back: f64,
    network: Sum,
    untraced: Sum,
    connect_time: f64,
    bytes: f64,
}

/// Adds up all `patterns`.
pub(super) fn of(patterns: &[&PathPattern], names: &mut Names) -> SystemMap {
    let mut nodes: BTreeMap<&str, (bool, Sum)> = BTreeMap::new();
    let mut edges: BTreeMap<(&str, &str, &str, &'static str), Between> = BTreeMap::new();
    for pattern in patterns {
        let mut met = FxHashSet::default();
        for hop in &pattern.hops {
            for (name, traced) in [(&hop.src, hop.src_traced), (&hop.dst, hop.dst_traced)] {
                nodes.entry(name).or_default().0 |= traced;
            }
            if let (Some(node), Some((_, work))) = (hop.node, nodes.get_mut(hop.src.as_str())) {
                work.add(pattern.expected, node.mean);
            }
            let back = is_back(hop, &mut met);
            let (from, to, port) = if back {
                (&hop.dst, &hop.src, &hop.src_port)
            } else {
                (&hop.src, &hop.dst, &hop.dst_port)
            };
            let edge = edges.entry((from, to, port, hop.protocol.name())).or_default();
            *(if back { &mut edge.back } else { &mut edge.there }) += pattern.expected;
            edge.bytes += pattern.expected * hop.bytes;
            if let Some(network) = hop.network {
                edge.network.add(pattern.expected, network.mean);
            }
            if let Some(untraced) = hop.untraced {
                edge.untraced.add(pattern.expected, untraced.mean);
            }
            edge.connect_time += pattern.expected * connecting(hop);
        }
    }
    let node = |(name, (traced, work)): (&&str, &(bool, Sum)), names: &mut Names| Node {
        name: names.number(name),
        traced: *traced,
        expected: Number::of(work.expected),
        mean: work.mean(),
        time: Number::whole(work.time),
    };
    SystemMap {
        nodes: nodes.iter().map(|entry| node(entry, names)).collect(),
        edges: edges
            .iter()
            .map(|((from, to, port, protocol), edge)| Edge {
                from: names.number(from),
                to: names.number(to),
                port: names.number(port),
                protocol,
                there: Number::of(edge.there),
                back: Number::of(edge.back),
                network: edge.network.mean(),
                untraced: edge.untraced.mean(),
                network_time: Number::whole(edge.network.time),
                untraced_time: Number::whole(edge.untraced.time),
                connect_time: Number::whole(edge.connect_time),
                bytes: Number::whole(edge.bytes),
            })
            .collect(),
    }
}

/// Whether a message is an answer: its sender has a port of a server, and its receiver has none.
/// Where nobody has one, as in traces of calls that know no ports, it is one if messages of the
/// pattern went the other way before, which are `met`.
fn is_back<'a>(hop: &'a Hop, met: &mut FxHashSet<(&'a str, &'a str)>) -> bool {
    let ephemeral = |port: &str| port.is_empty() || port == "*";
    match (ephemeral(&hop.src_port), ephemeral(&hop.dst_port)) {
        (true, true) if met.contains(&(&*hop.dst, &*hop.src)) => true,
        (true, true) => {
            met.insert((&hop.src, &hop.dst));
            false
        }
        (is_client, goes_to_client) => goes_to_client && !is_client,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn requests_and_responses_are_one_edge() {
        let (cached, mut names) = (samples::cached(), Names::default());
        let map = of(&[&cached], &mut names);
        let names = names.shown();
        let edges: Vec<(&str, &str, &str)> = map
            .edges
            .iter()
            .map(|edge| {
                (
                    &*names[edge.from as usize],
                    &*names[edge.to as usize],
                    &*names[edge.port as usize],
                )
            })
            .collect();
        assert_eq!(
            edges,
            [
                ("CLIENT", "nginx", "8080"),
                ("app.py", "redis-server", "6379"),
                ("nginx", "app.py", "9000")
            ]
        );
        let redis = &map.edges[1];
        assert_eq!(
            (redis.there, redis.back),
            (Number::of(cached.expected), Number::of(cached.expected))
        );
        // 41 and 44 us.
        assert_eq!(redis.network, Some(Number::of(42_500.0)));
        let app = map.nodes.iter().find(|node| names[node.name as usize] == "app.py").unwrap();
        // It works twice in each path: 0.871 and 1.94 ms.
        assert_eq!((app.traced, app.mean), (true, Some(Number::of(1_405_500.0))));
        assert_eq!(app.expected, Number::of(2.0 * cached.expected));
    }

    #[test]
    fn without_ports_the_first_to_send_asks() {
        let mut cached = samples::cached();
        for hop in &mut cached.hops {
            (hop.src_port, hop.dst_port) = ("*".to_owned(), "*".to_owned());
        }
        let map = of(&[&cached], &mut Names::default());
        assert_eq!(map.edges.len(), 3);
        assert!(map.edges.iter().all(|edge| edge.there == edge.back));
    }

    #[test]
    fn patterns_add_up() {
        let (cached, mut other) = (samples::cached(), samples::cached());
        other.expected = 3.0 * cached.expected;
        other.hops[2].network = Some(samples::delay(81_000.0));
        other.hops[3].network = None;
        let map = of(&[&cached, &other], &mut Names::default());
        // 41 and 44 us once, 81 us three times.
        assert_eq!(map.edges[1].network, Some(Number::of(65_600.0)));
    }
}
