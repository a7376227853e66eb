//! Connections: pairs of sockets that bytes went between, and sockets whose other end was not found.

use std::net::SocketAddr;

use message_trace::Protocol;
use rustc_hash::{FxHashMap, FxHashSet};
use socket_log::encode::Role;

use crate::addresses::Addresses;
use crate::capture::Capture;
use crate::names::NameId;
use crate::pairing::{self, Candidate};
use crate::socket::Socket;
use crate::unix_sockets;

/// The two ends of a connection. At least one was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// The end that connected (of a `socketpair`, the first).
    pub(crate) connecting: Option<u32>,
    /// The end that accepted.
    pub(crate) accepting: Option<u32>,
    /// Why one end is missing; empty where none is.
    pub(crate) cause: &'static str,
}

/// The process at the other end was not traced.
pub(crate) const UNTRACED: &str = "peer not traced";
/// The other end's host was traced, and listened there, but nobody was seen to accept.
const NOT_ACCEPTED: &str = "not accepted";
/// The socket's names are not known.
const NO_NAMES: &str = "names not known";
/// The socket is connected to itself.
const ITSELF: &str = "connected to itself";

/// The other end of every socket of which it was found, by the socket.
pub(crate) fn partners(capture: &Capture, sockets: &[Socket], listening: &Listening) -> Vec<Option<u32>> {
    let mut partner: Vec<Option<u32>> = vec![None; sockets.len()];
    let mut pair_up = |pairs: Vec<(u32, u32)>| {
        for (connecting, accepting) in pairs {
            let (one, other) = (connecting as usize, accepting as usize);
            if partner[one].is_none() && partner[other].is_none() {
                (partner[one], partner[other]) = (Some(accepting), Some(connecting));
            }
        }
    };
    pair_up(unix_sockets::pairs(sockets));
    pair_up(tcp(capture, sockets, listening));
    pair_up(unix_sockets::connected(capture, sockets));
    partner
}

/// All connections that bytes went over, ordered by the time at which they were made.
pub(crate) fn connections(
    capture: &Capture,
    sockets: &[Socket],
    partner: &[Option<u32>],
    listening: &Listening,
) -> Vec<Connection> {
    let mut all = Vec::new();
    for (place, socket) in sockets.iter().enumerate() {
        let place = place as u32;
        match partner[place as usize] {
            Some(other) if is_first(socket, place, &sockets[other as usize], other, listening, capture) => {
                all.push(Connection { connecting: Some(place), accepting: Some(other), cause: "" });
            }
            Some(_) => {}
            // It was never used, or for datagrams.
            None if socket.totals() == [0, 0] => {}
            None => all.push(alone(socket, place, listening, capture)),
        }
    }
    all.sort_by_key(|connection| {
        let made = [connection.connecting, connection.accepting].into_iter().flatten().next().unwrap_or(0);
        (sockets[made as usize].named, made)
    });
    all
}

/// Whether `socket` is the connecting one of the two.
fn is_first(
    socket: &Socket,
    place: u32,
    other: &Socket,
    other_place: u32,
    listening: &Listening,
    capture: &Capture,
) -> bool {
    if socket.pair.is_some() {
        return place < other_place;
    }
    match (side(socket, listening, capture), side(other, listening, capture)) {
        (Role::Connect, Role::Accept) => true,
        (Role::Accept, Role::Connect) => false,
        _ => place < other_place,
    }
}

/// A socket whose other end was not found.
fn alone(socket: &Socket, place: u32, listening: &Listening, capture: &Capture) -> Connection {
    let peer = capture.names.get(socket.peer);
    let cause = match peer {
        None => NO_NAMES,
        Some(_) if socket.protocol == Protocol::Tcp && socket.peer == socket.local => ITSELF,
        Some(_) if socket.role == Role::Connect && listening.on(capture, socket, socket.peer) => NOT_ACCEPTED,
        Some(_) => UNTRACED,
    };
    match side(socket, listening, capture) {
        Role::Accept => Connection { connecting: None, accepting: Some(place), cause },
        _ => Connection { connecting: Some(place), accepting: None, cause },
    }
}

