//! Entities to which the messages' slots refer: flows get their numbers, ends their endpoints, and
//! untraced peers their nodes. This happens flow by flow, in the order of their numbers, so that
//! equal input gives equal numbers.

use std::fmt;

use message_trace::{Endpoint, EndpointId, FlowId, Node, NodeId, PathError, TransportProtocol};
use out_of_core::{Interner, Locality, SpillableVec};
use rustc_hash::FxHashMap;

use crate::connections::connection::Connection;
use crate::connections::connection_setup::ConnectionSetup;
use crate::datagrams::datagram_end::DatagramEnd;
use crate::datagrams::flows::{AllFlows, DatagramFlow};
use crate::indices::{HostIndex, MachineIndex, OptionalIndex, ProcessIndex, SocketIndex};
use crate::logs::capture::Capture;
use crate::logs::lookups::LookupIndex;
use crate::rows::row::{MessageRow, MessageSlot, SlotEnd};
use crate::socket_names::SocketNameId;
use crate::sockets::addresses::MachineAddresses;
use crate::sockets::socket::KernelSocket;

/// The first number of an endpoint that is not the name of a socket.
const FIRST_UNNAMED_ENDPOINT: usize = 1 << 31;

/// Flows, nodes and endpoints while they get their numbers.
pub(crate) struct EntityTables<'a> {
    capture: &'a Capture,
    sockets: &'a SpillableVec<KernelSocket>,
    /// Untraced peers, with nodes that follow the nodes of the processes, and how each was seen
    /// first.
    untraced: Interner<UntracedPeer>,
    seen: SpillableVec<PeerView>,
    /// The imported nodes, which follow the untraced peers.
    imported: Vec<Node>,
    pub(crate) slots: SpillableVec<MessageSlot>,
    /// The setup of each connection; the slots of connections come first.
    setups: SpillableVec<ConnectionSetup>,
    /// Number of flows.
    pub(crate) flows: u64,
    /// The next flow.
    pub(crate) next_flow: FlowId,
    /// Endpoints that are not names of sockets, numbered from [`FIRST_UNNAMED_ENDPOINT`] on.
    others: Interner<UnnamedEndpoint>,
    texts: Vec<Endpoint>,
    text_ids: FxHashMap<Endpoint, u32>,
}

/// Returns the number of the endpoint with the name of a socket.
fn endpoint_of_name(name: SocketNameId) -> EndpointId {
    EndpointId::from_index(name.index())
}

/// An endpoint that is not the name of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnnamedEndpoint {
    /// A process, by its pid.
    Process(u32),
    /// A socket, by its process and its number there.
    Socket(u32, u32),
    /// The peer of that socket.
    Peer(u32, u32),
    /// A text of an import, by its index.
    Text(u32),
}

/// An untraced peer in the view of the socket `of`, if any, under the name `name`, if known.
#[derive(Clone, Copy, Debug)]
struct PeerView {
    of: OptionalIndex<SocketIndex>,
    name: OptionalIndex<SocketNameId>,
    /// Whether the peer is the connecting side.
    client: bool,
}

/// Identity of an untraced peer as a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UntracedPeer {
    /// The peer's name, and the machine if the name is local to it.
    Named(SocketNameId, OptionalIndex<MachineIndex>),
    /// The peer's process id, and its machine.
    Process(u32, MachineIndex),
    /// The peer is known only as the peer of this socket.
    Of(SocketIndex),
    /// The name lookup of a host, which is none of its processes.
    NameLookup(HostIndex),
}

/// Position of an entity on a single line ([`Locality`]), from its kind and two numbers. The lower
/// number is often the successor of the previous entity's.
fn on_line(kind: u64, upper: u32, lower: u32) -> u64 {
    kind << 62 ^ u64::from(upper) << 32 ^ u64::from(lower)
}

impl Locality for UnnamedEndpoint {
    fn position(&self) -> u64 {
        match *self {
            UnnamedEndpoint::Process(pid) => on_line(0, 0, pid),
            UnnamedEndpoint::Socket(pid, number) => on_line(1, pid, number),
            UnnamedEndpoint::Peer(pid, number) => on_line(2, pid, number),
            UnnamedEndpoint::Text(place) => on_line(3, 0, place),
        }
    }
}

