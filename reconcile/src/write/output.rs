//! What the messages' slots refer to: flows get their numbers, ends their endpoints, and untraced
//! peers their nodes. It goes flow by flow, in the order of their numbers, so that equal input
//! gives equal numbers.

use std::fmt;

use message_trace::{Endpoint, EndpointId, Node, NodeId, PathError, Protocol};
use out_of_core::{Interner, Locality, SpillableVec};
use rustc_hash::FxHashMap;

use crate::absent::NONE;
use crate::connections::connecting::Connecting;
use crate::connections::connection::Connection;
use crate::datagrams::end::End;
use crate::datagrams::flows::{AllFlows, DatagramFlow};
use crate::logs::capture::Capture;
use crate::logs::lookups::Lookups;
use crate::names::{NO_NAME, NameId};
use crate::rows::row::{Row, Slot, SlotEnd};
use crate::sockets::addresses::Addresses;
use crate::sockets::socket::Socket;

/// The first number of an endpoint that is no name of a socket.
const OTHERS: EndpointId = 1 << 31;

/// Flows, nodes and endpoints in the making.
pub(crate) struct Output<'a> {
    capture: &'a Capture,
    sockets: &'a SpillableVec<Socket>,
    /// Untraced peers, whose nodes come behind those of the processes, and how each was seen first.
    untraced: Interner<Peer>,
    seen: SpillableVec<PeerView>,
    /// The nodes that come behind these.
    imported: Vec<Node>,
    pub(crate) slots: SpillableVec<Slot>,
    /// How each connection was made; their slots come first.
    connecting: SpillableVec<Connecting>,
    /// How many flows there are.
    pub(crate) flows: u64,
    /// The number of the next flow.
    pub(crate) next_flow: i64,
    /// Endpoints that are no names of sockets, numbered from [`OTHERS`] on.
    others: Interner<Other>,
    texts: Vec<Endpoint>,
    text_ids: FxHashMap<Endpoint, u32>,
}

/// An endpoint that is no name of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    /// A process, by its pid.
    Process(u32),
    /// A socket, by its process and its number there.
    Socket(u32, u32),
    /// The peer of that socket.
    Peer(u32, u32),
    /// A text of an import, by its place.
    Text(u32),
}

/// An untraced peer as the socket number `of` saw it, under the name `name`.
#[derive(Clone, Copy, Debug)]
struct PeerView {
    of: u32,
    name: NameId,
    /// Whether it is the side that connected.
    client: bool,
}

/// What makes an untraced peer a node of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    /// Its name, and the machine where the name is that machine's own.
    Named(NameId, u32),
    /// Its process, on that machine.
    Process(u32, u32),
    /// It is known by its counterpart alone.
    Of(u32),
    /// What looks names up on a host, which is none of its processes.
    NameLookup(u32),
}

/// A place on one line, from a kind and two numbers. The lower number is often the one after that
/// of the value before.
fn on_line(kind: u64, upper: u32, lower: u32) -> u64 {
    kind << 62 ^ u64::from(upper) << 32 ^ u64::from(lower)
}

impl Locality for Other {
    fn at(&self) -> u64 {
        match *self {
            Other::Process(pid) => on_line(0, 0, pid),
            Other::Socket(pid, number) => on_line(1, pid, number),
            Other::Peer(pid, number) => on_line(2, pid, number),
            Other::Text(place) => on_line(3, 0, place),
        }
    }
}

impl Locality for Peer {
    fn at(&self) -> u64 {
        match *self {
            Peer::Named(name, machine) => on_line(0, machine, name),
            Peer::Process(pid, machine) => on_line(1, machine, pid),
            Peer::Of(socket) => on_line(2, 0, socket),
            Peer::NameLookup(host) => on_line(3, 0, host),
        }
    }
}

