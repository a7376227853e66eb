//! Who a message went between, at the chosen grain, and by which labels it is aggregated. Two
//! things that WAP5 section 2.5 keeps apart are kept apart here: the *node* at which a cause is
//! sought, which is never coarser than a process unless the user asks for hosts, and its *name*,
//! which many nodes may share.

mod by_role;
mod known;
mod names;
mod node_names;
mod outline;
mod passing_ports;
mod role_names;
mod roles;

use std::ops::Range;

use message_trace::{EndpointId, Ends, MessageTrace, NodeId, Protocol};

use crate::options::Options;
pub use crate::options::{AliasError, Aliases};
pub(crate) use by_role::ByRole;
use by_role::RoleNamer;
pub use known::called;
use names::Interner;
pub use names::{CLIENT, EPHEMERAL};
pub use node_names::NodeNames;
pub(crate) use outline::Outline;
pub use roles::Roles;

/// The nodes and labels of a trace's messages.
#[derive(Debug, Default)]
pub struct Naming {
    src: Vec<u32>,
    dst: Vec<u32>,
    hop: Vec<u32>,
    nodes: Vec<GrainNode>,
    hops: Vec<HopName>,
    texts: Vec<String>,
    by_role: Option<ByRole>,
}

/// A node at the chosen grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrainNode {
    /// Its name, as an index of the texts.
    pub name: u32,
    /// Whether its side of the communication was captured.
    pub traced: bool,
    /// Whether it uses ephemeral ports only (WAP5 section 2.5.1).
    pub client: bool,
}

/// The labels of a message: two messages with the same ones are the same hop of a path pattern.
/// Each text is an index for [`Naming::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HopName {
    /// The sender's name.
    pub src: u32,
    /// The receiver's name.
    pub dst: u32,
    /// The sender's port.
    pub src_port: u32,
    /// The receiver's port.
    pub dst_port: u32,
    /// What the message went over.
    pub protocol: Protocol,
}

impl Naming {
    /// Names the nodes and hops of `trace`.
    pub fn new(trace: &MessageTrace, options: &Options) -> Naming {
        Namer::of(trace, options).name(trace)
    }

    /// Appends those rows of `later`, which names a later stretch of the same trace, and takes over
    /// what it knows more of.
    pub(crate) fn append_rows(&mut self, later: Naming, rows: Range<usize>) {
        self.src.extend_from_slice(&later.src[rows.clone()]);
        self.dst.extend_from_slice(&later.dst[rows.clone()]);
        self.hop.extend_from_slice(&later.hop[rows]);
        (self.nodes, self.hops, self.texts) = (later.nodes, later.hops, later.texts);
        self.by_role = later.by_role;
    }

    /// Takes the first rows away.
    pub(crate) fn remove_first(&mut self, rows: usize) {
        for column in [&mut self.src, &mut self.dst, &mut self.hop] {
            column.drain(..rows);
        }
    }

    /// The node that sent the message.
    #[inline]
    pub fn src(&self, message: usize) -> u32 {
        self.src[message]
    }

    /// The node that received the message.
    #[inline]
    pub fn dst(&self, message: usize) -> u32 {
        self.dst[message]
    }

    /// The nodes; [`Naming::src`] and [`Naming::dst`] are indices.
    pub fn nodes(&self) -> &[GrainNode] {
        &self.nodes
    }

    /// The labels of the message, as an index for [`Naming::hop_name`].
    #[inline]
    pub fn hop(&self, message: usize) -> u32 {
        self.hop[message]
    }

    /// The labels of that number.
    pub fn hop_name(&self, hop: u32) -> HopName {
        self.hops[hop as usize]
    }

    /// How many different labels there are.
    pub fn hops(&self) -> usize {
        self.hops.len()
    }

    /// The labels of hops by roles, if they are asked for.
    pub(crate) fn by_role(&self) -> Option<&ByRole> {
        self.by_role.as_ref()
    }

    /// A name or a port's label.
    pub fn text(&self, text: u32) -> &str {
        &self.texts[text as usize]
    }
}

