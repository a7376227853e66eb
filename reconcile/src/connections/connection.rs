//! Connections: pairs of sockets that exchanged bytes, and sockets without a known other end.

use message_trace::{PathError, TransportProtocol};
use out_of_core::SpillableVec;
use socket_log::encode::FlowRole;

use crate::connections::first_calls::FirstCalls;
use crate::connections::listening::ListeningNames;
use crate::connections::pairing::{self, PairingCandidate, make_candidate};
use crate::connections::unix_sockets;
use crate::indices::{MachineIndex, OptionalIndex, SocketIndex};
use crate::logs::capture::Capture;
use crate::socket_names::SocketNameId;
use crate::sockets::socket::KernelSocket;
use crate::unmatched_cause::UnmatchedCause;

/// The two ends of a connection. At least one was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// The connecting end (of a `socketpair`, the end that spoke first), unless it is missing.
    pub(crate) connecting: OptionalIndex<SocketIndex>,
    /// The accepting end, unless it is missing.
    pub(crate) accepting: OptionalIndex<SocketIndex>,
    /// Reason why one end is missing.
    pub(crate) cause: UnmatchedCause,
    /// Whether the pairing is too uncertain for estimating clocks.
    pub(crate) ambiguous: bool,
}

impl Connection {
    /// A socket of the connection, the connecting one if it is known.
    pub(crate) fn any_socket(&self) -> SocketIndex {
        self.connecting.get().or(self.accepting.get()).unwrap_or_default()
    }

    /// Number of calls of its sockets that moved bytes.
    pub(crate) fn transfer_count(&self, sockets: &SpillableVec<KernelSocket>) -> u64 {
        let ends = [self.connecting, self.accepting].into_iter();
        let ends = ends.filter_map(|end| sockets.get(end.get()?.index()));
        ends.map(|socket| u64::from(socket.transfers)).sum()
    }
}

/// The other end of each socket, as far as known.
pub(crate) type SocketPartners = SpillableVec<OptionalIndex<SocketIndex>>;

/// Makes two sockets the ends of one connection, unless one of them has another end already.
pub(crate) fn pair_lone_sockets(
    partner: &mut SocketPartners,
    (one, other): (SocketIndex, SocketIndex),
) {
    let has_end = |socket: SocketIndex| partner[socket.index()].get().is_some();
    if !has_end(one) && !has_end(other) {
        partner[one.index()] = OptionalIndex::some(other);
        partner[other.index()] = OptionalIndex::some(one);
    }
}

/// Returns the other end of every socket, as far as found.
pub(crate) fn find_partners(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    listening: &ListeningNames,
    first_calls: &FirstCalls,
) -> Result<SocketPartners, PathError> {
    let mut partner = SpillableVec::filled(&capture.pool, sockets.len(), OptionalIndex::NONE)?;
    let mut pair_up = |ends| pair_lone_sockets(&mut partner, ends);
    unix_sockets::find_socketpairs(sockets).for_each(&mut pair_up);
    pair_inet(capture, sockets, listening, &mut pair_up)?;
    pair_vsock(capture, sockets, listening, &mut pair_up)?;
    unix_sockets::pair_connected(capture, sockets, first_calls, &mut pair_up)?;
    Ok(partner)
}

/// Returns all connections that carried bytes, sorted by the time at which they were made.
pub(crate) fn build_connections(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    partner: &SocketPartners,
    listening: &ListeningNames,
) -> Result<SpillableVec<Connection>, PathError> {
    let mut all: SpillableVec<(i64, Connection)> = SpillableVec::new(&capture.pool);
    for (place, (socket, partner)) in SocketIndex::indices().zip(sockets.iter().zip(partner.iter()))
    {
        let connection = match partner.get() {
            // The socket was never used, or only for datagrams.
            None if socket.totals == [0, 0] => continue,
            None => single_end(socket, place, listening, capture),
            Some(other)
                if is_connecting(
                    socket,
                    place,
                    &sockets[other.index()],
                    other,
                    listening,
                    capture,
                ) =>
            {
                Connection {
                    connecting: OptionalIndex::some(place),
                    accepting: OptionalIndex::some(other),
                    cause: UnmatchedCause::Nothing,
                    ambiguous: false,
                }
            }
            _ => continue,
        };
        // This socket is the connecting one.
        all.push((socket.named, connection))?;
    }
    all.sort_by_key(|(named, connection)| (*named, connection.any_socket()))?;
    SpillableVec::collect(&capture.pool, all.iter().map(|(_, connection)| *connection))
}

/// Whether `socket`, and not `other`, is the connecting end of their connection.
fn is_connecting(
    socket: &KernelSocket,
    place: SocketIndex,
    other: &KernelSocket,
    other_place: SocketIndex,
    listening: &ListeningNames,
    capture: &Capture,
) -> bool {
    match (socket_role(socket, listening, capture), socket_role(other, listening, capture)) {
        (FlowRole::Connect, FlowRole::Accept) => true,
        (FlowRole::Accept, FlowRole::Connect) => false,
        // Neither end connected: the end that speaks first is the client.
        _ if socket.pair.get().is_some() => {
            let first_sent = |socket: &KernelSocket| socket.first_sent.get().unwrap_or(i64::MAX);
            (first_sent(socket), place) < (first_sent(other), other_place)
        }
        _ => place < other_place,
    }
}

