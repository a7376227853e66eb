//! The outline of a trace: which node sent messages to which over which endpoints, with each pair
//! of endpoints once, however many messages it has. Servers, fixed ports and the hosts of addresses
//! are learned from all of a trace. An outline suffices for this, so the trace need not be in
//! memory as a whole.
//!
//! Connections come from ever new ports, which identify nothing; the port that accepts them does.
//! So the connecting ends at one address are one endpoint here. Only the ends of datagrams, which
//! may be a server's, stay separate.

use std::sync::Arc;

use message_trace::{
    Endpoint, EndpointId, FROM_CONNECTING, Message, MessageTrace, NodeId, NodeList,
    TransportProtocol,
};
use rustc_hash::FxHashSet;

use super::transient_ports::PortUses;

/// The outline of a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct TraceOutline {
    /// A trace with the first message of each pair of endpoints, without times.
    trace: MessageTrace,
    /// The transient ports, each with a node that accepts there.
    transient_ports: FxHashSet<(NodeId, EndpointId)>,
}

impl TraceOutline {
    /// Creates the outline with the messages of `trace`. If its programs may have transient ports,
    /// `read_timed` must pass all messages of the trace, in parts and with their times, to the
    /// function that it is given.
    ///
    /// # Errors
    /// If `read_timed` fails.
    pub(crate) fn new<E>(
        trace: MessageTrace,
        read_timed: impl FnOnce(&mut dyn FnMut(&MessageTrace)) -> Result<(), E>,
    ) -> Result<TraceOutline, E> {
        let Some(mut uses) = PortUses::from_outline(&trace) else {
            return Ok(TraceOutline { trace, transient_ports: FxHashSet::default() });
        };
        read_timed(&mut |part| uses.add_messages(part, &trace))?;
        Ok(TraceOutline { trace, transient_ports: uses.into_transient_ports() })
    }

    /// Creates an outline that has all messages of a trace.
    pub(crate) fn from_trace(trace: MessageTrace) -> TraceOutline {
        let timed = trace.clone();
        let Ok(outline) = TraceOutline::new(trace, |add_part| {
            add_part(&timed);
            Ok::<(), std::convert::Infallible>(())
        });
        outline
    }

    /// Returns the messages of the outline.
    pub(crate) fn trace(&self) -> &MessageTrace {
        &self.trace
    }

    /// Returns the transient ports, each with a node that accepts there.
    pub(super) fn transient_ports(&self) -> impl Iterator<Item = (NodeId, EndpointId)> {
        self.transient_ports.iter().copied()
    }
}

/// Builder of the outline of a trace.
pub(crate) struct OutlineBuilder {
    trace: MessageTrace,
    /// The pairs of endpoints in `trace`.
    known: FxHashSet<EndpointPair>,
}

/// Common facts of all messages from one endpoint to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct EndpointPair {
    nodes: [NodeId; 2],
    endpoints: [EndpointId; 2],
    direction: i8,
    protocol: TransportProtocol,
}

impl OutlineBuilder {
    /// Creates an outline of `nodes` without messages.
    pub(crate) fn new(nodes: impl Into<Arc<NodeList>>) -> OutlineBuilder {
        OutlineBuilder { trace: MessageTrace::new(nodes), known: FxHashSet::default() }
    }

    /// Adds the messages of a part of the trace.
    pub(crate) fn add_messages(&mut self, part: &MessageTrace) {
        let mut ends: Vec<[Option<EndpointId>; 2]> = vec![[None; 2]; part.endpoints().len()];
        let mut known_here: FxHashSet<EndpointPair> = FxHashSet::default();
        for message in part.messages() {
            // Most messages equal one of this part, which is found without looking up endpoints by
            // name.
            let here = endpoint_pair(&message, [message.src_endpoint, message.dst_endpoint]);
            if !known_here.insert(here) {
                continue;
            }
            let connecting =
                [message.direction == FROM_CONNECTING, message.direction != FROM_CONNECTING];
            let mut endpoints = [message.src_endpoint, message.dst_endpoint];
            for (end, connects) in endpoints.iter_mut().zip(connecting) {
                let ephemeral = connects && message.protocol.has_connections();
                let id = ends.get_mut(end.index()).map(|known| &mut known[usize::from(ephemeral)]);
                if let (Some(id), Some(endpoint)) = (id, part.endpoint(*end)) {
                    *end = *id.get_or_insert_with(|| match endpoint {
                        Endpoint::Inet(address) if ephemeral => {
                            self.trace.intern(&Endpoint::Inet((address.ip(), 0).into()))
                        }
                        // Unnamed sockets too show only which side they are.
                        Endpoint::Unix(name)
                            if message.protocol.has_connections() && name.starts_with('#') =>
                        {
                            let side = if connects { "#" } else { "#accepting" };
                            self.trace.intern(&Endpoint::Unix(side.to_owned()))
                        }
                        endpoint => self.trace.intern(endpoint),
                    });
                }
            }
            if self.known.insert(endpoint_pair(&message, endpoints)) {
                let [src_endpoint, dst_endpoint] = endpoints;
                self.trace.push(&Message { src_endpoint, dst_endpoint, ..message }, None);
            }
        }
    }

    /// Returns a trace with the first message of each pair of endpoints.
    pub(crate) fn into_trace(self) -> MessageTrace {
        self.trace
    }
}

fn endpoint_pair(message: &Message, endpoints: [EndpointId; 2]) -> EndpointPair {
    let nodes = [message.src, message.dst];
    EndpointPair { nodes, endpoints, direction: message.direction, protocol: message.protocol }
}
