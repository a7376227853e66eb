//! Names of nodes at a grain, and of ports: what people read in a pattern, and what instances must
//! share to be aggregated (WAP5 section 2.5.1).

use message_trace::{Endpoint, MessageTrace, Node, NodeGrain, NodeId};
use out_of_core::ValueInterner;
use rustc_hash::FxHashMap;

use super::by_role::RoleLabeler;
use super::labels::{CLIENT, EPHEMERAL, GrainNode};
use super::node_identity::NodeIdentity;
use super::role_names::is_host;
use super::roles::ServerRoles;

/// Smallest thread id that stands for a goroutine or another context of execution; its number is
/// the excess over it (docs/log-format.md).
const FIRST_GOROUTINE: i32 = 1 << 30;

/// Returns whether a thread id stands for a context of execution, such as a goroutine.
pub(crate) fn is_context(tid: i32) -> bool {
    tid >= FIRST_GOROUTINE
}

/// Returns the name of a process, or of its thread `tid`, at `grain`; with its host if `with_host`
/// is set because the name alone would be ambiguous.
pub(super) fn node_name(
    node: &Node,
    identity: &NodeIdentity,
    tid: Option<i32>,
    grain: NodeGrain,
    with_host: bool,
) -> String {
    if grain == NodeGrain::Host {
        let NodeIdentity { host, name, .. } = identity;
        return if host.is_empty() { name.clone() } else { (*host).to_owned() };
    }
    let command = &identity.name;
    let name = match (grain, node.pid.filter(|_| node.traced), tid) {
        (NodeGrain::Thread, Some(pid), Some(tid)) => {
            format!("{command}[{pid}/{}]", thread_name(tid))
        }
        (NodeGrain::Thread, None, Some(tid)) if node.traced => {
            format!("{command}[{}]", thread_name(tid))
        }
        (NodeGrain::Thread | NodeGrain::Process, Some(pid), _) => format!("{command}[{pid}]"),
        _ => command.clone(),
    };
    // A service is one node on all of its hosts; its processes are not.
    let is_unambiguous = identity.is_unambiguous || (node.service && grain == NodeGrain::Command);
    if with_host && !is_unambiguous { format!("{}/{name}", identity.host) } else { name }
}

/// Returns the name of a thread, or of a goroutine by its number.
fn thread_name(tid: i32) -> String {
    match tid.checked_sub(FIRST_GOROUTINE).filter(|number| *number >= 0) {
        Some(number) => format!("g{number}"),
        None => tid.to_string(),
    }
}

/// Returns whether the traced nodes are on more than one host, by the user's names, so that a name
/// needs its host.
pub(super) fn on_many_hosts(trace: &MessageTrace, identities: &[NodeIdentity]) -> bool {
    let mut hosts = trace
        .nodes
        .0
        .iter()
        .zip(identities)
        .filter(|(node, _)| node.traced)
        .map(|(_, identity)| identity.host);
    hosts.next().is_some_and(|first| hosts.any(|host| host != first))
}

/// Returns the name of a node that is a client only: its program, without process and host, so that
/// the paths of a thousand clients are one pattern. If no program is known, because it was not
/// traced or nodes are hosts, the name is [`CLIENT`]. A name from the user overrides both.
fn client_name(node: &Node, identity: &NodeIdentity, name: String, grain: NodeGrain) -> String {
    let is_alias =
        if grain == NodeGrain::Host { identity.host_alias.is_some() } else { identity.is_alias };
    let is_program = node.traced && !is_host(node) && grain != NodeGrain::Host;
    match (is_alias, is_program) {
        (true, _) => name,
        (false, true) => identity.name.clone(),
        (false, false) => CLIENT.to_owned(),
    }
}

/// Returns the label of a fixed endpoint: the port, or the name of another kind of endpoint. An
/// unnamed unix socket is identified by process and descriptor only, which would give every
/// instance a shape of its own, so it is labelled like ephemeral ports.
pub(super) fn port_label(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Inet(address) => address.port().to_string(),
        Endpoint::Unix(name) if name.is_empty() || name.starts_with('#') => EPHEMERAL.to_owned(),
        Endpoint::Unix(_) | Endpoint::Other(_) => endpoint.to_string(),
    }
}

/// The nodes at a grain, numbered in the order of their first use.
pub(super) struct GrainNodes<'trace> {
    trace: &'trace MessageTrace,
    identities: Vec<NodeIdentity<'trace>>,
    grain: NodeGrain,
    with_host: bool,
    /// The number of each process, or thread of a process.
    numbers: FxHashMap<(NodeId, Option<i32>), u32>,
    /// The number of each process as a whole, if already used: most messages need no more.
    without_thread: Vec<Option<u32>>,
    /// The number of each host, separately for its traced and its untraced processes.
    hosts: FxHashMap<(String, bool), u32>,
    pub(super) list: Vec<GrainNode>,
    /// The roles of nodes, if requested.
    pub(super) by_role: Option<RoleLabeler<'trace>>,
}

