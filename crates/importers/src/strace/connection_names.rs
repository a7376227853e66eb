//! Names of connections for which the file shows only one name at each end: without `-yy` strace
//! shows the server's name at the client's connect, and the client's name at the server's accept,
//! but not that the two are one connection.
//!
//! The kernel hands out connections to a listening socket in the order in which they were made. So
//! the k-th connect corresponds to the k-th accept, unless clients connected that strace did not
//! see. The times of the ends' sends and receives show whether a pair is possible: nothing arrives
//! before it was sent. If the order does not hold, only ends with a single possible partner are
//! paired. The result is used in a second reading of the files, as it is known too late for the
//! first.

use std::net::{IpAddr, SocketAddr};

use rustc_hash::{FxHashMap, FxHashSet};
use socket_log::encode::Direction;

use super::address;
use super::sockets::{STREAM, SocketId, TracedSocket};
use crate::tuning::{FIRST_CALLS, MAX_COMPARED_ENDS, MAX_UNNAMED, STRACE_LATE_NS};

/// Call that gave a socket its names: its thread, its time, its descriptor, and the number of
/// earlier calls with the same three. There may be several if the file has whole seconds only.
pub(super) type NamingCall = (u32, i64, i32, u32);

/// Own names of sockets, by the call that connected or accepted them.
pub(super) type OwnNames = FxHashMap<NamingCall, Vec<u8>>;

/// End of a connection that may lack its own name, or for which the file shows only its peer's.
#[derive(Clone, Debug)]
struct NamelessEnd {
    /// Call that connected or accepted the end.
    by: NamingCall,
    /// Time in nanoseconds since the Unix epoch: of the call for a connect, of the return for an
    /// accept.
    time: i64,
    local: Option<SocketAddr>,
    peer: SocketAddr,
    /// Bytes sent and received.
    totals: [u64; 2],
    /// First sends and receives: the time in nanoseconds since the Unix epoch, and the cumulative
    /// number of bytes.
    first: [Vec<(i64, u64)>; 2],
}

/// Ends of connections in the files.
#[derive(Debug, Default)]
pub(super) struct NamelessConnections {
    connected: Vec<NamelessEnd>,
    accepted: Vec<NamelessEnd>,
    /// For each open socket, by its number and connection: whether it was accepted, and its index
    /// among the connected or the accepted ends.
    open: FxHashMap<(SocketId, u32), (bool, usize)>,
    /// Own names of connecting ends that the files contain.
    reported_names: FxHashSet<SocketAddr>,
}

/// Result of the matching.
#[derive(Debug, Default)]
pub(super) struct MatchedNames {
    pub(super) names: OwnNames,
    /// Number of connections with bytes and an unknown own name at the connecting end.
    pub(super) without: u64,
}

impl NamelessConnections {
    /// Adds a socket that has connected (or is about to), or was accepted, by the call `by`, which
    /// was made or returned at `time`.
    pub(super) fn add_end(
        &mut self,
        by: NamingCall,
        time: i64,
        id: SocketId,
        socket: &TracedSocket,
        accepts: bool,
    ) {
        let Some(peer) = inet_address(&socket.peer).filter(|_| socket.kind == STREAM) else {
            return;
        };
        let all = if accepts { &mut self.accepted } else { &mut self.connected };
        if all.len() >= MAX_UNNAMED {
            return;
        }
        self.open.insert((id, socket.connection), (accepts, all.len()));
        all.push(NamelessEnd {
            by,
            time,
            local: inet_address(&socket.local),
            peer,
            totals: [0; 2],
            first: [Vec::new(), Vec::new()],
        });
    }

    /// Adds bytes that a socket has transferred.
    pub(super) fn add_bytes(
        &mut self,
        id: SocketId,
        socket: &TracedSocket,
        direction: Direction,
        time: i64,
        bytes: u64,
    ) {
        let Some((accepts, place)) = self.open.get(&(id, socket.connection)).copied() else {
            return;
        };
        let all = if accepts { &mut self.accepted } else { &mut self.connected };
        let Some(end) = all.get_mut(place) else { return };
        if end.local != inet_address(&socket.local) {
            end.local = inet_address(&socket.local);
        }
        let direction_index = usize::from(direction == Direction::Receive);
        end.totals[direction_index] = end.totals[direction_index].saturating_add(bytes);
        let sum = end.totals[direction_index];
        let first = &mut end.first[direction_index];
        let has_room = first.len() < FIRST_CALLS;
        match first.last_mut() {
            Some(last) if last.0 == time => last.1 = sum,
            _ if has_room => first.push((time, sum)),
            _ => {}
        }
    }

