//! The message trace in the making: flows get their numbers, ends their endpoints, and untraced peers their nodes.

use message_trace::{Endpoint, EndpointId, Message, MessageTrace, Node, NodeId, Nodes, Protocol};
use rustc_hash::FxHashMap;

use crate::calls::{Part, Seen};
use crate::capture::Capture;
use crate::clocks::Clocks;
use crate::names::{NO_NAME, NameId};
use crate::reconciliation::Reconciliation;
use crate::socket::Socket;

/// One end of a flow: its node, unless a call says that another process did it, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) node: NodeId,
    pub(crate) endpoint: EndpointId,
}

/// What the messages of one flow have in common, seen from their direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heading<'a> {
    pub(crate) flow: i64,
    pub(crate) direction: i8,
    pub(crate) protocol: Protocol,
    pub(crate) src: Place,
    pub(crate) dst: Place,
    /// Why an end may be missing.
    pub(crate) cause: &'a str,
}

/// The trace in the making.
pub(crate) struct Output<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) outcome: &'a mut Reconciliation,
    pub(crate) trace: MessageTrace,
    clocks: &'a Clocks,
    next_flow: i64,
    endpoints: FxHashMap<NameId, EndpointId>,
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
    pub(crate) fn new(
        capture: &'a Capture,
        clocks: &'a Clocks,
        outcome: &'a mut Reconciliation,
    ) -> Output<'a> {
        // A process's node is its place among the processes.
        let nodes = Nodes(capture.processes.iter().map(|process| process.node.clone()).collect());
        Output {
            capture,
            outcome,
            trace: MessageTrace::new(nodes),
            clocks,
            next_flow: 0,
            endpoints: FxHashMap::default(),
            untraced: FxHashMap::default(),
        }
    }

    /// The number of the next flow.
    pub(crate) fn flow(&mut self) -> i64 {
        self.outcome.flows += 1;
        self.next_flow += 1;
        self.next_flow - 1
    }

    /// The end that is `socket`, under the name `name` (its own, or as its peer sees it).
    pub(crate) fn traced(&mut self, socket: &Socket, name: NameId) -> Place {
        let endpoint = match self.named(name) {
            Some(endpoint) => endpoint,
            None => self.trace.intern(&Endpoint::Unix(format!("#{}/{}", socket.pid, socket.number))),
        };
        Place { node: socket.owner as NodeId, endpoint }
    }

    /// The untraced end of a flow whose traced end is `socket` (number `place`), under the name `name` as that end
    /// sees it. A `client` is the side that connected.
    pub(crate) fn untraced(&mut self, socket: &Socket, place: u32, name: NameId, client: bool) -> Place {
        let names = &self.capture.names;
        let endpoint = self.named(name);
        let machine = if names.is_of_its_machine(name) { socket.machine } else { u32::MAX };
        let (peer, endpoint) = match endpoint {
            Some(endpoint) => (Peer::Named(name, machine), endpoint),
            None if socket.peer_pid != 0 => {
                let endpoint = Endpoint::Unix(format!("#{}", socket.peer_pid));
                (Peer::Process(socket.peer_pid, socket.machine), self.trace.intern(&endpoint))
            }
            None => {
                let endpoint = Endpoint::Unix(format!("#{}/{}/peer", socket.pid, socket.number));
                (Peer::Of(place), self.trace.intern(&endpoint))
            }
        };
        let address = self.capture.names.inet(name);
        let host = self.capture.hosts.get(socket.host as usize);
        let trace = &mut self.trace;
        let node = *self.untraced.entry(peer).or_insert_with(|| {
            let text = trace.endpoint(endpoint).map(Endpoint::to_string).unwrap_or_default();
            let command = match (address, peer) {
                (Some(address), _) if client => address.ip().to_string(),
                (_, Peer::Process(pid, _)) => format!("pid {pid}"),
                (_, Peer::Of(_)) => "unknown".to_owned(),
                _ => text,
            };
            trace.nodes.push(Node {
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
            })
        });
        Place { node, endpoint }
    }

    fn named(&mut self, name: NameId) -> Option<EndpointId> {
        if name == NO_NAME {
            return None;
        }
        if let Some(endpoint) = self.endpoints.get(&name) {
            return Some(*endpoint);
        }
        let endpoint = self.trace.intern(&self.capture.names.endpoint(name)?);
        self.endpoints.insert(name, endpoint);
        Some(endpoint)
    }

    /// Writes one message.
    pub(crate) fn message(&mut self, part: &Part, heading: &Heading) {
        let Heading { flow, direction, protocol, src, dst, cause } = *heading;
        let node = |seen: Option<Seen>, place: Place| seen.map_or(place.node, |seen| seen.process as NodeId);
        let message = Message {
            send_first: part.sent.map(|seen| seen.first),
            send_last: part.sent.map(|seen| seen.last),
            recv_first: part.received.map(|seen| seen.first),
            recv_last: part.received.map(|seen| seen.last),
            send_ts: part.sent.map(|seen| self.common(seen.process, seen.first)),
            recv_ts: part.received.map(|seen| self.common(seen.process, seen.last)),
            src: node(part.sent, src),
            dst: node(part.received, dst),
            src_endpoint: src.endpoint,
            dst_endpoint: dst.endpoint,
            src_tid: part.sent.map(|seen| seen.tid),
            dst_tid: part.received.map(|seen| seen.tid),
            flow,
            direction,
            protocol,
            bytes: part.bytes as i64,
            parts: part.parts as i32,
        };
        self.trace.push(&message, None);
        self.outcome.count_message(&message, cause);
    }

    fn common(&self, process: u32, time: i64) -> i64 {
        let host = self.capture.processes.get(process as usize).map_or(0, |process| process.host);
        self.clocks.common(host as usize, time)
    }
}
