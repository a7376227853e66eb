//! The parties of the calls of all windows. Each is named once, the first time that it makes or
//! serves a call.

use std::sync::Arc;

use message_trace::{MessageTrace, NodeGrain, NodeId, NodeList};
use rustc_hash::FxHashMap;

use crate::naming::{NodeNames, apply_aliases};
use crate::options::Options;

/// A party that makes and serves calls: a process or, at that grain, a thread; or a peer that was
/// not traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Party {
    /// The name of the party at the chosen grain.
    pub name: String,
    /// The user's name of the party's host.
    pub host: String,
    /// The short name of the party's program.
    pub command: String,
    /// The path of the party's program; empty if unknown.
    pub executable: String,
    /// The process id of the party; `None` if it is untraced.
    pub pid: Option<i32>,
    /// Whether the party was traced.
    pub traced: bool,
}

/// All parties that were named so far.
pub(super) struct PartyIndex<'whole> {
    names: NodeNames<'whole>,
    nodes: Arc<NodeList>,
    /// Whether each thread is a party of its own.
    by_thread: bool,
    /// The index of each party in `all`.
    places: FxHashMap<(NodeId, Option<i32>), usize>,
    pub(super) all: Vec<Party>,
}

impl<'whole> PartyIndex<'whole> {
    pub(super) fn new(
        outline: &'whole MessageTrace,
        options: &'whole Options,
    ) -> PartyIndex<'whole> {
        PartyIndex {
            names: NodeNames::new(outline, options),
            nodes: Arc::new(apply_aliases(outline, &options.aliases)),
            by_thread: options.grain == NodeGrain::Thread,
            places: FxHashMap::default(),
            all: Vec::new(),
        }
    }

    /// Returns the index of a thread of a node among all parties.
    pub(super) fn party_index(&mut self, node: NodeId, tid: Option<i32>) -> usize {
        let tid = tid.filter(|_| self.by_thread);
        *self.places.entry((node, tid)).or_insert_with(|| {
            let name = self.names.name(node, tid).to_owned();
            let party = self.nodes.get(node).map_or_else(Party::default, |node| Party {
                name: String::new(),
                host: node.host.clone(),
                command: node.command.clone(),
                executable: node.executable.clone(),
                pid: node.pid,
                traced: node.traced,
            });
            self.all.push(Party { name, ..party });
            self.all.len() - 1
        })
    }
}