impl<'a> Output<'a> {
    pub(crate) fn new(capture: &'a Capture, sockets: &'a SpillableVec<Socket>) -> Output<'a> {
        Output {
            capture,
            sockets,
            untraced: Interner::new(&capture.pool),
            seen: SpillableVec::new(&capture.pool),
            imported: Vec::new(),
            slots: SpillableVec::new(&capture.pool),
            connecting: SpillableVec::new(&capture.pool),
            flows: 0,
            next_flow: 0,
            others: Interner::new(&capture.pool),
            texts: Vec::new(),
            text_ids: FxHashMap::default(),
        }
    }

    /// How many nodes there are. A process's node is its place among the processes.
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

    /// Adds a node of an import. No untraced peers come from then on.
    pub(crate) fn import(&mut self, node: Node) -> NodeId {
        self.imported.push(node);
        (self.node_count() - 1) as NodeId
    }

    /// The number of the next flow.
    pub(crate) fn flow(&mut self) -> i64 {
        self.flows += 1;
        self.next_flow += 1;
        self.next_flow - 1
    }

    /// Adds a slot for each of `connections`; only those that are `used` get a flow.
    pub(crate) fn connections(
        &mut self,
        connections: &SpillableVec<Connection>,
        used: &[bool],
    ) -> Result<(), PathError> {
        for (connection, used) in connections.iter().zip(used) {
            let protocol = self.sockets[connection.socket() as usize].protocol;
            let nothing = SlotEnd { node: 0, endpoint: 0 };
            let mut slot = Slot { flow: 0, protocol, ends: [nothing; 2] };
            if *used {
                slot.flow = self.flow();
                slot.ends = self.places(connection)?;
            }
            self.slots.push(slot)?;
            let ends = [connection.connecting, connection.accepting];
            let [one, other] = ends.map(|place| self.sockets.get(place as usize));
            self.connecting.push(Connecting::of(one, other))?;
        }
        Ok(())
    }

    /// How the connection was made that `row` is the first message of; `None` of all other rows.
    pub(crate) fn connecting(&self, row: &Row) -> Option<&Connecting> {
        self.connecting.get(row.slot as usize).filter(|_| row.opens())
    }

    fn places(&mut self, connection: &Connection) -> Result<[SlotEnd; 2], PathError> {
        let local =
            |place: u32| self.sockets.get(place as usize).map_or(NO_NAME, |socket| socket.local);
        let peer =
            |place: u32| self.sockets.get(place as usize).map_or(NO_NAME, |socket| socket.peer);
        Ok(match (connection.connecting, connection.accepting) {
            (NONE, only) => {
                let (name, own) = (peer(only), local(only));
                [self.untraced(only, name, true)?, self.traced(only, own)?]
            }
            (only, NONE) => {
                let (name, own) = (peer(only), local(only));
                [self.traced(only, own)?, self.untraced(only, name, false)?]
            }
            (one, other) => {
                let names = [local(one), local(other)];
                [self.traced(one, names[0])?, self.traced(other, names[1])?]
            }
        })
    }

    /// Adds the flows and slots of datagrams, flow by flow in the order of their beginnings; where
    /// the slots of each partition begin.
    pub(crate) fn datagrams(
        &mut self,
        mut all: AllFlows,
        lookups: &Lookups,
        addresses: &Addresses,
    ) -> Result<Vec<u32>, PathError> {
        let begin = self.slots.len();
        let ends = [SlotEnd { node: 0, endpoint: 0 }; 2];
        let nothing = Slot { flow: 0, protocol: Protocol::Udp, ends };
        self.slots.resize(begin + all.slots.len(), nothing)?;
        all.flows.sort_by_key(|(flow, place, _)| (flow.first, *place))?;
        for (flow, _, [from, to]) in all.flows.iter() {
            let number = self.flow();
            let asker = self.asker(flow, lookups, addresses);
            for at in *from as usize..*to as usize {
                let slot = all.slots[at];
                let mut end = |side: usize| match flow.ends[side] {
                    End::Socket(socket) => self.traced(socket, slot.names[side]),
                    End::Untraced { of, .. } => {
                        let asker = asker.filter(|_| side == 0).zip(self.named(slot.names[side]));
                        match asker {
                            Some((host, endpoint)) => {
                                Ok(SlotEnd { node: self.name_lookup_of(host)?, endpoint })
                            }
                            None => self.untraced(of, slot.names[side], side == 0),
                        }
                    }
                };
                let ends = [end(0)?, end(1)?];
                self.slots[begin + at] = Slot { flow: number, protocol: flow.protocol, ends };
            }
        }
        Ok(all.begins.iter().map(|of_partition| (begin + of_partition) as u32).collect())
    }

    /// The host whose name lookup a flow of datagrams comes from, if it is one.
    fn asker(&self, flow: &DatagramFlow, lookups: &Lookups, addresses: &Addresses) -> Option<u32> {
        let (End::Untraced { name, of }, Protocol::Udp) = (flow.ends[0], flow.protocol) else {
            return None;
        };
        let ip = self.capture.names.inet(name)?.ip();
        let machine = match addresses.machines(ip) {
            [only] => *only,
            [] if ip.is_loopback() => self.sockets.get(of as usize)?.machine,
            _ => return None,
        };
        lookups.host(machine, flow.first.0)
    }

    /// The node that looks names up for a process.
    pub(crate) fn name_lookup(&mut self, process: u32) -> Result<NodeId, PathError> {
        let host = self.capture.processes.get(process as usize).map_or(0, |process| process.host);
        self.name_lookup_of(host)
    }

    fn name_lookup_of(&mut self, host: u32) -> Result<NodeId, PathError> {
        let number = self.untraced.number(Peer::NameLookup(host))?;
        if number as usize == self.seen.len() {
            self.seen.push(PeerView { of: NONE, name: NO_NAME, client: false })?;
        }
        Ok((self.capture.processes.len() + number as usize) as NodeId)
    }

    /// The end that is the socket number `place`, under the name `name` (its own, or as its peer
    /// sees it).
    fn traced(&mut self, place: u32, name: NameId) -> Result<SlotEnd, PathError> {
        let socket = &self.sockets[place as usize];
        let endpoint = match self.named(name) {
            Some(endpoint) => endpoint,
            None => self.other(Other::Socket(socket.pid, socket.number))?,
        };
        Ok(SlotEnd { node: socket.owner as NodeId, endpoint })
    }

    /// The untraced end of a flow whose traced end is the socket number `place`, under the name
    /// `name` as that end sees it. A `client` is the side that connected.
    fn untraced(&mut self, place: u32, name: NameId, client: bool) -> Result<SlotEnd, PathError> {
        let (socket, names) = (&self.sockets[place as usize], &self.capture.names);
        let machine = if names.is_of_its_machine(name) { socket.machine } else { u32::MAX };
        let (peer, endpoint) = match self.named(name) {
            Some(endpoint) => (Peer::Named(name, machine), endpoint),
            None if socket.peer_pid != 0 => (
                Peer::Process(socket.peer_pid, socket.machine),
                self.other(Other::Process(socket.peer_pid))?,
            ),
            None => (Peer::Of(place), self.other(Other::Peer(socket.pid, socket.number))?),
        };
        let number = self.untraced.number(peer)?;
        if number as usize == self.seen.len() {
            self.seen.push(PeerView { of: place, name, client })?;
        }
        Ok(SlotEnd { node: (self.capture.processes.len() + number as usize) as NodeId, endpoint })
    }

    /// The node of an untraced peer.
    fn untraced_node(&self, peer: Peer, seen: PeerView) -> Node {
        if let Peer::NameLookup(host) = peer {
            let host = self.capture.hosts.get(host as usize).cloned().unwrap_or_default();
            return Node { host, command: "name lookup".to_owned(), ..Node::default() };
        }
        let address = self.capture.names.inet(seen.name);
        let host = || {
            let socket = self.sockets.get(seen.of as usize)?;
            self.capture.hosts.get(socket.host as usize).cloned()
        };
        let command = match (address, peer) {
            (Some(address), _) if seen.client => address.ip().to_string(),
            (_, Peer::Process(pid, _)) => format!("pid {pid}"),
            (_, Peer::Of(_) | Peer::NameLookup(_)) => "unknown".to_owned(),
            (_, Peer::Named(name, _)) => {
                let mut text = String::new();
                self.endpoint(name, &mut text);
                text
            }
        };
        Node {
            host: address.map(|address| address.ip().to_string()).or_else(host).unwrap_or_default(),
            pid: match peer {
                Peer::Process(pid, _) => Some(pid as i32),
                _ => None,
            },
            parent_pid: None,
            start: None,
            command,
            executable: String::new(),
            traced: false,
            unit: String::new(),
            service: false,
        }
    }

    fn named(&self, name: NameId) -> Option<EndpointId> {
        self.capture.names.is_endpoint(name).then_some(name)
    }

    /// The number of an endpoint that is no name of a socket.
    fn other(&mut self, other: Other) -> Result<EndpointId, PathError> {
        Ok(OTHERS + self.others.number(other)?)
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
        self.other(Other::Text(text))
    }

    /// The text of an endpoint.
    pub(crate) fn endpoint(&self, id: EndpointId, text: &mut impl fmt::Write) {
        // Writing into memory does not fail.
        let _ = match id.checked_sub(OTHERS) {
            Some(other) => self.others.values().get(other as usize).map(|other| match *other {
                Other::Process(pid) => write!(text, "unix:#{pid}"),
                Other::Socket(pid, number) => write!(text, "unix:#{pid}/{number}"),
                Other::Peer(pid, number) => write!(text, "unix:#{pid}/{number}/peer"),
                Other::Text(place) => self
                    .texts
                    .get(place as usize)
                    .map_or(Ok(()), |endpoint| write!(text, "{endpoint}")),
            }),
            None => self.capture.names.endpoint(id).map(|endpoint| write!(text, "{endpoint}")),
        };
    }
}
