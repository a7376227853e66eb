//! Nodes: processes that do the work. The trace keeps them as processes, the finest grain that
//! needs no more than the process table; the analysis treats them as hosts, processes, commands on
//! a host, or threads, as the user chooses.

use std::fmt;
use std::str::FromStr;

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Number of a node, from 0: its row in the node table of its trace. Ids of different traces are
/// unrelated.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
)]
#[repr(transparent)]
pub struct NodeId(u32);

impl NodeId {
    /// Creates the id of the node at this index; an index has at most 31 bits, as tables store
    /// signed numbers.
    #[inline]
    pub const fn from_index(index: usize) -> NodeId {
        NodeId(index as u32)
    }

    /// Returns the index of the node.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A process that took part in the traced communication, or a peer of one that was not traced.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Node {
    /// The host's name; for an untraced node its address (without a port), if known.
    pub host: String,
    /// The process; `None` for an untraced node.
    pub pid: Option<i32>,
    /// The process that started this one, if known.
    pub parent_pid: Option<i32>,
    /// When the process was first seen, in nanoseconds since the Unix epoch on its host's clock.
    pub start: Option<i64>,
    /// A short name of the program for people: `nginx`, `app.py`; for an untraced node its endpoint
    /// or address.
    pub command: String,
    /// The path of the executable; empty if unknown.
    pub executable: String,
    /// Whether the node's side of the communication was captured.
    pub traced: bool,
    /// The service, container or pod that the process is part of, from its control group: `nginx`,
    /// `pod-8a7b6c5d-000`; empty if unknown or not named.
    pub unit: String,
    /// Whether `command` is the name of a service, as tracers give one, which is the same on all
    /// hosts: the name is unambiguous without the host.
    pub service: bool,
    /// The runtime of the process that switches threads between tasks which were not followed, such
    /// as `Python 3.15`; empty if there is none, or none is known.
    pub unfollowed: String,
}

/// The node table: a node's id is its row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeList(pub Vec<Node>);

impl NodeList {
    /// Returns the node with this id.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.0.get(id.index())
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a node and returns its id.
    pub fn push(&mut self, node: Node) -> NodeId {
        self.0.push(node);
        NodeId::from_index(self.0.len() - 1)
    }

    /// Returns whether the traced nodes are on more than one host, so that names need the host to
    /// be unambiguous.
    pub fn on_many_hosts(&self) -> bool {
        let mut hosts = self.0.iter().filter(|node| node.traced).map(|node| &node.host);
        hosts.next().is_some_and(|first| hosts.any(|host| host != first))
    }
}

/// Grain in which nodes are distinguished (WAP5 section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum NodeGrain {
    /// All processes of a host are one node.
    Host,
    /// Every process is a node.
    Process,
    /// All processes of one command on one host have one name. Causes are still sought within each
    /// process, since a message to one worker does not cause what another worker sends.
    #[default]
    Command,
    /// Every thread is a node.
    Thread,
}

impl NodeGrain {
    /// All grains, in the order in which they are offered.
    pub const ALL: [NodeGrain; 4] =
        [NodeGrain::Host, NodeGrain::Process, NodeGrain::Command, NodeGrain::Thread];
}

impl fmt::Display for NodeGrain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NodeGrain::Host => "host",
            NodeGrain::Process => "process",
            NodeGrain::Command => "command",
            NodeGrain::Thread => "thread",
        })
    }
}

impl FromStr for NodeGrain {
    type Err = String;

    fn from_str(text: &str) -> Result<NodeGrain, String> {
        NodeGrain::ALL.into_iter().find(|grain| grain.to_string() == text).ok_or_else(|| {
            format!("'{text}' is not a grain; choose host, process, command or thread")
        })
    }
}
