//! What the messages' slots refer to: flows get their numbers, ends their endpoints, and untraced peers their nodes.
//! It goes flow by flow, in the order of their numbers, so that equal input gives equal numbers.

use std::fmt;

use message_trace::{Endpoint, EndpointId, Error, Node, NodeId, Nodes};
use rustc_hash::FxHashMap;

use crate::capture::{Capture, NONE};
use crate::column::Column;
use crate::connections::Connection;
use crate::datagram_flows::{DatagramFlow, DatagramSlot};
use crate::end::End;
use crate::names::{NO_NAME, NameId};
use crate::rows::{Place, Slot};
use crate::socket::Socket;

/// The first number of an endpoint that is no name of a socket.
const OTHERS: EndpointId = 1 << 31;

/// Flows, nodes and endpoints in the making.
pub(crate) struct Output<'a> {
    capture: &'a Capture,
    sockets: &'a Column<Socket>,
    pub(crate) nodes: Nodes,
    pub(crate) slots: Column<Slot>,
    /// How many flows there are.
    pub(crate) flows: u64,
    /// The number of the next flow.
    pub(crate) next_flow: i64,
    /// Endpoints that are no names of sockets, numbered from [`OTHERS`] on.
    others: Vec<Endpoint>,
    other_ids: FxHashMap<Endpoint, EndpointId>,
    untraced: FxHashMap<Peer, NodeId>,
}

/// What makes an untraced peer a node of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Peer {
    /// Its name, and the machine where the name is that machine's own.
    Named(NameId, u32),
    /// Its process, on that machine.
    Process(u32, u32),
    /// It is known by its counterpart alone.
    Of(u32),
}

