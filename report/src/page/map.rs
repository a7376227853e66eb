//! The map of the system in the form of the page: nodes and edges of [`analyze::system_map`] in
//! short numbers.

use analyze::paths::PathPattern;
use analyze::system_map::{self, EdgeEnds, MapEdge, MapNode, TimeSum};
use message_trace::TransportProtocol;
use serde::Serialize;

use super::names::PageNames;
use super::number::ShortNumber;

/// The nodes and edges, with numbers for names.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageMap {
    nodes: Vec<PageNode>,
    edges: Vec<PageEdge>,
}

/// A node, with its delays over all patterns.
#[derive(Debug, Serialize)]
struct PageNode {
    name: u32,
    traced: bool,
    /// The expected number of delays of the node.
    expected: ShortNumber,
    /// The mean of the delays, in nanoseconds.
    mean: Option<ShortNumber>,
    /// The sum of the delays, in nanoseconds.
    time: ShortNumber,
}

/// The messages between two nodes in both directions.
#[derive(Debug, Serialize)]
struct PageEdge {
    /// The caller: the node that sends to the port.
    from: u32,
    to: u32,
    port: u32,
    protocol: &'static str,
    /// The expected number of messages from `from` to `to`, and of messages back.
    there: ShortNumber,
    back: ShortNumber,
    /// The mean network latency, in nanoseconds; null if an end was not traced.
    network: Option<ShortNumber>,
    /// The mean time at an untraced node and on the network to it and back.
    untraced: Option<ShortNumber>,
    /// The sums of both times, weighted with the expected number of each delay.
    network_time: ShortNumber,
    untraced_time: ShortNumber,
    /// The sum of the times for which connections were made, weighted with their expected number.
    connect_time: ShortNumber,
    /// The expected number of bytes in both directions.
    bytes: ShortNumber,
}

/// The map of all `patterns`.
pub(super) fn build_map(patterns: &[&PathPattern], names: &mut PageNames) -> PageMap {
    let map = system_map::map_of_patterns(patterns.iter().copied());
    PageMap {
        nodes: map
            .nodes
            .iter()
            .map(|(name, node)| PageNode::from_node(name, node, names))
            .collect(),
        edges: map
            .edges
            .iter()
            .map(|(between, edge)| PageEdge::from_edge(between, edge, names))
            .collect(),
    }
}

impl PageNode {
    fn from_node(name: &str, node: &MapNode, names: &mut PageNames) -> PageNode {
        PageNode {
            name: names.intern(name),
            traced: node.traced,
            expected: ShortNumber::from_value(node.work.expected),
            mean: mean_of_sum(node.work),
            time: ShortNumber::from_whole(node.work.time),
        }
    }
}

impl PageEdge {
    fn from_edge(between: &EdgeEnds, edge: &MapEdge, names: &mut PageNames) -> PageEdge {
        PageEdge {
            from: names.intern(&between.caller),
            to: names.intern(&between.callee),
            port: names.intern(&between.port),
            // An unknown protocol is not shown.
            protocol: match between.protocol {
                other if other == TransportProtocol::Other.name() => "",
                known => known,
            },
            there: ShortNumber::from_value(edge.requests),
            back: ShortNumber::from_value(edge.responses),
            network: mean_of_sum(edge.network),
            untraced: mean_of_sum(edge.untraced),
            network_time: ShortNumber::from_whole(edge.network.time),
            untraced_time: ShortNumber::from_whole(edge.untraced.time),
            connect_time: ShortNumber::from_whole(edge.connecting),
            bytes: ShortNumber::from_whole(edge.bytes),
        }
    }
}

/// The mean of a sum as a short number.
fn mean_of_sum(sum: TimeSum) -> Option<ShortNumber> {
    sum.mean().map(ShortNumber::from_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_reports;

    #[test]
    fn requests_and_responses_are_one_edge() {
        let (cached, mut names) = (sample_reports::cached_pattern(), PageNames::default());
        let map = build_map(&[&cached], &mut names);
        let names = names.shown_names();
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
            (ShortNumber::from_value(cached.expected), ShortNumber::from_value(cached.expected))
        );
        // 41 and 44 us.
        assert_eq!(redis.network, Some(ShortNumber::from_value(42_500.0)));
        let app = map.nodes.iter().find(|node| names[node.name as usize] == "app.py").unwrap();
        // `app` works twice in each path: 0.871 and 1.94 ms.
        assert_eq!((app.traced, app.mean), (true, Some(ShortNumber::from_value(1_405_500.0))));
        assert_eq!(app.expected, ShortNumber::from_value(2.0 * cached.expected));
    }

    #[test]
    fn an_unknown_protocol_is_not_named() {
        for (protocol, shown) in [(TransportProtocol::Other, ""), (TransportProtocol::Udp, "udp")] {
            let mut cached = sample_reports::cached_pattern();
            cached.hops.iter_mut().for_each(|hop| hop.protocol = protocol);
            let map = build_map(&[&cached], &mut PageNames::default());
            assert!(map.edges.iter().all(|edge| edge.protocol == shown), "{protocol}");
        }
    }

    #[test]
    fn without_ports_the_first_sender_is_the_caller() {
        let mut cached = sample_reports::cached_pattern();
        for hop in &mut cached.hops {
            (hop.src_port, hop.dst_port) = ("*".to_owned(), "*".to_owned());
        }
        let map = build_map(&[&cached], &mut PageNames::default());
        assert_eq!(map.edges.len(), 3);
        assert!(map.edges.iter().all(|edge| edge.there == edge.back));
    }

    #[test]
    fn patterns_add_up() {
        let (cached, mut other) =
            (sample_reports::cached_pattern(), sample_reports::cached_pattern());
        other.expected = 3.0 * cached.expected;
        other.hops[2].network = Some(sample_reports::delay_around(81_000.0));
        other.hops[3].network = None;
        let map = build_map(&[&cached, &other], &mut PageNames::default());
        // 41 and 44 us once, 81 us three times.
        assert_eq!(map.edges[1].network, Some(ShortNumber::from_value(65_600.0)));
    }
}