/// Connection of a socket without a known other end.
fn single_end(
    socket: &KernelSocket,
    place: SocketIndex,
    listening: &ListeningNames,
    capture: &Capture,
) -> Connection {
    let cause = match socket.peer.get() {
        None => UnmatchedCause::NoNames,
        Some(_) if socket.protocol == TransportProtocol::Tcp && socket.peer == socket.local => {
            UnmatchedCause::Itself
        }
        Some(_)
            if socket.role == FlowRole::Connect
                && listening.is_listening(capture, socket, socket.peer) =>
        {
            UnmatchedCause::NotAccepted
        }
        Some(_) => UnmatchedCause::Untraced,
    };
    let (connecting, accepting) = match socket_role(socket, listening, capture) {
        FlowRole::Accept => (OptionalIndex::NONE, OptionalIndex::some(place)),
        _ => (OptionalIndex::some(place), OptionalIndex::NONE),
    };
    Connection { connecting, accepting, cause, ambiguous: false }
}

/// Whether a socket connected or accepted. For a socket that was only found in use, a listening
/// port decides and, if none was seen, the lower port counts as the server's.
fn socket_role(socket: &KernelSocket, listening: &ListeningNames, capture: &Capture) -> FlowRole {
    let names = &capture.names;
    match socket.role {
        FlowRole::Connect => FlowRole::Connect,
        FlowRole::Accept => FlowRole::Accept,
        _ if listening.is_listening(capture, socket, socket.local) => FlowRole::Accept,
        _ if listening.is_listening(capture, socket, socket.peer) => FlowRole::Connect,
        _ => match (names.inet_address(socket.local), names.inet_address(socket.peer)) {
            (Some(local), Some(peer)) if local.port() < peer.port() => FlowRole::Accept,
            // A named unix socket is the server's.
            _ if names.unix_name(socket.local).is_some()
                && names.unix_name(socket.peer).is_none() =>
            {
                FlowRole::Accept
            }
            _ => FlowRole::Connect,
        },
    }
}

/// The names of a connection in a fixed order, the machine if they are local to it, and the
/// protocol.
type InetKey = (SocketNameId, SocketNameId, OptionalIndex<MachineIndex>, TransportProtocol);

/// Ends of connections: the key that an end shares with the other one, whether it is the second end
/// of the key, and its socket.
type KeyedEnds<K> = SpillableVec<(K, bool, SocketIndex)>;

/// Pairs IP sockets, which have mirrored names.
fn pair_inet(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    listening: &ListeningNames,
    pair_up: impl FnMut((SocketIndex, SocketIndex)),
) -> Result<(), PathError> {
    let names = &capture.names;
    let mut ends: KeyedEnds<InetKey> = SpillableVec::new(&capture.pool);
    for (place, socket) in SocketIndex::indices().zip(sockets.iter()) {
        let protocol = socket.protocol;
        if !matches!(protocol, TransportProtocol::Tcp | TransportProtocol::Sctp)
            || socket.local == socket.peer
            || socket.role == FlowRole::Listen
        {
            continue;
        }
        let both = names.inet_name(socket.local).zip(names.inet_name(socket.peer));
        let Some((local, peer)) = both else { continue };
        let machine = names.machine_of_name(socket.local, socket.machine);
        let key = (local.min(peer), local.max(peer), machine, protocol);
        ends.push((key, local > peer, place))?;
    }
    pair_by_key(capture, sockets, listening, ends, pair_up)
}

/// Pairs sockets between virtual machines and hosts by the server's machine and port, and the
/// client's port. Only the server knows the client's own machine.
fn pair_vsock(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    listening: &ListeningNames,
    pair_up: impl FnMut((SocketIndex, SocketIndex)),
) -> Result<(), PathError> {
    let names = &capture.names;
    let mut ends: KeyedEnds<(u32, u32, u32)> = SpillableVec::new(&capture.pool);
    for (place, socket) in SocketIndex::indices().zip(sockets.iter()) {
        let ends_of = names.vsock_address(socket.local).zip(names.vsock_address(socket.peer));
        let (TransportProtocol::Vsock, Some((local, peer))) = (socket.protocol, ends_of) else {
            continue;
        };
        match socket.role {
            FlowRole::Connect => ends.push(((peer.0, peer.1, local.1), false, place))?,
            FlowRole::Accept => ends.push(((local.0, local.1, peer.1), true, place))?,
            _ => {}
        }
    }
    pair_by_key(capture, sockets, listening, ends, pair_up)
}

/// Pairs the ends that share a key.
fn pair_by_key<K: Copy + Ord + Send>(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    listening: &ListeningNames,
    mut ends: KeyedEnds<K>,
    mut pair_up: impl FnMut((SocketIndex, SocketIndex)),
) -> Result<(), PathError> {
    ends.sort_by_key(|end| *end)?;
    let [mut one, mut other]: [Vec<PairingCandidate>; 2] = Default::default();
    let mut next = 0;
    while let Some((key, ..)) = ends.get(next).copied() {
        let end = ends.end_where(next, |end| end.0 == key);
        let boundary = ends.partition_point(next..end, |(_, side, _)| !side);
        let (start, boundary) = (next, boundary);
        next = end;
        if boundary == start || boundary == end {
            continue;
        }
        let (first, second) = (&sockets[ends[start].2.index()], &sockets[ends[boundary].2.index()]);
        for (side, range) in [(&mut one, start..boundary), (&mut other, boundary..end)] {
            side.clear();
            side.extend(
                ends.range(range)
                    .map(|(_, _, place)| make_candidate(*place, &sockets[place.index()])),
            );
            side.sort_by_key(|candidate| (candidate.named, candidate.socket));
        }
        let apart = first.clock_apart(second);
        let swapped = socket_role(first, listening, capture) == FlowRole::Accept
            && socket_role(second, listening, capture) != FlowRole::Accept;
        let (connecting, accepting) = if swapped { (&other, &one) } else { (&one, &other) };
        pairing::pair_one_by_one(connecting, accepting, apart).into_iter().for_each(&mut pair_up);
    }
    Ok(())
}