impl<'a> Output<'a> {
    pub(crate) fn new(capture: &'a Capture, sockets: &'a Column<Socket>) -> Output<'a> {
        Output {
            capture,
            sockets,
            // A process's node is its place among the processes.
            nodes: Nodes(capture.processes.iter().map(|process| process.node.clone()).collect()),
            slots: Column::new(&capture.tables),
            flows: 0,
            next_flow: 0,
            others: Vec::new(),
            other_ids: FxHashMap::default(),
            untraced: FxHashMap::default(),
        }
    }

    /// The number of the next flow.
    fn flow(&mut self) -> i64 {
        self.flows += 1;
        self.next_flow += 1;
        self.next_flow - 1
    }

    /// Adds a slot for each of `connections`; only those that are `used` get a flow.
    pub(crate) fn connections(
        &mut self,
        connections: &Column<Connection>,
        used: &[bool],
    ) -> Result<(), Error> {
        for (connection, used) in connections.iter().zip(used) {
            let protocol = self.sockets[connection.socket() as usize].protocol;
            let nothing = Place { node: 0, endpoint: 0 };
            let mut slot = Slot { flow: 0, protocol, ends: [nothing; 2] };
            if *used {
                slot.flow = self.flow();
                slot.ends = self.places(connection);
            }
            self.slots.push(slot)?;
        }
        Ok(())
    }

    fn places(&mut self, connection: &Connection) -> [Place; 2] {
        let local = |place: u32| self.sockets.get(place as usize).map_or(NO_NAME, |socket| socket.local);
        let peer = |place: u32| self.sockets.get(place as usize).map_or(NO_NAME, |socket| socket.peer);
        match (connection.connecting, connection.accepting) {
            (NONE, only) => {
                let (name, own) = (peer(only), local(only));
                [self.untraced(only, name, true), self.traced(only, own)]
            }
            (only, NONE) => {
                let (name, own) = (peer(only), local(only));
                [self.traced(only, own), self.untraced(only, name, false)]
            }
            (one, other) => {
                let names = [local(one), local(other)];
                [self.traced(one, names[0]), self.traced(other, names[1])]
            }
        }
    }

    /// Adds the flows and slots of datagrams, partition by partition; where the slots of each partition begin.
    pub(crate) fn datagrams(
        &mut self,
        partitions: &[(Vec<DatagramFlow>, Vec<DatagramSlot>)],
    ) -> Result<Vec<u32>, Error> {
        let mut order: Vec<(&DatagramFlow, usize, usize)> = Vec::new();
        let mut begins = Vec::with_capacity(partitions.len());
        let mut end = self.slots.len();
        for (partition, (flows, slots)) in partitions.iter().enumerate() {
            order.extend(flows.iter().enumerate().map(|(place, flow)| (flow, partition, place)));
            begins.push(end as u32);
            end += slots.len();
        }
        order.sort_unstable_by_key(|(flow, partition, place)| (flow.first, *partition, *place));
        let nothing = Place { node: 0, endpoint: 0 };
        self.slots
            .resize(end, Slot { flow: 0, protocol: message_trace::Protocol::Udp, ends: [nothing; 2] })?;
        for (flow, partition, place) in order {
            let number = self.flow();
            let (begin, slots) = (begins[partition] as usize, &partitions[partition].1);
            let from = slots.partition_point(|slot| (slot.flow as usize) < place);
            let of_flow = slots[from..].iter().take_while(|slot| slot.flow as usize == place);
            for (at, slot) in of_flow.enumerate() {
                let ends = [0, 1].map(|side| match flow.ends[side] {
                    End::Socket(socket) => self.traced(socket, slot.names[side]),
                    End::Untraced { of, .. } => self.untraced(of, slot.names[side], side == 0),
                });
                self.slots[begin + from + at] = Slot { flow: number, protocol: flow.protocol, ends };
            }
        }
        Ok(begins)
    }

    /// The end that is the socket number `place`, under the name `name` (its own, or as its peer sees it).
    fn traced(&mut self, place: u32, name: NameId) -> Place {
        let socket = &self.sockets[place as usize];
        let endpoint = match self.named(name) {
            Some(endpoint) => endpoint,
            None => self.other(&Endpoint::Unix(format!("#{}/{}", socket.pid, socket.number))),
        };
        Place { node: socket.owner as NodeId, endpoint }
    }

    /// The untraced end of a flow whose traced end is the socket number `place`, under the name `name` as that end
    /// sees it. A `client` is the side that connected.
    fn untraced(&mut self, place: u32, name: NameId, client: bool) -> Place {
        let (socket, names) = (&self.sockets[place as usize], &self.capture.names);
        let machine = if names.is_of_its_machine(name) { socket.machine } else { u32::MAX };
        let (peer, endpoint) = match self.named(name) {
            Some(endpoint) => (Peer::Named(name, machine), endpoint),
            None if socket.peer_pid != 0 => {
                let endpoint = Endpoint::Unix(format!("#{}", socket.peer_pid));
                (Peer::Process(socket.peer_pid, socket.machine), self.other(&endpoint))
            }
            None => {
                let endpoint = Endpoint::Unix(format!("#{}/{}/peer", socket.pid, socket.number));
                (Peer::Of(place), self.other(&endpoint))
            }
        };
        if let Some(node) = self.untraced.get(&peer) {
            return Place { node: *node, endpoint };
        }
        let address = names.inet(name);
        let host = self.capture.hosts.get(socket.host as usize);
        let command = match (address, peer) {
            (Some(address), _) if client => address.ip().to_string(),
            (_, Peer::Process(pid, _)) => format!("pid {pid}"),
            (_, Peer::Of(_)) => "unknown".to_owned(),
            _ => {
                let mut text = String::new();
                self.endpoint(endpoint, &mut text);
                text
            }
        };
        let node = self.nodes.push(Node {
            host: address
                .map(|address| address.ip().to_string())
                .or_else(|| host.cloned())
                .unwrap_or_default(),
            pid: match peer {
                Peer::Process(pid, _) => Some(pid as i32),
                _ => None,
            },
            start: None,
            command,
            executable: String::new(),
            traced: false,
        });
        self.untraced.insert(peer, node);
        Place { node, endpoint }
    }

    fn named(&self, name: NameId) -> Option<EndpointId> {
        self.capture.names.is_endpoint(name).then_some(name)
    }

    /// The number of an endpoint that is no name of a socket.
    pub(crate) fn other(&mut self, endpoint: &Endpoint) -> EndpointId {
        if let Some(id) = self.other_ids.get(endpoint) {
            return *id;
        }
        let id = OTHERS + self.others.len() as EndpointId;
        self.others.push(endpoint.clone());
        self.other_ids.insert(endpoint.clone(), id);
        id
    }

    /// The text of an endpoint.
    pub(crate) fn endpoint(&self, id: EndpointId, text: &mut impl fmt::Write) {
        // Writing into memory does not fail.
        let _ = match id.checked_sub(OTHERS) {
            Some(other) => self.others.get(other as usize).map(|endpoint| write!(text, "{endpoint}")),
            None => self.capture.names.endpoint(id).map(|endpoint| write!(text, "{endpoint}")),
        };
    }
}
