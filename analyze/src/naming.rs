//! Names: the sender and receiver of each message at the chosen grain, and the labels by which
//! messages are aggregated. Two concepts that WAP5 section 2.5 distinguishes are distinguished
//! here. A *node* is where a cause is sought, and is never coarser than a process unless the user
//! asks for hosts. Many nodes may share a *name*.

mod by_role;
mod host_endpoint;
mod labels;
mod namer;
mod names;
mod node_facts;
mod node_identity;
mod node_names;
mod outline;
mod role_names;
mod roles;
mod stable_path;
mod transient_ports;

use std::ops::Range;

use message_trace::MessageId;

pub use crate::options::{AliasError, Aliases};
pub(crate) use by_role::RoleLabels;
pub use labels::CLIENT;
pub(crate) use labels::{GrainNode, HopName};
pub(crate) use namer::Namer;
pub(crate) use names::is_context;
pub use node_facts::NodeFacts;
pub(crate) use node_facts::collect_node_facts as facts_of_all;
pub use node_identity::apply_aliases;
pub use node_names::NodeNames;
pub(crate) use outline::{OutlineBuilder, TraceOutline};

/// The nodes and labels of a trace's messages.
#[derive(Debug, Default)]
pub struct Naming {
    /// By message: the sending node, an index into `nodes`.
    src: Vec<u32>,
    /// By message: the receiving node, an index into `nodes`.
    dst: Vec<u32>,
    /// By message: its labels, an index into `hops`.
    hop: Vec<u32>,
    nodes: Vec<GrainNode>,
    hops: Vec<HopName>,
    texts: Vec<String>,
    by_role: Option<RoleLabels>,
}

impl Naming {
    /// Appends these rows of `later`, the naming of a later batch of the same trace, and adopts its
    /// longer lists of nodes and labels.
    pub(crate) fn append_rows(&mut self, later: Naming, rows: Range<usize>) {
        self.src.extend_from_slice(&later.src[rows.clone()]);
        self.dst.extend_from_slice(&later.dst[rows.clone()]);
        self.hop.extend_from_slice(&later.hop[rows]);
        (self.nodes, self.hops, self.texts) = (later.nodes, later.hops, later.texts);
        self.by_role = later.by_role;
    }

    /// Removes the first rows.
    pub(crate) fn remove_first(&mut self, rows: usize) {
        for column in [&mut self.src, &mut self.dst, &mut self.hop] {
            column.drain(..rows);
        }
    }

    /// Returns the node that sent the message.
    #[inline]
    pub(crate) fn src(&self, message: MessageId) -> u32 {
        self.src[message.index()]
    }

    /// Returns the node that received the message.
    #[inline]
    pub(crate) fn dst(&self, message: MessageId) -> u32 {
        self.dst[message.index()]
    }

    /// Returns the nodes; [`Naming::src`] and [`Naming::dst`] are indices.
    pub(crate) fn nodes(&self) -> &[GrainNode] {
        &self.nodes
    }

    /// Returns the labels of the message, as an index for [`Naming::hop_name`].
    #[inline]
    pub(crate) fn hop(&self, message: MessageId) -> u32 {
        self.hop[message.index()]
    }

    /// Returns the labels with this number.
    pub(crate) fn hop_name(&self, hop: u32) -> HopName {
        self.hops[hop as usize]
    }

    /// Returns the number of different labels.
    pub(crate) fn hop_count(&self) -> usize {
        self.hops.len()
    }

    /// Returns the labels of hops by the roles of their nodes; `None` unless the user asked for
    /// roles.
    pub(crate) fn role_labels(&self) -> Option<&RoleLabels> {
        self.by_role.as_ref()
    }

    /// Returns the name of a node or the label of a port by its number, as [`GrainNode`] and
    /// [`HopName`] have it.
    pub(crate) fn label_text(&self, text: u32) -> &str {
        &self.texts[text as usize]
    }
}
