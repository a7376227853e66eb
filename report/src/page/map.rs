//! The map of the system as the page has it: nodes and edges of [`analyze::system_map`] in short
//! numbers.

use analyze::paths::PathPattern;
use analyze::system_map::{self, Between, MapEdge, MapNode, Sum};
use message_trace::Protocol;
use serde::Serialize;

use super::names::Names;
use super::number::Number;

/// The nodes and edges, with numbers for names.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageMap {
    nodes: Vec<PageNode>,
    edges: Vec<PageEdge>,
}

/// A node, with its delays in all patterns together.
#[derive(Debug, Serialize)]
struct PageNode {
    name: u32,
    traced: bool,
    /// The expected number of delays of the node.
    expected: Number,
    /// The mean of the delays, in nanoseconds.
    mean: Option<Number>,
    /// The sum of the delays, in nanoseconds.
    time: Number,
}

/// The messages between two nodes in both directions.
#[derive(Debug, Serialize)]
struct PageEdge {
    /// The caller: the node that sends to the port.
    from: u32,
    to: u32,
    port: u32,
    protocol: &'static str,
    /// The expected number of messages from `from` to `to`, and of those back.
    there: Number,
    back: Number,
    /// The mean network latency, in nanoseconds; null if an end was not traced.
    network: Option<Number>,
    /// The mean time at an untraced node and on the network to it and back.
    untraced: Option<Number>,
    /// The sums of both times, each delay as often as is expected.
    network_time: Number,
    untraced_time: Number,
    /// The sum of the times for which connections were made, as often as is expected.
    connect_time: Number,
    /// The expected number of bytes in both directions.
    bytes: Number,
}

/// The map that all `patterns` make.
pub(super) fn of(patterns: &[&PathPattern], names: &mut Names) -> PageMap {
    let map = system_map::of_patterns(patterns.iter().copied());
    PageMap {
        nodes: map.nodes.iter().map(|(name, node)| PageNode::of(name, node, names)).collect(),
        edges: map.edges.iter().map(|(between, edge)| PageEdge::of(between, edge, names)).collect(),
    }
}

impl PageNode {
    fn of(name: &str, node: &MapNode, names: &mut Names) -> PageNode {
        PageNode {
            name: names.number(name),
            traced: node.traced,
            expected: Number::of(node.work.expected),
            mean: mean(node.work),
            time: Number::whole(node.work.time),
        }
    }
}

impl PageEdge {
    fn of(between: &Between, edge: &MapEdge, names: &mut Names) -> PageEdge {
        PageEdge {
            from: names.number(&between.caller),
            to: names.number(&between.callee),
            port: names.number(&between.port),
            // Of one that is not known there is nothing to say.
            protocol: match between.protocol {
                other if other == Protocol::Other.name() => "",
                known => known,
            },
            there: Number::of(edge.requests),
            back: Number::of(edge.responses),
            network: mean(edge.network),
            untraced: mean(edge.untraced),
            network_time: Number::whole(edge.network.time),
            untraced_time: Number::whole(edge.untraced.time),
            connect_time: Number::whole(edge.connecting),
            bytes: Number::whole(edge.bytes),
        }
    }
}

/// The mean of a sum as a short number.
fn mean(sum: Sum) -> Option<Number> {
    sum.mean().map(Number::whole)
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
    fn a_protocol_that_is_not_known_is_not_named() {
        for (protocol, shown) in [(Protocol::Other, ""), (Protocol::Udp, "udp")] {
            let mut cached = samples::cached();
            cached.hops.iter_mut().for_each(|hop| hop.protocol = protocol);
            let map = of(&[&cached], &mut Names::default());
            assert!(map.edges.iter().all(|edge| edge.protocol == shown), "{protocol}");
        }
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
