//! Fixed ports and clients, so that the same work begun by thousands of clients from thousands of
//! ephemeral ports is one pattern (WAP5 section 2.5.1).
//!
//! The paper has addresses only, so it calls a port fixed that is seen with many others. A capture
//! also records which side of a flow accepted it, which decides for connections, however few they
//! are. Counting remains for datagrams: over a long trace a busy proxy reuses its ephemeral ports
//! for ever other servers, so that a count over connections would in the end make them all fixed.

use message_trace::{Endpoint, EndpointId, FROM_CONNECTING, MessageTrace, NodeGrain, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::host_endpoint::{HostEndpoint, intern_texts};
use super::node_identity::NodeIdentity;
use super::outline::TraceOutline;

/// The fixed ports and the servers of a trace.
#[derive(Debug)]
pub(super) struct ServerRoles {
    /// By node: the number of its host.
    hosts: Vec<u32>,
    /// The endpoints with fixed ports.
    fixed: FxHashSet<HostEndpoint>,
    /// By node: the number of the host or process that is a server or client as a whole.
    role: Vec<u32>,
    /// By this number: whether the host or process is a server.
    servers: Vec<bool>,
}

impl ServerRoles {
    /// Finds the roles of the nodes of `outline`. A node is a server if it ever uses a fixed port
    /// of its own; with `grain` host a host is a node, and otherwise a process is, since a thread
    /// that only makes calls is not a client within its process.
    pub(super) fn from_trace(
        outline: &TraceOutline,
        identities: &[NodeIdentity],
        grain: NodeGrain,
        fixed_port_peers: usize,
    ) -> ServerRoles {
        let trace = outline.trace();
        // Endpoints are identified by the hosts' own names, regardless of the user's names.
        let hosts = intern_texts(trace.nodes.0.iter().map(|node| node.host.as_str()));
        let role = match grain {
            NodeGrain::Host => intern_texts(identities.iter().map(|identity| identity.host)),
            _ => identities.iter().map(|identity| identity.first_same.index() as u32).collect(),
        };
        let servers = vec![false; trace.nodes.len()];
        let mut roles = ServerRoles { hosts, fixed: FxHashSet::default(), role, servers };
        roles.learn_accepting_ends(trace);
        for (node, endpoint) in outline.transient_ports() {
            roles.fixed.remove(&roles.host_endpoint(node, endpoint));
        }
        roles.count_datagram_peers(trace, fixed_port_peers);
        for message in trace.messages() {
            for (node, endpoint) in
                [(message.src, message.src_endpoint), (message.dst, message.dst_endpoint)]
            {
                if roles.is_fixed(node, endpoint)
                    && let Some(server) =
                        roles.server_index(node).and_then(|node| roles.servers.get_mut(node))
                {
                    *server = true;
                }
            }
        }
        roles
    }

    /// Returns whether the endpoint, used by this node, is a fixed one.
    pub(super) fn is_fixed(&self, node: NodeId, endpoint: EndpointId) -> bool {
        self.fixed.contains(&self.host_endpoint(node, endpoint))
    }

    /// Returns whether the node uses ephemeral ports only.
    pub(super) fn is_client(&self, node: NodeId) -> bool {
        self.server_index(node).is_none_or(|node| !self.servers.get(node).copied().unwrap_or(false))
    }

    fn host_endpoint(&self, node: NodeId, endpoint: EndpointId) -> HostEndpoint {
        (self.host_of_node(node).unwrap_or(u32::MAX), endpoint)
    }

    fn host_of_node(&self, node: NodeId) -> Option<u32> {
        self.hosts.get(node.index()).copied()
    }

    fn server_index(&self, node: NodeId) -> Option<usize> {
        self.role.get(node.index()).map(|role| *role as usize)
    }

    fn learn_accepting_ends(&mut self, trace: &MessageTrace) {
        for message in trace.messages() {
            let accepting = if message.direction == FROM_CONNECTING {
                self.host_endpoint(message.dst, message.dst_endpoint)
            } else {
                self.host_endpoint(message.src, message.src_endpoint)
            };
            self.fixed.insert(accepting);
        }
    }

    fn count_datagram_peers(&mut self, trace: &MessageTrace, many: usize) {
        let mut pairs: FxHashSet<(HostEndpoint, HostEndpoint)> = FxHashSet::default();
        let mut peers: FxHashMap<HostEndpoint, usize> = FxHashMap::default();
        // An endpoint without a known name is not one port, however many peers it has.
        let nameless = trace.endpoint_id(&Endpoint::Other(String::new()));
        for message in trace.messages().filter(|message| !message.protocol.has_connections()) {
            let src = self.host_endpoint(message.src, message.src_endpoint);
            let dst = self.host_endpoint(message.dst, message.dst_endpoint);
            for (own, peer) in [(src, dst), (dst, src)] {
                let is_named = Some(own.1) != nameless;
                if is_named && !self.fixed.contains(&own) && pairs.insert((own, peer)) {
                    let count = peers.entry(own).or_default();
                    *count += 1;
                    if *count >= many {
                        self.fixed.insert(own);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::naming::{Aliases, CLIENT, Naming, node_identity};
    use crate::options::Options;
    use message_trace::Message;

    /// Two clients, each through a proxy of its own and then another, as in WAP5's Figure 3.
    fn figure_3(mut trace: Fixture, clients: [&str; 2]) -> Fixture {
        for (client, first, second) in [(clients[0], "d", "b"), (clients[1], "b", "c")] {
            let port = trace.ephemeral();
            trace.send(client, first, 0, 1).ports(port, 8080);
            let port = trace.ephemeral();
            trace.send(first, second, 2, 3).ports(port, 8080);
            trace.send(second, first, 4, 5).ports(8080, port).accepting();
        }
        trace
    }

    #[test]
    fn nodes_that_never_accept_are_their_program_or_one_client_with_one_port() {
        let hops = |trace: &MessageTrace| -> Vec<[String; 4]> {
            let naming = Naming::new(trace, &Options::default());
            let hop = |message| naming.hop_name(naming.hop(message));
            let texts = |message| {
                let hop = hop(message);
                [hop.src, hop.src_port, hop.dst, hop.dst_port]
                    .map(|text| naming.label_text(text).to_owned())
            };
            trace.ids().map(texts).collect()
        };
        let hop = |src: &str, src_port: &str, dst: &str, dst_port: &str| {
            [src, src_port, dst, dst_port].map(str::to_owned)
        };
        let traced = hops(&figure_3(Fixture::new(), ["y", "x"]).trace());
        for expected in [
            hop("y", "*", "d", "8080"),
            hop("x", "*", "b", "8080"),
            hop("b", "*", "c", "8080"),
            hop("b", "8080", "d", "*"),
        ] {
            assert!(traced.contains(&expected), "{expected:?} in {traced:?}");
        }
        // Two processes of one program are one client, and so are all untraced clients.
        let alike = hops(&figure_3(Fixture::new(), ["wget#1", "wget#2"]).trace());
        let unknown = hops(&figure_3(Fixture::new().untraced(&["x", "y"]), ["y", "x"]).trace());
        for (hops, client) in [(alike, "wget"), (unknown, CLIENT)] {
            for server in ["b", "d"] {
                assert!(hops.contains(&hop(client, "*", server, "8080")), "{hops:?}");
            }
        }
    }

    /// `queries` ports of a resolver, each with a response from port 53, all on the same side.
    fn queries(queries: usize) -> MessageTrace {
        let mut trace = Fixture::new();
        for number in 0..queries {
            let port = trace.ephemeral();
            // The sender of the first message seen is taken for the connecting side: here the
            // response, because the query was lost.
            trace
                .send("dns", "app", number as i64 * 10, number as i64 * 10 + 1)
                .ports(53, port)
                .udp();
        }
        trace.trace()
    }

    #[test]
    fn a_datagram_port_seen_with_many_others_is_fixed() {
        let dns = |trace: &MessageTrace, many| {
            let message = trace.messages().next().unwrap();
            let aliases = Aliases::default();
            let roles = ServerRoles::from_trace(
                &TraceOutline::from_trace(trace.clone()),
                &node_identity::identify_nodes(trace, &aliases),
                NodeGrain::Command,
                many,
            );
            (roles.is_fixed(message.src, message.src_endpoint), roles.is_client(message.src))
        };
        assert_eq!(dns(&queries(15), 16), (false, true));
        assert_eq!(dns(&queries(16), 16), (true, false));
        assert_eq!(dns(&queries(3), 3), (true, false));
    }

    #[test]
    fn a_node_that_sends_from_unknown_ports_to_many_others_is_a_client() {
        let mut trace = queries(1);
        let nameless = trace.intern(&Endpoint::Other(String::new()));
        let message = Message { src_endpoint: nameless, ..trace.messages().next().unwrap() };
        for port in 0..20 {
            let dst_endpoint = trace.intern(&Endpoint::Other(format!("operation {port}")));
            trace.push(&Message { dst_endpoint, ..message }, None);
        }
        let aliases = Aliases::default();
        let roles = ServerRoles::from_trace(
            &TraceOutline::from_trace(trace.clone()),
            &node_identity::identify_nodes(&trace, &aliases),
            NodeGrain::Command,
            16,
        );
        assert!(!roles.is_fixed(message.src, nameless) && roles.is_client(message.src));
    }

    #[test]
    fn a_connecting_port_that_is_reused_for_many_servers_stays_ephemeral() {
        let mut trace = Fixture::new();
        for number in 0..40 {
            trace.send("proxy", &format!("server{number}"), number, number + 1).ports(40_000, 80);
        }
        let trace = trace.trace();
        let aliases = Aliases::default();
        let roles = ServerRoles::from_trace(
            &TraceOutline::from_trace(trace.clone()),
            &node_identity::identify_nodes(&trace, &aliases),
            NodeGrain::Command,
            16,
        );
        assert!(!roles.is_fixed(
            trace.messages().next().unwrap().src,
            trace.messages().next().unwrap().src_endpoint
        ));
        assert!(roles.is_client(trace.messages().next().unwrap().src));
    }
}