/// What names the messages of a trace stretch by stretch: a node, a hop and a text have the same
/// number in all of them.
pub(crate) struct Namer<'trace> {
    outline: &'trace MessageTrace,
    roles: Roles,
    nodes: names::GrainNodes<'trace>,
    hops: Interner<HopName>,
    texts: Interner<String>,
}

impl<'trace> Namer<'trace> {
    /// What names the trace of which `outline` has all nodes, and all ways between endpoints
    /// ([`Outline`]).
    pub(crate) fn of(outline: &'trace MessageTrace, options: &'trace Options) -> Namer<'trace> {
        let known = known::nodes(outline, &options.aliases);
        let roles = Roles::of(outline, &known, options.grain, options.fixed_port_peers);
        let by_role = options.roles.then(|| RoleNamer::of(outline, &known, options));
        let nodes = names::GrainNodes::new(outline, known, options.grain, by_role);
        Namer { outline, roles, nodes, hops: Interner::default(), texts: Interner::default() }
    }

    /// Names the nodes and hops of a stretch of the trace.
    pub(crate) fn name(&mut self, stretch: &MessageTrace) -> Naming {
        let Namer { outline, roles, nodes, hops, texts } = self;
        let labels = PortLabels::new(stretch, texts);
        // What the outline does not have is not fixed.
        let known: Vec<Option<EndpointId>> =
            stretch.endpoints().iter().map(|endpoint| outline.endpoint_id(endpoint)).collect();
        let is_fixed = |node: NodeId, endpoint: EndpointId| {
            let known = known.get(endpoint as usize).copied().flatten();
            known.is_some_and(|known| roles.is_fixed(node, known))
        };
        // Hardly any endpoint is used by two nodes.
        let mut last: Vec<Option<(NodeId, bool)>> = vec![None; stretch.endpoints().len()];
        let mut is_fixed =
            |node: NodeId, endpoint: EndpointId| match last.get_mut(endpoint as usize) {
                Some(Some((of, fixed))) if *of == node => *fixed,
                Some(last) => last.insert((node, is_fixed(node, endpoint))).1,
                None => false,
            };
        let (mut src, mut dst, mut hop) = (Vec::new(), Vec::new(), Vec::new());
        for column in [&mut src, &mut dst, &mut hop] {
            column.reserve_exact(stretch.len());
        }
        for message in 0..stretch.len() {
            let Ends { src: sender, dst: receiver, protocol } = stretch.ends(message);
            let from = nodes.node(sender.node, sender.tid, roles, texts);
            let to = nodes.node(receiver.node, receiver.tid, roles, texts);
            src.push(from);
            dst.push(to);
            hop.push(hops.intern(HopName {
                src: nodes.list[from as usize].name,
                dst: nodes.list[to as usize].name,
                src_port: labels.label(sender.endpoint, is_fixed(sender.node, sender.endpoint)),
                dst_port:
                    labels.label(receiver.endpoint, is_fixed(receiver.node, receiver.endpoint)),
                protocol,
            }));
        }
        let by_role = nodes.by_role.as_mut().map(|by_role| by_role.label(&hops.values, texts));
        let (nodes, hops, texts) = (nodes.list.clone(), hops.values.clone(), texts.values.clone());
        Naming { src, dst, hop, nodes, hops, texts, by_role }
    }
}

/// The label of every endpoint, as a fixed and as an ephemeral one.
struct PortLabels {
    fixed: Vec<u32>,
    ephemeral: u32,
}

impl PortLabels {
    fn new(trace: &MessageTrace, texts: &mut Interner<String>) -> PortLabels {
        let ephemeral = texts.intern(EPHEMERAL.to_owned());
        let fixed =
            trace.endpoints().iter().map(|endpoint| texts.intern(names::port(endpoint))).collect();
        PortLabels { fixed, ephemeral }
    }

    fn label(&self, endpoint: EndpointId, fixed: bool) -> u32 {
        if fixed {
            self.fixed.get(endpoint as usize).copied().unwrap_or(self.ephemeral)
        } else {
            self.ephemeral
        }
    }
}
