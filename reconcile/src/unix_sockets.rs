//! The two ends of unix sockets, which have no name that both ends know.
//!
//! A client's socket is nameless; it knows the path it connected to. The server's knows its own path and, from the
//! kernel, the process that connected. So the k-th connection of a process to a path is the k-th that was accepted
//! there from that process. The ends of a `socketpair` are known from the call itself.

use message_trace::Protocol;
use rustc_hash::FxHashMap;
use socket_log::SocketName;
use socket_log::encode::Role;

use crate::capture::{Capture, NONE};
use crate::column::Column;
use crate::connections::candidate;
use crate::first_calls::FirstCalls;
use crate::pairing::{self, Candidate};
use crate::socket::Socket;

/// The ends of every `socketpair`, the first made first.
pub(crate) fn pairs(sockets: &Column<Socket>) -> impl Iterator<Item = (u32, u32)> {
    let ends = (0..).zip(sockets.iter()).map(|(place, socket)| (place, socket.pair));
    ends.filter(|(place, other)| *other != NONE && place < other)
}

/// What the two ends of a unix connection have in common, of the server's name and the client's process.
type Common = (String, u32);

/// Makes that of the two, from the surest to the vaguest.
const KEYS: [fn(&SocketName, u32) -> Common; 3] = [
    |name, client| (name.to_string(), client),
    // A server may have bound a relative path.
    |name, client| (name.to_string().rsplit('/').next().unwrap_or_default().to_owned(), client),
    // Process numbers differ between the two where they live in different containers.
    |name, _| (name.to_string(), 0),
];

/// Those that connected, and those that were accepted.
type Sides = [Vec<Candidate>; 2];

/// The side of a unix stream socket, the name of the server's socket, and the client's process; `None` of sockets
/// that are to be paired in another way or not at all.
fn end<'a>(capture: &'a Capture, socket: &Socket) -> Option<(usize, &'a SocketName, u32)> {
    if !matches!(socket.protocol, Protocol::UnixStream | Protocol::UnixSequence) || socket.pair != NONE {
        return None;
    }
    let (side, name, client) = match socket.role {
        Role::Connect => (0, socket.peer, socket.pid),
        Role::Accept => (1, socket.local, socket.peer_pid),
        _ => return None,
    };
    Some((side, capture.names.unix(name)?, client))
}

/// Whose the name is: a path is the kernel's, an abstract name is of one network namespace.
fn owner(socket: &Socket, name: &SocketName) -> (bool, u32) {
    match name {
        SocketName::Path(_) => (true, socket.kernel),
        _ => (false, socket.machine),
    }
}

/// The sockets of which names and order may not tell which goes with which, so that their calls matter.
pub(crate) fn ambiguous(capture: &Capture, sockets: &Column<Socket>) -> Vec<u32> {
    let mut ends: Vec<((bool, u32), Common, usize, u32)> = Vec::new();
    for (place, socket) in sockets.iter().enumerate() {
        if let Some((side, name, _)) = end(capture, socket) {
            // By the vaguest part of all keys.
            ends.push((owner(socket, name), KEYS[1](name, 0), side, place as u32));
        }
    }
    ends.sort_unstable();
    let groups = ends.chunk_by(|one, next| (one.0, &one.1) == (next.0, &next.1));
    let many = groups.filter(|group| (0..2).all(|side| group.iter().filter(|end| end.2 == side).count() > 1));
    many.flatten().map(|end| end.3).collect()
}

/// Pairs the sockets that connected to a unix socket with those that were accepted there.
pub(crate) fn connected(
    capture: &Capture,
    sockets: &Column<Socket>,
    first_calls: &FirstCalls,
) -> Vec<(u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut done = vec![false; sockets.len()];
    for key in KEYS {
        let mut groups: FxHashMap<((bool, u32), Common), Sides> = FxHashMap::default();
        for (place, socket) in sockets.iter().enumerate().filter(|(place, _)| !done[*place]) {
            if let Some((side, name, client)) = end(capture, socket) {
                let group = groups.entry((owner(socket, name), key(name, client))).or_default();
                group[side].push(candidate(place as u32, socket));
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (_, [mut connecting, mut accepting]) in groups {
            connecting.sort_by_key(|candidate| (candidate.named, candidate.socket));
            accepting.sort_by_key(|candidate| (candidate.named, candidate.socket));
            let possible = |one: u32, other: u32| {
                let apart = sockets[one as usize].clock_apart(&sockets[other as usize]);
                apart.is_none_or(|apart| first_calls.possible(one, other, apart))
            };
            for (one, other) in pairing::in_order(&connecting, &accepting, possible) {
                done[one as usize] = true;
                done[other as usize] = true;
                pairs.push((one, other));
            }
        }
    }
    pairs
}
