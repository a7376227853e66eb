//! The labels of hops by the roles of their nodes, in addition to those by names: instances on
//! different servers that do the same have the same labels. The role of a node follows from its
//! name, and the role label of a hop from its labels: so a table of all hops suffices, whatever the
//! number of messages.

use message_trace::Node;
use out_of_core::ValueInterner;
use rustc_hash::FxHashMap;

use super::labels::{EPHEMERAL, HopName};
use super::node_identity::NodeIdentity;
use super::outline::TraceOutline;
use super::role_names::{RoleFinder, RoleName};
use crate::options::Options;

/// The labels of a trace's hops by roles.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoleLabels {
    /// By hop: its labels by roles, an index into `hops`.
    of_hop: Vec<u32>,
    hops: Vec<HopName>,
    roles: Vec<RoleName>,
    /// By role: the number of different names of its nodes.
    name_counts: Vec<u32>,
}

impl RoleLabels {
    /// Returns the role labels of this hop, as an index for [`RoleLabels::hop_name`].
    #[inline]
    pub(crate) fn hop(&self, hop: u32) -> u32 {
        self.of_hop[hop as usize]
    }

    /// Returns the labels with this number. Sender and receiver are indices for
    /// [`RoleLabels::role`], the ports for `Naming::label_text`.
    pub(crate) fn hop_name(&self, hop: u32) -> HopName {
        self.hops[hop as usize]
    }

    /// Returns the number of different labels.
    pub(crate) fn hop_count(&self) -> usize {
        self.hops.len()
    }

    /// Returns the role with this number.
    pub(crate) fn role(&self, role: u32) -> &RoleName {
        &self.roles[role as usize]
    }

    /// Returns the number of different names of the nodes with this role.
    pub(crate) fn name_count(&self, role: u32) -> u32 {
        self.name_counts[role as usize]
    }
}

/// A namer of nodes and hops by their roles, batch by batch.
pub(super) struct RoleLabeler<'trace> {
    finder: RoleFinder<'trace>,
    /// The role of each node name, by the number of its text.
    of_name: FxHashMap<u32, u32>,
    roles: ValueInterner<RoleName>,
    hops: ValueInterner<HopName>,
    /// Role labels by hop, as in [`RoleLabels`].
    of_hop: Vec<u32>,
    name_counts: Vec<u32>,
}

impl<'trace> RoleLabeler<'trace> {
    /// Creates a namer for the nodes of `outline`; `identities`
    /// are those of its nodes.
    pub(super) fn new(
        outline: &'trace TraceOutline,
        identities: &[NodeIdentity<'trace>],
        options: &'trace Options,
    ) -> RoleLabeler<'trace> {
        RoleLabeler {
            finder: RoleFinder::from_trace(outline, identities, options),
            of_name: FxHashMap::default(),
            roles: ValueInterner::default(),
            hops: ValueInterner::default(),
            of_hop: Vec::new(),
            name_counts: Vec::new(),
        }
    }

    /// Adds a node; `text` is the number of its `name`, and `node` is `None` if nothing else is
    /// known of it. Several nodes with one name have the role of the first.
    pub(super) fn add_node(&mut self, text: u32, name: &str, node: Option<(&Node, &NodeIdentity)>) {
        if self.of_name.contains_key(&text) {
            return;
        }
        let role = node.map_or_else(RoleName::for_clients, |(node, identity)| {
            self.finder.role_of_node(node, identity, name)
        });
        let role = self.roles.intern(role);
        self.name_counts.resize(self.roles.values().len(), 0);
        self.name_counts[role as usize] += 1;
        self.of_name.insert(text, role);
    }

    /// Returns the labels of all `hops`, which begin with those of the previous call.
    pub(super) fn label_hops(
        &mut self,
        hops: &[HopName],
        texts: &mut ValueInterner<String>,
    ) -> RoleLabels {
        let ephemeral = texts.intern(EPHEMERAL.to_owned());
        for hop in &hops[self.of_hop.len()..] {
            let [src, dst] =
                [hop.src, hop.dst].map(|name| self.of_name.get(&name).copied().unwrap_or_default());
            let port = |role: u32, port| {
                let role = self.roles.values().get(role as usize);
                if role.is_none_or(|role| self.finder.ports_matter(role)) {
                    port
                } else {
                    ephemeral
                }
            };
            let (src_port, dst_port) = (port(src, hop.src_port), port(dst, hop.dst_port));
            self.of_hop.push(self.hops.intern(HopName { src, dst, src_port, dst_port, ..*hop }));
        }
        RoleLabels {
            of_hop: self.of_hop.clone(),
            hops: self.hops.values().to_vec(),
            roles: self.roles.values().to_vec(),
            name_counts: self.name_counts.clone(),
        }
    }
}
