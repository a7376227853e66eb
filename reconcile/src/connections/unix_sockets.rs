//! Ends of unix sockets, which have no name that both ends know.
//!
//! A client's socket is nameless; it knows the path to which it connected. The server's knows its
//! own path and, from the kernel, the process that connected. So the k-th connection of a process
//! to a path is the k-th that was accepted there from that process. The ends of a `socketpair` are
//! known from the call itself.

use message_trace::{PathError, TransportProtocol};
use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;
use socket_log::SocketName;
use socket_log::encode::FlowRole;

use crate::connections::first_calls::FirstCalls;
use crate::connections::pairing::{self, make_candidate};
use crate::indices::SocketIndex;
use crate::logs::capture::Capture;
use crate::socket_names::SocketNameId;
use crate::sockets::socket::KernelSocket;

/// The ends of every `socketpair`, in the order in which they were made.
pub(crate) fn find_socketpairs(
    sockets: &SpillableVec<KernelSocket>,
) -> impl Iterator<Item = (SocketIndex, SocketIndex)> {
    let ends = SocketIndex::indices().zip(sockets.iter());
    let ends = ends.filter_map(|(place, socket)| Some((place, socket.pair.get()?)));
    ends.filter(|(place, other)| place < other)
}

/// Extracts a text from a server's name.
type NameText = fn(&SocketName) -> String;

/// Keys that the two ends of a unix connection share, from the most exact to the vaguest: a text
/// from the server's name, and whether the client's process is included.
const KEYS: [(NameText, bool); 3] = [
    (SocketName::to_string, true),
    // A server may have bound a relative path.
    (last_part, true),
    // Process ids differ between the two if they are in different containers.
    (SocketName::to_string, false),
];

/// The last part of a path.
fn last_part(name: &SocketName) -> String {
    name.to_string().rsplit('/').next().unwrap_or_default().to_owned()
}

/// Interner of texts from the names of sockets: there are few of these, whatever the number of
/// sockets.
#[derive(Default)]
struct TextInterner {
    numbers: FxHashMap<String, u32>,
    of_names: FxHashMap<SocketNameId, u32>,
}

impl TextInterner {
    /// The number of the text for `name`.
    fn intern_text(&mut self, name: SocketNameId, text: impl FnOnce() -> String) -> u32 {
        let numbers = &mut self.numbers;
        let number = || {
            let next = numbers.len() as u32;
            *numbers.entry(text()).or_insert(next)
        };
        *self.of_names.entry(name).or_insert_with(number)
    }
}

/// A socket with its key: scope of the name, the name, and the client's process; then its side, the
/// time when it was connected or accepted, and its index.
type KeyedSocket = (((bool, u32), u32, u32), usize, i64, SocketIndex);

/// Returns the side of a unix stream socket, the name of the server's socket, and the client's
/// process; `None` for sockets that are paired in another way or not at all.
fn find_server_end<'a>(
    capture: &'a Capture,
    socket: &KernelSocket,
) -> Option<(usize, SocketNameId, &'a SocketName, u32)> {
    if !matches!(socket.protocol, TransportProtocol::UnixStream | TransportProtocol::UnixSequence)
        || socket.pair.get().is_some()
    {
        return None;
    }
    let (side, name, client) = match socket.role {
        FlowRole::Connect => (0, socket.peer, socket.pid),
        FlowRole::Accept => (1, socket.local, socket.peer_pid),
        _ => return None,
    };
    Some((side, name.get()?, capture.names.unix_name(name)?, client))
}

/// Scope in which a name is unique: `true` and the kernel for a path, `false` and the network
/// namespace for an abstract name.
fn name_scope(socket: &KernelSocket, name: &SocketName) -> (bool, u32) {
    match name {
        SocketName::Path(_) => (true, socket.kernel.index() as u32),
        _ => (false, socket.machine.index() as u32),
    }
}

/// Finds the sockets for which names and order may not determine the partner, so that their calls
/// are needed.
pub(crate) fn find_ambiguous(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
) -> Result<SpillableVec<bool>, PathError> {
    let mut ends: SpillableVec<((bool, u32), u32, usize, SocketIndex)> =
        SpillableVec::new(&capture.pool);
    let mut texts = TextInterner::default();
    for (place, socket) in SocketIndex::indices().zip(sockets.iter()) {
        if let Some((side, id, name, _)) = find_server_end(capture, socket) {
            // By the vaguest of all keys.
            let text = texts.intern_text(id, || last_part(name));
            ends.push((name_scope(socket, name), text, side, place))?;
        }
    }
    ends.sort_by_key(|end| *end)?;
    let mut ambiguous = SpillableVec::filled(&capture.pool, sockets.len(), false)?;
    let mut start = 0;
    while let Some((owner, text, ..)) = ends.get(start).copied() {
        let end = ends.end_where(start, |end| (end.0, end.1) == (owner, text));
        let boundary = ends.partition_point(start..end, |end| end.2 == 0);
        if boundary - start > 1 && end - boundary > 1 {
            for (.., place) in ends.range(start..end) {
                ambiguous[place.index()] = true;
            }
        }
        start = end;
    }
    Ok(ambiguous)
}

/// Pairs the sockets that connected to a unix socket with those that were accepted there: calls
/// `pair` with each pair.
pub(crate) fn pair_connected(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    first_calls: &FirstCalls,
    mut pair: impl FnMut((SocketIndex, SocketIndex)),
) -> Result<(), PathError> {
    let pool = &capture.pool;
    let mut done = SpillableVec::filled(pool, sockets.len(), false)?;
    for (text_of, with_client) in KEYS {
        let mut texts = TextInterner::default();
        let mut ends: SpillableVec<KeyedSocket> = SpillableVec::new(pool);
        for (place, socket) in SocketIndex::indices().zip(sockets.iter()) {
            if let Some((side, id, name, client)) =
                find_server_end(capture, socket).filter(|_| !done[place.index()])
            {
                let text = texts.intern_text(id, || text_of(name));
                let group = (name_scope(socket, name), text, if with_client { client } else { 0 });
                ends.push((group, side, socket.named, place))?;
            }
        }
        ends.sort_by_key(|end| *end)?;
        let mut start = 0;
        while let Some((group, ..)) = ends.get(start).copied() {
            let end = ends.end_where(start, |end| end.0 == group);
            let boundary = ends.partition_point(start..end, |end| end.1 == 0);
            let candidates = |range| {
                let places = ends.range(range).map(|(.., place)| *place);
                SpillableVec::collect(
                    pool,
                    places.map(|place| make_candidate(place, &sockets[place.index()])),
                )
            };
            let (connecting, accepting) =
                (candidates(start..boundary)?, candidates(boundary..end)?);
            start = end;
            let possible = |one: SocketIndex, other: SocketIndex| {
                let apart = sockets[one.index()].clock_apart(&sockets[other.index()]);
                apart.is_none_or(|apart| first_calls.can_connect(one, other, apart))
            };
            pairing::pair_in_order(connecting, &accepting, possible, |one, other| {
                done[one.index()] = true;
                done[other.index()] = true;
                pair((one, other));
            });
        }
    }
    Ok(())
}
