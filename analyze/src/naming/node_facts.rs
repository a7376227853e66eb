//! Facts about a node besides its name, for requests: its host and process, and whether it is a
//! client.

use message_trace::NodeId;

use super::node_identity;
use super::outline::TraceOutline;
use super::roles::ServerRoles;
use crate::options::Options;

/// Facts about a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// The node's host, by the user's name for it; empty if unknown.
    pub host: String,
    /// The node's process id.
    pub pid: Option<i32>,
    /// Whether the node uses ephemeral ports only: it makes calls and serves none.
    pub is_client: bool,
}

/// Collects the facts about all nodes of the trace with this `outline`, by their ids.
pub(crate) fn collect_node_facts(outline: &TraceOutline, options: &Options) -> Vec<NodeFacts> {
    let identities = node_identity::identify_nodes(outline.trace(), &options.aliases);
    let roles =
        ServerRoles::from_trace(outline, &identities, options.grain, options.fixed_port_peers);
    let nodes = outline.trace().nodes.0.iter().zip(&identities);
    nodes
        .enumerate()
        .map(|(id, (node, identity))| NodeFacts {
            host: identity.host.to_owned(),
            pid: node.pid,
            is_client: roles.is_client(NodeId::from_index(id)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_node_that_is_called_is_no_client() {
        let mut trace = Fixture::new();
        trace.send("one/curl", "two/nginx", 0, 1);
        trace.send("two/nginx", "three/app", 2, 3);
        let facts =
            collect_node_facts(&TraceOutline::from_trace(trace.trace()), &Options::default());
        let is_client: Vec<bool> = facts.iter().map(|node| node.is_client).collect();
        assert_eq!(is_client, [true, false, false]);
        assert_eq!((facts[1].host.as_str(), facts[1].pid), ("two", Some(0)));
    }
}
