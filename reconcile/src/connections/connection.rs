//! Connections: pairs of sockets that bytes went between, and sockets whose other end was not
//! found.

use message_trace::{PathError, Protocol};
use out_of_core::SpillableVec;
use socket_log::encode::Role;

use crate::absent::NONE;
use crate::cause::Cause;
use crate::connections::first_calls::FirstCalls;
use crate::connections::listening::Listening;
use crate::connections::pairing::{self, Candidate, candidate};
use crate::connections::unix_sockets;
use crate::logs::capture::Capture;
use crate::names::NameId;
use crate::sockets::socket::Socket;

/// The two ends of a connection. At least one was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// The end that connected (of a `socketpair`, the one that spoke first); [`NONE`] where it is
    /// missing.
    pub(crate) connecting: u32,
    /// The end that accepted; [`NONE`] where it is missing.
    pub(crate) accepting: u32,
    /// Why one end is missing.
    pub(crate) cause: Cause,
    /// Whether the two ends are too unsure to tell of clocks.
    pub(crate) doubtful: bool,
}

impl Connection {
    /// The socket that is surely there.
    pub(crate) fn socket(&self) -> u32 {
        if self.connecting == NONE { self.accepting } else { self.connecting }
    }
}

/// The other end of every socket, where it was found; else [`NONE`].
pub(crate) fn partners(
    capture: &Capture,
    sockets: &SpillableVec<Socket>,
    listening: &Listening,
    first_calls: &FirstCalls,
) -> Result<SpillableVec<u32>, PathError> {
    let mut partner = SpillableVec::filled(&capture.pool, sockets.len(), NONE)?;
    let mut pair_up = |(connecting, accepting): (u32, u32)| {
        let (one, other) = (connecting as usize, accepting as usize);
        if partner[one] == NONE && partner[other] == NONE {
            (partner[one], partner[other]) = (accepting, connecting);
        }
    };
    unix_sockets::pairs(sockets).for_each(&mut pair_up);
    inet(capture, sockets, listening, &mut pair_up)?;
    vsock(capture, sockets, listening, &mut pair_up)?;
    unix_sockets::connected(capture, sockets, first_calls, &mut pair_up)?;
    Ok(partner)
}

/// All connections that bytes went over, ordered by the time at which they were made.
pub(crate) fn connections(
    capture: &Capture,
    sockets: &SpillableVec<Socket>,
    partner: &SpillableVec<u32>,
    listening: &Listening,
) -> Result<SpillableVec<Connection>, PathError> {
    let mut all: SpillableVec<(i64, Connection)> = SpillableVec::new(&capture.pool);
    for (place, (socket, partner)) in (0..).zip(sockets.iter().zip(partner.iter())) {
        let connection = match *partner {
            // It was never used, or for datagrams.
            NONE if socket.totals == [0, 0] => continue,
            NONE => alone(socket, place, listening, capture),
            other
                if is_first(socket, place, &sockets[other as usize], other, listening, capture) =>
            {
                Connection {
                    connecting: place,
                    accepting: other,
                    cause: Cause::Nothing,
                    doubtful: false,
                }
            }
            _ => continue,
        };
        // The socket that made it is this one.
        all.push((socket.named, connection))?;
    }
    all.sort_by_key(|(named, connection)| (*named, connection.socket()))?;
    SpillableVec::collect(&capture.pool, all.iter().map(|(_, connection)| *connection))
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
    match (side(socket, listening, capture), side(other, listening, capture)) {
        (Role::Connect, Role::Accept) => true,
        (Role::Accept, Role::Connect) => false,
        // Neither connected: who speaks first asks.
        _ if socket.pair != NONE => (socket.first_sent, place) < (other.first_sent, other_place),
        _ => place < other_place,
    }
}

/// A socket whose other end was not found.
fn alone(socket: &Socket, place: u32, listening: &Listening, capture: &Capture) -> Connection {
    let cause = match capture.names.has(socket.peer) {
        false => Cause::NoNames,
        true if socket.protocol == Protocol::Tcp && socket.peer == socket.local => Cause::Itself,
        true if socket.role == Role::Connect && listening.on(capture, socket, socket.peer) => {
            Cause::NotAccepted
        }
        true => Cause::Untraced,
    };
    match side(socket, listening, capture) {
        Role::Accept => Connection { connecting: NONE, accepting: place, cause, doubtful: false },
        _ => Connection { connecting: place, accepting: NONE, cause, doubtful: false },
    }
}