impl<'trace> GrainNodes<'trace> {
    pub(super) fn new(
        trace: &'trace MessageTrace,
        identities: Vec<NodeIdentity<'trace>>,
        grain: NodeGrain,
        by_role: Option<RoleLabeler<'trace>>,
    ) -> GrainNodes<'trace> {
        let with_host = on_many_hosts(trace, &identities);
        GrainNodes {
            trace,
            identities,
            grain,
            with_host,
            numbers: FxHashMap::default(),
            without_thread: vec![None; trace.nodes.len()],
            hosts: FxHashMap::default(),
            list: Vec::new(),
            by_role,
        }
    }

    /// Returns the number of the node to which thread `tid` of the process `id` belongs at the
    /// grain.
    pub(super) fn intern_node(
        &mut self,
        id: NodeId,
        tid: Option<i32>,
        roles: &ServerRoles,
        texts: &mut ValueInterner<String>,
    ) -> u32 {
        let tid = if self.grain == NodeGrain::Thread { tid } else { None };
        let place = tid.is_none().then_some(id.index());
        if let Some(Some(number)) = place.and_then(|place| self.without_thread.get(place)) {
            return *number;
        }
        let id = self.identities.get(id.index()).map_or(id, |identity| identity.first_same);
        let number = match self.numbers.get(&(id, tid)) {
            Some(number) => *number,
            None => {
                let number = self.add_node(id, tid, roles, texts);
                self.numbers.insert((id, tid), number);
                number
            }
        };
        if let Some(slot) = place.and_then(|place| self.without_thread.get_mut(place)) {
            *slot = Some(number);
        }
        number
    }

    fn add_node(
        &mut self,
        id: NodeId,
        tid: Option<i32>,
        roles: &ServerRoles,
        texts: &mut ValueInterner<String>,
    ) -> u32 {
        let number = self.list.len() as u32;
        let client = roles.is_client(id);
        let (Some(node), Some(identity)) =
            (self.trace.nodes.get(id), self.identities.get(id.index()))
        else {
            let name = texts.intern(CLIENT.to_owned());
            self.list.push(GrainNode { name, traced: false, client });
            self.by_role.iter_mut().for_each(|by_role| by_role.add_node(name, CLIENT, None));
            return number;
        };
        if self.grain == NodeGrain::Host {
            // Untraced processes of a host have no times, so they are a node of their own.
            let NodeIdentity { host, name, .. } = identity;
            let host = if host.is_empty() { name.as_str() } else { *host };
            let first = *self.hosts.entry((host.to_owned(), node.traced)).or_insert(number);
            if first != number {
                return first;
            }
        }
        let name = node_name(node, identity, tid, self.grain, self.with_host);
        let name = if client { client_name(node, identity, name, self.grain) } else { name };
        let text = texts.intern(name.clone());
        self.list.push(GrainNode { name: text, traced: node.traced, client });
        self.by_role
            .iter_mut()
            .for_each(|by_role| by_role.add_node(text, &name, Some((node, identity))));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naming::{Aliases, node_identity};

    /// Returns the name of `node`, the only one in a trace.
    fn named(node: &Node, tid: Option<i32>, grain: NodeGrain, with_host: bool) -> String {
        let trace = MessageTrace::new(message_trace::NodeList(vec![node.clone()]));
        node_name(
            node,
            &node_identity::identify_nodes(&trace, &Aliases::default())[0],
            tid,
            grain,
            with_host,
        )
    }

    #[test]
    fn the_name_of_a_node_at_each_grain() {
        let node = Node {
            host: "web1".into(),
            pid: Some(7),
            command: "nginx".into(),
            traced: true,
            ..Node::default()
        };
        let name = |grain, with_host| named(&node, Some(9), grain, with_host);
        assert_eq!(name(NodeGrain::Host, true), "web1");
        assert_eq!(name(NodeGrain::Process, false), "nginx[7]");
        assert_eq!(name(NodeGrain::Command, false), "nginx");
        assert_eq!(name(NodeGrain::Thread, false), "nginx[7/9]");
        assert_eq!(name(NodeGrain::Command, true), "web1/nginx");
        assert_eq!(name(NodeGrain::Thread, true), "web1/nginx[7/9]");
        let goroutine = named(&node, Some(FIRST_GOROUTINE + 17), NodeGrain::Thread, false);
        assert_eq!(goroutine, "nginx[7/g17]");
    }

    #[test]
    fn a_service_is_one_node_on_all_its_hosts() {
        let node = Node {
            host: "pod-1".into(),
            pid: Some(7),
            command: "cart".into(),
            traced: true,
            service: true,
            ..Node::default()
        };
        let name = |grain| named(&node, None, grain, true);
        assert_eq!(
            [name(NodeGrain::Command), name(NodeGrain::Process), name(NodeGrain::Host)],
            ["cart", "pod-1/cart[7]", "pod-1"]
        );
    }

    #[test]
    fn a_node_without_a_process_is_named_without_one() {
        let node =
            Node { host: "web".into(), command: "web".into(), traced: true, ..Node::default() };
        assert_eq!(named(&node, Some(9), NodeGrain::Command, true), "web");
        assert_eq!(named(&node, Some(9), NodeGrain::Process, true), "web");
        assert_eq!(named(&node, Some(9), NodeGrain::Thread, true), "web[9]");
        let node = Node { host: "h".into(), ..node };
        assert_eq!(named(&node, None, NodeGrain::Command, true), "h/web");
    }

    #[test]
    fn an_untraced_node_is_named_by_its_known_endpoint() {
        let node =
            Node { host: "10.0.0.1".into(), command: "10.0.0.1:53".into(), ..Node::default() };
        assert_eq!(named(&node, None, NodeGrain::Command, true), "10.0.0.1:53");
        assert_eq!(named(&node, None, NodeGrain::Host, true), "10.0.0.1");
        let node =
            Node { host: "h".into(), pid: Some(7), command: "pid 7".into(), ..Node::default() };
        assert_eq!(named(&node, None, NodeGrain::Process, true), "pid 7");
    }

    #[test]
    fn the_label_of_a_fixed_endpoint() {
        for (text, label) in [
            ("10.0.0.1:53", "53"),
            ("[::1]:8080", "8080"),
            ("unix:/run/x.sock", "unix:/run/x.sock"),
            ("unix:#12/7", "*"),
            ("front end", "front end"),
        ] {
            let Ok(endpoint) = text.parse::<Endpoint>();
            assert_eq!(port_label(&endpoint), label);
        }
    }
}
