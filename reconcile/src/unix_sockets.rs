//! The two ends of unix sockets, which have no name that both ends know.
//!
//! A client's socket is nameless; it knows the path it connected to. The server's knows its own path and, from the
//! kernel, the process that connected. So the k-th connection of a process to a path is the k-th that was accepted
//! there from that process. The ends of a `socketpair` are known from the call itself.

use message_trace::Protocol;
use rustc_hash::FxHashMap;
use socket_log::SocketName;
use socket_log::encode::Role;

use crate::capture::Capture;
use crate::connections::candidate;
use crate::pairing::{self, Candidate};
use crate::socket::Socket;
use crate::streams;

/// The ends of every `socketpair`, the first made first.
pub(crate) fn pairs(sockets: &[Socket]) -> Vec<(u32, u32)> {
    let ends = sockets.iter().enumerate().filter_map(|(place, socket)| {
        let place = place as u32;
        socket.pair.filter(|other| place < *other).map(|other| (place, other))
    });
    ends.collect()
}

/// How far apart, in nanoseconds, two processes of one machine may have read the same clock: each adds its own
/// difference between monotonic and wall-clock time, read a moment apart.
const SLACK: i64 = 10_000;

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

/// Pairs the sockets that connected to a unix socket with those that were accepted there.
pub(crate) fn connected(capture: &Capture, sockets: &[Socket]) -> Vec<(u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut done = vec![false; sockets.len()];
    for key in KEYS {
        let mut groups: FxHashMap<(u32, Common), Sides> = FxHashMap::default();
        for (place, socket) in sockets.iter().enumerate().filter(|(place, _)| !done[*place]) {
            if !matches!(socket.protocol, Protocol::UnixStream | Protocol::UnixSequence)
                || socket.pair.is_some()
            {
                continue;
            }
            let (side, name, client) = match socket.role {
                Role::Connect => (0, socket.peer, socket.pid),
                Role::Accept => (1, socket.local, socket.peer_pid),
                _ => continue,
            };
            if let Some(name) = capture.names.unix(name) {
                let group = groups.entry((socket.machine, key(name, client))).or_default();
                group[side].push(candidate(place as u32, socket));
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (_, [mut connecting, mut accepting]) in groups {
            connecting.sort_by_key(|candidate| (candidate.named, candidate.socket));
            accepting.sort_by_key(|candidate| (candidate.named, candidate.socket));
            let possible = |one: u32, other: u32| {
                let (one, other) = (&sockets[one as usize], &sockets[other as usize]);
                streams::possible(&one.sends, &other.receives, SLACK)
                    && streams::possible(&other.sends, &one.receives, SLACK)
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
