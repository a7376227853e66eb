//! The map of patterns: each hop counts with its pattern's expected number of real instances.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::edge::{EdgeEnds, MapEdge, MapNode, SystemMap};
use crate::paths::timing::mean_connect_time;
use crate::paths::{Hop, PathPattern};

/// Returns the map of all `patterns`.
pub fn map_of_patterns<'a>(patterns: impl IntoIterator<Item = &'a PathPattern>) -> SystemMap {
    let mut nodes: BTreeMap<&str, MapNode> = BTreeMap::new();
    let mut edges: BTreeMap<(&str, &str, &str, &'static str), MapEdge> = BTreeMap::new();
    for pattern in patterns {
        let mut met = FxHashSet::default();
        for hop in &pattern.hops {
            for (name, traced) in [(&hop.src, hop.src_traced), (&hop.dst, hop.dst_traced)] {
                nodes.entry(name).or_default().traced |= traced;
            }
            if let (Some(latency), Some(node)) = (hop.node, nodes.get_mut(hop.src.as_str())) {
                node.work.add_time(pattern.expected, latency.mean);
            }
            let is_response = is_response(hop, &mut met);
            let (caller, callee, port) = if is_response {
                (&hop.dst, &hop.src, &hop.src_port)
            } else {
                (&hop.src, &hop.dst, &hop.dst_port)
            };
            let edge = edges.entry((caller, callee, port, hop.protocol.name())).or_default();
            let messages = if is_response { &mut edge.responses } else { &mut edge.requests };
            *messages += pattern.expected;
            edge.bytes += pattern.expected * hop.bytes;
            if let Some(network) = hop.network {
                edge.network.add_time(pattern.expected, network.mean);
            }
            if let Some(untraced) = hop.untraced {
                edge.untraced.add_time(pattern.expected, untraced.mean);
            }
            edge.connecting += pattern.expected * mean_connect_time(hop);
        }
    }
    let between = |(caller, callee, port, protocol): (&str, &str, &str, &'static str)| EdgeEnds {
        caller: caller.to_owned(),
        callee: callee.to_owned(),
        port: port.to_owned(),
        protocol,
    };
    SystemMap {
        nodes: nodes.into_iter().map(|(name, node)| (name.to_owned(), node)).collect(),
        edges: edges.into_iter().map(|(ends, edge)| (between(ends), edge)).collect(),
        span: 0,
    }
}

/// Returns whether a message is a response: its sender has a server's port, and its receiver has
/// none. In traces of calls without ports, a message is a response if an earlier message of the
/// pattern went from its receiver to its sender; `met` contains the senders and receivers of these.
fn is_response<'a>(hop: &'a Hop, met: &mut FxHashSet<(&'a str, &'a str)>) -> bool {
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
