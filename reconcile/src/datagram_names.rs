//! The names of datagram sockets towards each of their peers.
//!
//! A socket bound to all addresses of its host, or to none, does not know under which one it is talked to. Its
//! peers do: the name that a peer sent to or received from is the socket's own towards that peer (WAP5 section 4).

use std::net::SocketAddr;

use message_trace::Protocol;
use rustc_hash::FxHashMap;
use socket_log::SocketName;

use crate::addresses::Addresses;
use crate::datagram_match::At;
use crate::names::{NO_NAME, NameId, Names, is_for_many, loopback};
use crate::socket::Socket;

/// The names that a socket without an address of its own can have where no peer tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fallback {
    /// Towards peers on loopback.
    loopback: NameId,
    /// Towards all others: the host's only address, as far as known, or the socket's name as it is.
    host: NameId,
}

/// The fallbacks of all sockets that need one, by socket.
pub(crate) fn fallbacks(
    names: &mut Names,
    sockets: &[Socket],
    addresses: &Addresses,
) -> FxHashMap<u32, Fallback> {
    let mut all = FxHashMap::default();
    for (place, socket) in sockets.iter().enumerate().filter(|(_, socket)| socket.protocol == Protocol::Udp) {
        let Some(own) = names.inet(socket.local).filter(|own| own.ip().is_unspecified()) else { continue };
        let mut name = |ip| names.intern(SocketName::Inet(SocketAddr::new(ip, own.port())));
        let loopback = name(loopback(own.ip()));
        let host = addresses.only_address(socket.machine, own.ip()).map_or(socket.local, name);
        all.insert(place as u32, Fallback { loopback, host });
    }
    all
}

/// How sockets are seen by their peers.
pub(crate) struct Views<'a> {
    sockets: &'a [Socket],
    names: &'a Names,
    fallbacks: &'a FxHashMap<u32, Fallback>,
    /// By socket and peer.
    by_peer: FxHashMap<(u32, NameId), NameId>,
}

impl<'a> Views<'a> {
    /// What the matched datagrams tell.
    pub(crate) fn of(
        names: &'a Names,
        sockets: &'a [Socket],
        fallbacks: &'a FxHashMap<u32, Fallback>,
        pairs: &[(At, At)],
    ) -> Views<'a> {
        let mut by_peer = FxHashMap::default();
        let peer = |at: &At| sockets[at.socket as usize].datagrams[at.index as usize].peer;
        for (send, receive) in pairs {
            let (to, from) = (peer(send), peer(receive));
            let sees_one =
                names.inet(to).is_some_and(|to| !is_for_many(to.ip()) && !to.ip().is_unspecified());
            if sees_one && fallbacks.contains_key(&receive.socket) {
                by_peer.entry((receive.socket, from)).or_insert(to);
            }
            if from != NO_NAME && fallbacks.contains_key(&send.socket) {
                by_peer.entry((send.socket, to)).or_insert(from);
            }
        }
        Views { sockets, names, fallbacks, by_peer }
    }

    /// The name of the socket number `socket` towards its peer `peer`.
    pub(crate) fn own(&self, socket: u32, peer: NameId) -> NameId {
        let Some(fallback) = self.fallbacks.get(&socket) else {
            return self.sockets[socket as usize].local;
        };
        if let Some(name) = self.by_peer.get(&(socket, peer)) {
            return *name;
        }
        match self.names.inet(peer) {
            Some(peer) if peer.ip().is_loopback() => fallback.loopback,
            _ => fallback.host,
        }
    }
}