/// Whether a socket connected or accepted. Where it was only found in use, a listening port says so and, where
/// none was seen either, the lower port is taken for the server's.
fn side(socket: &Socket, listening: &Listening, capture: &Capture) -> Role {
    let names = &capture.names;
    match socket.role {
        Role::Connect => Role::Connect,
        Role::Accept => Role::Accept,
        _ if listening.on(capture, socket, socket.local) => Role::Accept,
        _ if listening.on(capture, socket, socket.peer) => Role::Connect,
        _ => match (names.inet(socket.local), names.inet(socket.peer)) {
            (Some(local), Some(peer)) if local.port() < peer.port() => Role::Accept,
            // A unix socket's server is the one with a name.
            _ if names.unix(socket.local).is_some() && names.unix(socket.peer).is_none() => Role::Accept,
            _ => Role::Connect,
        },
    }
}

/// Where traced processes listen.
#[derive(Debug)]
pub(crate) struct Listening {
    /// Names with the machine they are on.
    names: FxHashSet<(u32, NameId)>,
    /// Ports on all of a machine's addresses.
    ports: FxHashSet<(u32, u16)>,
    pub(crate) addresses: Addresses,
}

impl Listening {
    pub(crate) fn of(capture: &Capture, sockets: &[Socket]) -> Listening {
        let (mut names, mut ports) = (FxHashSet::default(), FxHashSet::default());
        for socket in sockets {
            if socket.role != Role::Listen {
                continue;
            }
            match capture.names.inet(socket.local) {
                Some(address) if address.ip().is_unspecified() => {
                    ports.insert((socket.machine, address.port()));
                }
                _ => {
                    names.insert((socket.machine, socket.local));
                }
            }
        }
        Listening { names, ports, addresses: Addresses::of(&capture.names, sockets) }
    }

    /// Whether `name`, as `socket` sees it, is one on which a traced process listens.
    fn on(&self, capture: &Capture, socket: &Socket, name: NameId) -> bool {
        if self.names.contains(&(socket.machine, name)) {
            return true;
        }
        let port_on = |address: SocketAddr, machine| self.ports.contains(&(machine, address.port()));
        match capture.names.inet(name) {
            None => false,
            Some(address) if name == socket.local || address.ip().is_loopback() => {
                port_on(address, socket.machine)
            }
            Some(address) => self
                .addresses
                .machines(address.ip())
                .iter()
                .any(|machine| port_on(address, *machine) || self.names.contains(&(*machine, name))),
        }
    }
}

/// Pairs TCP sockets by their mirrored names.
fn tcp(capture: &Capture, sockets: &[Socket], listening: &Listening) -> Vec<(u32, u32)> {
    let names = &capture.names;
    // The names in a fixed order, and the machine where they are its own.
    type Key = (NameId, NameId, u32);
    let mut groups: FxHashMap<Key, [Vec<Candidate>; 2]> = FxHashMap::default();
    for (place, socket) in sockets.iter().enumerate() {
        let (local, peer) = (socket.local, socket.peer);
        if socket.protocol != Protocol::Tcp || local == peer || names.inet(local).is_none() {
            continue;
        }
        if names.inet(peer).is_none() || socket.role == Role::Listen {
            continue;
        }
        let machine = if names.is_of_its_machine(local) { socket.machine } else { u32::MAX };
        let group = groups.entry((local.min(peer), local.max(peer), machine)).or_default();
        group[usize::from(local > peer)].push(candidate(place as u32, socket));
    }
    let mut keys: Vec<Key> = groups.keys().copied().collect();
    keys.sort_unstable();
    let mut pairs = Vec::new();
    for [mut one, mut other] in keys.iter().filter_map(|key| groups.remove(key)) {
        let (Some(first), Some(second)) = (one.first(), other.first()) else { continue };
        let (first, second) = (&sockets[first.socket as usize], &sockets[second.socket as usize]);
        let same_clock = first.machine == second.machine;
        if side(first, listening, capture) == Role::Accept && side(second, listening, capture) != Role::Accept
        {
            std::mem::swap(&mut one, &mut other);
        }
        one.sort_by_key(|candidate| (candidate.named, candidate.socket));
        other.sort_by_key(|candidate| (candidate.named, candidate.socket));
        pairs.extend(pairing::one_at_a_time(&one, &other, same_clock));
    }
    pairs
}

/// A socket with what pairing wants to know of it.
pub(crate) fn candidate(place: u32, socket: &Socket) -> Candidate {
    let [sent, received] = socket.totals();
    Candidate { socket: place, opened: socket.opened, named: socket.named, sent, received }
}