/// Whether a socket connected or accepted. Where it was only found in use, a listening port says so
/// and, where none was seen either, the lower port is taken for the server's.
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
            _ if names.unix(socket.local).is_some() && names.unix(socket.peer).is_none() => {
                Role::Accept
            }
            _ => Role::Connect,
        },
    }
}

/// The names of a connection in a fixed order, the machine where they are its own, and the
/// protocol.
type Key = (NameId, NameId, u32, Protocol);

/// Ends of connections, each with what it has in common with the other end, which of the names is
/// its own, and its socket.
type Ends<K> = SpillableVec<(K, bool, u32)>;

/// Pairs sockets of IP, which have mirrored names.
fn inet(
    capture: &Capture,
    sockets: &SpillableVec<Socket>,
    listening: &Listening,
    pair_up: impl FnMut((u32, u32)),
) -> Result<(), PathError> {
    let names = &capture.names;
    let mut ends: Ends<Key> = SpillableVec::new(&capture.pool);
    for (place, socket) in (0..).zip(sockets.iter()) {
        let (local, peer, protocol) = (socket.local, socket.peer, socket.protocol);
        if !matches!(protocol, Protocol::Tcp | Protocol::Sctp)
            || local == peer
            || names.inet(local).is_none()
        {
            continue;
        }
        if names.inet(peer).is_none() || socket.role == Role::Listen {
            continue;
        }
        let machine = if names.is_of_its_machine(local) { socket.machine } else { u32::MAX };
        let key = (local.min(peer), local.max(peer), machine, protocol);
        ends.push((key, local > peer, place))?;
    }
    by_key(capture, sockets, listening, ends, pair_up)
}

/// Pairs sockets between virtual machines and hosts by the server's machine and port, and the
/// client's port. The client's own machine is known to the server alone.
fn vsock(
    capture: &Capture,
    sockets: &SpillableVec<Socket>,
    listening: &Listening,
    pair_up: impl FnMut((u32, u32)),
) -> Result<(), PathError> {
    let names = &capture.names;
    let mut ends: Ends<(u32, u32, u32)> = SpillableVec::new(&capture.pool);
    for (place, socket) in (0..).zip(sockets.iter()) {
        let ends_of = names.vsock(socket.local).zip(names.vsock(socket.peer));
        let (Protocol::Vsock, Some((local, peer))) = (socket.protocol, ends_of) else { continue };
        match socket.role {
            Role::Connect => ends.push(((peer.0, peer.1, local.1), false, place))?,
            Role::Accept => ends.push(((local.0, local.1, peer.1), true, place))?,
            _ => {}
        }
    }
    by_key(capture, sockets, listening, ends, pair_up)
}

/// Pairs the ends that have a key in common.
fn by_key<K: Copy + Ord + Send>(
    capture: &Capture,
    sockets: &SpillableVec<Socket>,
    listening: &Listening,
    mut ends: Ends<K>,
    mut pair_up: impl FnMut((u32, u32)),
) -> Result<(), PathError> {
    ends.sort_by_key(|end| *end)?;
    let [mut one, mut other]: [Vec<Candidate>; 2] = Default::default();
    let mut next = 0;
    while let Some((key, ..)) = ends.get(next).copied() {
        let end = ends.end(next, |end| end.0 == key);
        let border = ends.partition_point(next..end, |(_, side, _)| !side);
        let (start, border) = (next, border);
        next = end;
        if border == start || border == end {
            continue;
        }
        let (first, second) = (&sockets[ends[start].2 as usize], &sockets[ends[border].2 as usize]);
        for (side, range) in [(&mut one, start..border), (&mut other, border..end)] {
            side.clear();
            side.extend(
                ends.range(range).map(|(_, _, place)| candidate(*place, &sockets[*place as usize])),
            );
            side.sort_by_key(|candidate| (candidate.named, candidate.socket));
        }
        let apart = first.clock_apart(second);
        let swapped = side(first, listening, capture) == Role::Accept
            && side(second, listening, capture) != Role::Accept;
        let (connecting, accepting) = if swapped { (&other, &one) } else { (&one, &other) };
        pairing::one_at_a_time(connecting, accepting, apart).into_iter().for_each(&mut pair_up);
    }
    Ok(())
}
