//! Naming of the messages of a trace, batch by batch.

use message_trace::{EndPair, Endpoint, EndpointId, MessageTrace, NodeId};
use out_of_core::ValueInterner;

use super::Naming;
use super::by_role::RoleLabeler;
use super::labels::{EPHEMERAL, HopName};
use super::names;
use super::node_identity;
use super::outline::TraceOutline;
use super::roles::ServerRoles;
use super::stable_path::StablePaths;
use crate::options::Options;

impl Naming {
    /// Names the nodes and hops of `trace`.
    pub fn new(trace: &MessageTrace, options: &Options) -> Naming {
        Namer::new(&TraceOutline::from_trace(trace.clone()), options).name_batch(trace)
    }
}

/// A namer of the messages of a trace, batch by batch: a node, a hop and a text have the same
/// number in all batches.
pub(crate) struct Namer<'trace> {
    outline: &'trace MessageTrace,
    stable: StablePaths,
    roles: ServerRoles,
    nodes: names::GrainNodes<'trace>,
    hops: ValueInterner<HopName>,
    texts: ValueInterner<String>,
}

impl<'trace> Namer<'trace> {
    /// Creates a namer for the trace with this `outline`, which has all nodes, and all pairs of
    /// endpoints ([`Outline`](super::OutlineBuilder)).
    pub(crate) fn new(outline: &'trace TraceOutline, options: &'trace Options) -> Namer<'trace> {
        let trace = outline.trace();
        let stable = StablePaths::from_trace(trace);
        let mut identities = node_identity::identify_nodes(trace, &options.aliases);
        stable.rename_nodes(&mut identities, trace);
        let roles =
            ServerRoles::from_trace(outline, &identities, options.grain, options.fixed_port_peers);
        let by_role = options.roles.then(|| RoleLabeler::new(outline, &identities, options));
        let nodes = names::GrainNodes::new(trace, identities, options.grain, by_role);
        Namer {
            outline: trace,
            stable,
            roles,
            nodes,
            hops: ValueInterner::default(),
            texts: ValueInterner::default(),
        }
    }

    /// Names the nodes and hops of a batch of the trace.
    pub(crate) fn name_batch(&mut self, batch: &MessageTrace) -> Naming {
        let Namer { outline, stable, roles, nodes, hops, texts } = self;
        let labels = PortLabels::new(batch, stable, texts);
        // An endpoint that is missing in the outline is not fixed.
        let known: Vec<Option<EndpointId>> =
            batch.endpoints().iter().map(|endpoint| outline.endpoint_id(endpoint)).collect();
        let is_fixed = |node: NodeId, endpoint: EndpointId| {
            let known = known.get(endpoint.index()).copied().flatten();
            known.is_some_and(|known| roles.is_fixed(node, known))
        };
        // Cached per endpoint, since hardly any is used by two nodes.
        let mut last: Vec<Option<(NodeId, bool)>> = vec![None; batch.endpoints().len()];
        let mut is_fixed = |node: NodeId, endpoint: EndpointId| match last.get_mut(endpoint.index())
        {
            Some(Some((of, fixed))) if *of == node => *fixed,
            Some(last) => last.insert((node, is_fixed(node, endpoint))).1,
            None => false,
        };
        let (mut src, mut dst, mut hop) = (Vec::new(), Vec::new(), Vec::new());
        for column in [&mut src, &mut dst, &mut hop] {
            column.reserve_exact(batch.len());
        }
        for message in batch.ids() {
            let EndPair { src: sender, dst: receiver, protocol } = batch.message_ends(message);
            let from = nodes.intern_node(sender.node, sender.tid, roles, texts);
            let to = nodes.intern_node(receiver.node, receiver.tid, roles, texts);
            src.push(from);
            dst.push(to);
            hop.push(
                hops.intern(HopName {
                    src: nodes.list[from as usize].name,
                    dst: nodes.list[to as usize].name,
                    src_port: labels
                        .port_label(sender.endpoint, is_fixed(sender.node, sender.endpoint)),
                    dst_port: labels
                        .port_label(receiver.endpoint, is_fixed(receiver.node, receiver.endpoint)),
                    protocol,
                }),
            );
        }
        let by_role =
            nodes.by_role.as_mut().map(|by_role| by_role.label_hops(hops.values(), texts));
        let (nodes, hops, texts) =
            (nodes.list.clone(), hops.values().to_vec(), texts.values().to_vec());
        Naming { src, dst, hop, nodes, hops, texts, by_role }
    }
}

/// The label of every endpoint, as a fixed and as an ephemeral one.
struct PortLabels {
    fixed: Vec<u32>,
    ephemeral: u32,
}

impl PortLabels {
    fn new(
        trace: &MessageTrace,
        stable: &StablePaths,
        texts: &mut ValueInterner<String>,
    ) -> PortLabels {
        let ephemeral = texts.intern(EPHEMERAL.to_owned());
        let label = |endpoint: &Endpoint| match stable.stable_endpoint(endpoint) {
            Some(stable) => names::port_label(&stable),
            None => names::port_label(endpoint),
        };
        let fixed =
            trace.endpoints().iter().map(|endpoint| texts.intern(label(endpoint))).collect();
        PortLabels { fixed, ephemeral }
    }

    fn port_label(&self, endpoint: EndpointId, fixed: bool) -> u32 {
        if fixed {
            self.fixed.get(endpoint.index()).copied().unwrap_or(self.ephemeral)
        } else {
            self.ephemeral
        }
    }
}