impl Locality for UntracedPeer {
    fn position(&self) -> u64 {
        match *self {
            UntracedPeer::Named(name, machine) => {
                // Names that mean the same on all machines are apart from all others.
                let machine = machine.get().map_or(u32::MAX, |machine| machine.index() as u32);
                on_line(0, machine, name.index() as u32)
            }
            UntracedPeer::Process(pid, machine) => on_line(1, machine.index() as u32, pid),
            UntracedPeer::Of(socket) => on_line(2, 0, socket.index() as u32),
            UntracedPeer::NameLookup(host) => on_line(3, 0, host.number()),
        }
    }
}

impl<'a> EntityTables<'a> {
    pub(crate) fn new(
        capture: &'a Capture,
        sockets: &'a SpillableVec<KernelSocket>,
    ) -> EntityTables<'a> {
        EntityTables {
            capture,
            sockets,
            untraced: Interner::new(&capture.pool),
            seen: SpillableVec::new(&capture.pool),
            imported: Vec::new(),
            slots: SpillableVec::new(&capture.pool),
            setups: SpillableVec::new(&capture.pool),
            flows: 0,
            next_flow: FlowId::default(),
            others: Interner::new(&capture.pool),
            texts: Vec::new(),
            text_ids: FxHashMap::default(),
        }
    }

    /// Number of nodes. The node of a process is its index among the processes.
    pub(crate) fn node_count(&self) -> usize {
        self.capture.processes.len() + self.untraced.len() + self.imported.len()
    }

    /// All nodes in the order of their ids.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        let traced = self.capture.processes.iter().map(|process| process.node.clone());
        let untraced = self.untraced.values().iter().zip(self.seen.iter());
        let untraced = untraced.map(|(peer, seen)| self.untraced_node(*peer, *seen));
        traced.chain(untraced).chain(self.imported.iter().cloned())
    }

    /// Adds a node of an import. No untraced peers may be added after it.
    pub(crate) fn add_imported_node(&mut self, node: Node) -> NodeId {
        self.imported.push(node);
        NodeId::from_index(self.node_count() - 1)
    }

    /// Adds a flow.
    pub(crate) fn next_flow(&mut self) -> FlowId {
        self.flows += 1;
        let flow = self.next_flow;
        self.next_flow = flow.advanced_by(1);
        flow
    }

    /// Adds a slot for each of `connections`; only those that are `used` get a flow.
    pub(crate) fn add_connections(
        &mut self,
        connections: &SpillableVec<Connection>,
        used: &[bool],
    ) -> Result<(), PathError> {
        for (connection, used) in connections.iter().zip(used) {
            let protocol = self.sockets[connection.any_socket().index()].protocol;
            let nothing = SlotEnd { node: NodeId::default(), endpoint: EndpointId::default() };
            let mut slot = MessageSlot { flow: FlowId::default(), protocol, ends: [nothing; 2] };
            if *used {
                slot.flow = self.next_flow();
                slot.ends = self.slot_ends(connection)?;
            }
            self.slots.push(slot)?;
            let ends = [connection.connecting, connection.accepting];
            let [one, other] = ends.map(|end| self.sockets.get(end.get()?.index()));
            self.setups.push(ConnectionSetup::from_ends(one, other))?;
        }
        Ok(())
    }

    /// The setup of the connection with `row` as its first message; `None` for all other rows.
    pub(crate) fn connection_setup(&self, row: &MessageRow) -> Option<&ConnectionSetup> {
        self.setups.get(row.slot as usize).filter(|_| row.is_opening())
    }

    /// The two ends of a connection, each traced or untraced.
    fn slot_ends(&mut self, connection: &Connection) -> Result<[SlotEnd; 2], PathError> {
        let socket = |end: SocketIndex| self.sockets.get(end.index());
        let local = |end| socket(end).map_or(OptionalIndex::NONE, |end| end.local);
        let peer = |end| socket(end).map_or(OptionalIndex::NONE, |end| end.peer);
        Ok(match (connection.connecting.get(), connection.accepting.get()) {
            (None, only) => {
                let only = only.unwrap_or_default();
                let (name, own) = (peer(only), local(only));
                [self.untraced_end(only, name, true)?, self.traced_end(only, own)?]
            }
            (Some(only), None) => {
                let (name, own) = (peer(only), local(only));
                [self.traced_end(only, own)?, self.untraced_end(only, name, false)?]
            }
            (Some(one), Some(other)) => {
                let names = [local(one), local(other)];
                [self.traced_end(one, names[0])?, self.traced_end(other, names[1])?]
            }
        })
    }

    /// Adds the flows and slots of datagrams, flow by flow in the order of their beginnings.
    /// Returns the first slot of each partition.
    pub(crate) fn add_datagrams(
        &mut self,
        mut all: AllFlows,
        lookups: &LookupIndex,
        addresses: &MachineAddresses,
    ) -> Result<Vec<u32>, PathError> {
        let begin = self.slots.len();
        let ends = [SlotEnd { node: NodeId::default(), endpoint: EndpointId::default() }; 2];
        let nothing =
            MessageSlot { flow: FlowId::default(), protocol: TransportProtocol::Udp, ends };
        self.slots.resize(begin + all.slots.len(), nothing)?;
        all.flows.sort_by_key(|(flow, place, _)| (flow.first, *place))?;
        for (flow, _, [from, to]) in all.flows.iter() {
            let number = self.next_flow();
            let asker = self.lookup_host(flow, lookups, addresses);
            for at in *from as usize..*to as usize {
                let slot = all.slots[at];
                let mut end = |side: usize| match flow.ends[side] {
                    DatagramEnd::Socket(socket) => self.traced_end(socket, slot.names[side]),
                    DatagramEnd::Untraced { of, .. } => {
                        let asker =
                            asker.filter(|_| side == 0).zip(self.named_endpoint(slot.names[side]));
                        match asker {
                            Some((host, endpoint)) => {
                                Ok(SlotEnd { node: self.name_lookup_of(host)?, endpoint })
                            }
                            None => self.untraced_end(of, slot.names[side], side == 0),
                        }
                    }
                };
                let ends = [end(0)?, end(1)?];
                self.slots[begin + at] =
                    MessageSlot { flow: number, protocol: flow.protocol, ends };
            }
        }
        Ok(all.begins.iter().map(|of_partition| (begin + of_partition) as u32).collect())
    }

    /// The host that made the name lookup of a flow of datagrams; `None` if the flow is no lookup.
    fn lookup_host(
        &self,
        flow: &DatagramFlow,
        lookups: &LookupIndex,
        addresses: &MachineAddresses,
    ) -> Option<HostIndex> {
        let (DatagramEnd::Untraced { name, of }, TransportProtocol::Udp) =
            (flow.ends[0], flow.protocol)
        else {
            return None;
        };
        let ip = self.capture.names.inet_address(name)?.ip();
        let machine = match addresses.machines_with(ip) {
            [only] => *only,
            [] if ip.is_loopback() => self.sockets.get(of.index())?.machine,
            _ => return None,
        };
        lookups.host_of_lookup(machine, flow.first.0)
    }

    /// The node of the name lookup that serves a process.
    pub(crate) fn name_lookup(&mut self, process: ProcessIndex) -> Result<NodeId, PathError> {
        let host = self.capture.processes.get(process.index()).map(|process| process.host);
        self.name_lookup_of(host.unwrap_or_default())
    }

    /// The node of a host's name lookup.
    fn name_lookup_of(&mut self, host: HostIndex) -> Result<NodeId, PathError> {
        let number = self.untraced.intern(UntracedPeer::NameLookup(host))?;
        if number as usize == self.seen.len() {
            let (of, name) = (OptionalIndex::NONE, OptionalIndex::NONE);
            self.seen.push(PeerView { of, name, client: false })?;
        }
        Ok(NodeId::from_index(self.capture.processes.len() + number as usize))
    }

    /// The end of the socket `place`, under the name `name` (its own, or the one that its
    /// peer sees).
    fn traced_end(
        &mut self,
        place: SocketIndex,
        name: OptionalIndex<SocketNameId>,
    ) -> Result<SlotEnd, PathError> {
        let socket = &self.sockets[place.index()];
        let endpoint = match self.named_endpoint(name) {
            Some(endpoint) => endpoint,
            None => self.unnamed_endpoint(UnnamedEndpoint::Socket(socket.pid, socket.number))?,
        };
        Ok(SlotEnd { node: socket.owner.node(), endpoint })
    }

    /// The untraced end of a flow with the socket `place` as its traced end, under the name
    /// `name` that this end sees. A `client` is the connecting side.
    fn untraced_end(
        &mut self,
        place: SocketIndex,
        name: OptionalIndex<SocketNameId>,
        client: bool,
    ) -> Result<SlotEnd, PathError> {
        let (socket, names) = (&self.sockets[place.index()], &self.capture.names);
        let machine = names.machine_of_name(name, socket.machine);
        let (peer, endpoint) = match name.get().zip(self.named_endpoint(name)) {
            Some((name, endpoint)) => (UntracedPeer::Named(name, machine), endpoint),
            None if socket.peer_pid != 0 => (
                UntracedPeer::Process(socket.peer_pid, socket.machine),
                self.unnamed_endpoint(UnnamedEndpoint::Process(socket.peer_pid))?,
            ),
            None => (
                UntracedPeer::Of(place),
                self.unnamed_endpoint(UnnamedEndpoint::Peer(socket.pid, socket.number))?,
            ),
        };
        let number = self.untraced.intern(peer)?;
        if number as usize == self.seen.len() {
            self.seen.push(PeerView { of: OptionalIndex::some(place), name, client })?;
        }
        Ok(SlotEnd {
            node: NodeId::from_index(self.capture.processes.len() + number as usize),
            endpoint,
        })
    }

    /// The node of an untraced peer.
    fn untraced_node(&self, peer: UntracedPeer, seen: PeerView) -> Node {
        if let UntracedPeer::NameLookup(host) = peer {
            let host = self.capture.hosts.get(host.index()).cloned().unwrap_or_default();
            return Node { host, command: "name lookup".to_owned(), ..Node::default() };
        }
        let address = self.capture.names.inet_address(seen.name);
        let host = || {
            let socket = self.sockets.get(seen.of.get()?.index())?;
            self.capture.hosts.get(socket.host.index()).cloned()
        };
        let command = match (address, peer) {
            (Some(address), _) if seen.client => address.ip().to_string(),
            (_, UntracedPeer::Process(pid, _)) => format!("pid {pid}"),
            (_, UntracedPeer::Of(_) | UntracedPeer::NameLookup(_)) => "unknown".to_owned(),
            (_, UntracedPeer::Named(name, _)) => {
                let mut text = String::new();
                self.write_endpoint(endpoint_of_name(name), &mut text);
                text
            }
        };
        Node {
            host: address.map(|address| address.ip().to_string()).or_else(host).unwrap_or_default(),
            pid: match peer {
                UntracedPeer::Process(pid, _) => Some(pid as i32),
                _ => None,
            },
            parent_pid: None,
            start: None,
            command,
            executable: String::new(),
            traced: false,
            unit: String::new(),
            service: false,
            unfollowed: String::new(),
        }
    }

    /// The endpoint with a name; `None` if it is not the name of a socket.
    fn named_endpoint(&self, name: OptionalIndex<SocketNameId>) -> Option<EndpointId> {
        name.get().filter(|_| self.capture.names.is_endpoint(name)).map(endpoint_of_name)
    }

    /// The number of an endpoint that is not the name of a socket.
    fn unnamed_endpoint(&mut self, other: UnnamedEndpoint) -> Result<EndpointId, PathError> {
        Ok(EndpointId::from_index(FIRST_UNNAMED_ENDPOINT + self.others.intern(other)? as usize))
    }

    /// The number of an endpoint of an import.
    pub(crate) fn imported_endpoint(
        &mut self,
        endpoint: &Endpoint,
    ) -> Result<EndpointId, PathError> {
        let text = match self.text_ids.get(endpoint) {
            Some(text) => *text,
            None => {
                self.texts.push(endpoint.clone());
                self.text_ids.insert(endpoint.clone(), self.texts.len() as u32 - 1);
                self.texts.len() as u32 - 1
            }
        };
        self.unnamed_endpoint(UnnamedEndpoint::Text(text))
    }

    /// The text of an endpoint.
    pub(crate) fn write_endpoint(&self, id: EndpointId, text: &mut impl fmt::Write) {
        // Writing into memory does not fail.
        let _ = match id.index().checked_sub(FIRST_UNNAMED_ENDPOINT) {
            Some(other) => self.others.values().get(other).map(|other| match *other {
                UnnamedEndpoint::Process(pid) => write!(text, "unix:#{pid}"),
                UnnamedEndpoint::Socket(pid, number) => write!(text, "unix:#{pid}/{number}"),
                UnnamedEndpoint::Peer(pid, number) => write!(text, "unix:#{pid}/{number}/peer"),
                UnnamedEndpoint::Text(place) => self
                    .texts
                    .get(place as usize)
                    .map_or(Ok(()), |endpoint| write!(text, "{endpoint}")),
            }),
            None => {
                let name = OptionalIndex::some(SocketNameId::from_index(id.index()));
                self.capture.names.to_endpoint(name).map(|endpoint| write!(text, "{endpoint}"))
            }
        };
    }
}
