//! The name of each node by itself: as in a path pattern, but a client has its own name instead of
//! the one of all clients. In a table with a row per call the name identifies the caller; only
//! patterns need clients to be alike.

use message_trace::{MessageTrace, NodeGrain, NodeId};
use rustc_hash::FxHashMap;

use super::stable_path::StablePaths;
use super::{names, node_identity};
use crate::options::Options;

/// The names of the nodes of a trace at a grain.
#[derive(Debug)]
pub struct NodeNames<'trace> {
    trace: &'trace MessageTrace,
    identities: Vec<node_identity::NodeIdentity<'trace>>,
    grain: NodeGrain,
    with_host: bool,
    names: FxHashMap<(NodeId, Option<i32>), String>,
}

impl<'trace> NodeNames<'trace> {
    /// Creates the names of the nodes of `trace` with `options`.
    pub fn new(trace: &'trace MessageTrace, options: &'trace Options) -> NodeNames<'trace> {
        let mut identities = node_identity::identify_nodes(trace, &options.aliases);
        StablePaths::from_trace(trace).rename_nodes(&mut identities, trace);
        let with_host = names::on_many_hosts(trace, &identities);
        NodeNames {
            trace,
            identities,
            grain: options.grain,
            with_host,
            names: FxHashMap::default(),
        }
    }

    /// Returns the name of the thread `tid` of the process `node`, at the grain; empty if the trace
    /// has no node of this id.
    pub fn name(&mut self, node: NodeId, tid: Option<i32>) -> &str {
        let id = self.identities.get(node.index()).map_or(node, |identity| identity.first_same);
        let tid = tid.filter(|_| self.grain == NodeGrain::Thread);
        let NodeNames { trace, identities, grain, with_host, names } = self;
        names.entry((id, tid)).or_insert_with(|| {
            let pair = trace.nodes.get(id).zip(identities.get(id.index()));
            pair.map_or_else(String::new, |(node, identity)| {
                names::node_name(node, identity, tid, *grain, *with_host)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn clients_have_names_of_their_own() {
        let mut fixture = Fixture::new();
        fixture.send("one", "web", 0, 1);
        fixture.send("two", "web", 2, 3);
        let trace = fixture.trace();
        let options = Options::default();
        let mut names = NodeNames::new(&trace, &options);
        assert_eq!(
            [0, 1, 2].map(|node| names.name(NodeId::from_index(node), None).to_owned()),
            ["one", "web", "two"]
        );
        assert_eq!(names.name(NodeId::from_index(7), None), "");
        let options = Options { grain: NodeGrain::Thread, ..Options::default() };
        assert_eq!(
            NodeNames::new(&trace, &options).name(NodeId::from_index(1), Some(9)),
            "web[0/9]"
        );
    }
}