    /// Finds the ends that are one connection.
    pub(super) fn match_ends(mut self) -> MatchedNames {
        let is_named = |end: &NamelessEnd| {
            end.local.is_some_and(|local| local.port() != 0 && !local.ip().is_unspecified())
        };
        self.reported_names
            .extend(self.connected.iter().filter(|end| is_named(end)).filter_map(|end| end.local));
        self.connected.retain(|end| !is_named(end));
        self.accepted.retain(|end| !self.reported_names.contains(&end.peer));
        let mut found = MatchedNames::default();
        let mut by_port: FxHashMap<u16, [Vec<NamelessEnd>; 2]> = FxHashMap::default();
        for end in self.connected {
            by_port.entry(end.peer.port()).or_default()[0].push(end);
        }
        for end in self.accepted {
            if let Some(local) = end.local {
                by_port.entry(local.port()).or_default()[1].push(end);
            }
        }
        for [connected, accepted] in by_port.values_mut() {
            connected.sort_by_key(|end| (end.time, end.by));
            accepted.sort_by_key(|end| (end.time, end.by));
            let pairs = pair_in_order(connected, accepted)
                .unwrap_or_else(|| pair_unique(connected, accepted));
            for (one, other) in &pairs {
                let (connecting, accepting) = (&connected[*one], &accepted[*other]);
                found.names.insert(connecting.by, socket_log::write::inet_address(accepting.peer));
                found.names.insert(accepting.by, socket_log::write::inet_address(connecting.peer));
            }
            let paired: FxHashSet<usize> = pairs.iter().map(|(one, _)| *one).collect();
            let left = connected.iter().enumerate().filter(|(place, _)| !paired.contains(place));
            found.without += left.filter(|(_, end)| end.has_bytes()).count() as u64;
        }
        found
    }
}

/// Pairs the ends in their order, as indexes of `connected` and `accepted`; `None` if an end with
/// bytes is left over, so that the order does not hold.
fn pair_in_order(
    connected: &[NamelessEnd],
    accepted: &[NamelessEnd],
) -> Option<Vec<(usize, usize)>> {
    let mut free: Vec<bool> = vec![true; connected.len()];
    let (mut first, mut pairs) = (0, Vec::new());
    for (other, accepting) in accepted.iter().enumerate() {
        while free.get(first) == Some(&false) {
            first += 1;
        }
        let fits = |place: &usize| free[*place] && may_be_connected(&connected[*place], accepting);
        match (first..connected.len()).take(MAX_COMPARED_ENDS).find(fits) {
            Some(one) => {
                free[one] = false;
                pairs.push((one, other));
            }
            None if accepting.has_bytes() => return None,
            None => {}
        }
    }
    let is_left = |(end, free): (&NamelessEnd, &bool)| *free && end.has_bytes();
    if connected.iter().zip(&free).any(is_left) { None } else { Some(pairs) }
}

/// Pairs of ends with a single possible partner.
fn pair_unique(connected: &[NamelessEnd], accepted: &[NamelessEnd]) -> Vec<(usize, usize)> {
    if connected.len().saturating_mul(accepted.len()) > MAX_COMPARED_ENDS * MAX_COMPARED_ENDS {
        return Vec::new();
    }
    let mut partners: [Vec<Vec<usize>>; 2] =
        [vec![Vec::new(); connected.len()], vec![Vec::new(); accepted.len()]];
    for (one, connecting) in connected.iter().enumerate() {
        for (other, accepting) in accepted.iter().enumerate() {
            if connecting.has_bytes()
                && accepting.has_bytes()
                && may_be_connected(connecting, accepting)
            {
                partners[0][one].push(other);
                partners[1][other].push(one);
            }
        }
    }
    let [of_one, of_other] = &partners;
    let only = |(one, others): (usize, &Vec<usize>)| match others.as_slice() {
        [other] if of_other[*other].len() == 1 => Some((one, *other)),
        _ => None,
    };
    of_one.iter().enumerate().filter_map(only).collect()
}

/// Whether two ends can be the ends of one connection.
fn may_be_connected(connecting: &NamelessEnd, accepting: &NamelessEnd) -> bool {
    let (to, from) = (connecting.peer.ip(), accepting.peer.ip());
    let listens = accepting.local.map_or(to, |local| local.ip());
    // A machine connects to one of its own addresses from that same address, and to loopback from
    // loopback.
    let on_one_machine = to == from || (to.is_loopback() && from.is_loopback());
    let [sent, received] = connecting.totals;
    let [answered, asked] = accepting.totals;
    on_one_machine
        && (listens == to || listens.is_unspecified())
        && accepting.time >= connecting.time
        && asked <= sent
        && received <= answered
        && could_arrive(&connecting.first[0], &accepting.first[1])
        && could_arrive(&accepting.first[0], &connecting.first[1])
}

/// Whether nothing was received before it had been sent, as far as the first calls show.
fn could_arrive(sent: &[(i64, u64)], received: &[(i64, u64)]) -> bool {
    received.iter().all(|(time, bytes)| {
        match sent.iter().find(|(_, sum)| sum >= bytes) {
            Some((then, _)) => *then <= time.saturating_add(STRACE_LATE_NS),
            // The call is not among the first.
            None => sent.len() >= FIRST_CALLS,
        }
    })
}

impl NamelessEnd {
    fn has_bytes(&self) -> bool {
        self.totals != [0; 2]
    }
}

fn inet_address(name: &[u8]) -> Option<SocketAddr> {
    let address = address::inet_address(name)?;
    let ip: IpAddr = address.ip().to_canonical();
    Some(SocketAddr::new(ip, address.port()))
}
