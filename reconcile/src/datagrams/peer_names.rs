//! Peer names: the names of datagram sockets towards each of their peers.
//!
//! A socket bound to all addresses of its host, or to none, does not know under which address its
//! peers reach it. Its peers do: the name that a peer sent to or received from is the socket's own
//! towards that peer (WAP5 section 4).

use std::net::SocketAddr;

use message_trace::{PathError, TransportProtocol};
use out_of_core::{MemoryPool, SpillableVec};
use rustc_hash::FxHashMap;
use socket_log::SocketName;

use crate::calls::DatagramCall;
use crate::indices::{OptionalIndex, SocketIndex};
use crate::socket_names::{SocketNameId, SocketNameInterner, is_group_address, loopback_address};
use crate::sockets::addresses::MachineAddresses;
use crate::sockets::socket::KernelSocket;
use crate::tuning::MANY_SEEN_NAMES;

/// Names of a socket without an address of its own if no peer shows one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FallbackNames {
    /// Name towards peers on loopback.
    loopback: SocketNameId,
    /// Name towards all others: the host's only address, as far as known, or else the socket's own
    /// name.
    host: SocketNameId,
}

/// The fallbacks of all sockets that need one, by socket.
pub(crate) fn find_fallbacks(
    names: &mut SocketNameInterner,
    sockets: &SpillableVec<KernelSocket>,
    addresses: &MachineAddresses,
) -> Result<FxHashMap<SocketIndex, FallbackNames>, PathError> {
    let mut all = FxHashMap::default();
    let sockets = SocketIndex::indices().zip(sockets.iter());
    for (place, socket) in sockets.filter(|(_, socket)| socket.protocol == TransportProtocol::Udp) {
        let own = names.inet_address(socket.local).filter(|own| own.ip().is_unspecified());
        let Some((local, own)) = socket.local.get().zip(own) else { continue };
        let mut name = |ip| names.intern(SocketName::Inet(SocketAddr::new(ip, own.port())));
        let loopback = name(loopback_address(own.ip()))?;
        let host = addresses.only_address(socket.machine, own.ip()).map_or(Ok(local), name)?;
        all.insert(place, FallbackNames { loopback, host });
    }
    Ok(all)
}

/// A socket and the name of its peer, if known.
type SocketAndPeer = (SocketIndex, OptionalIndex<SocketNameId>);

/// A name under which a peer saw a socket: the socket and the peer; the time when the name was
/// used, by the clock of the end that used it; and the name.
type SeenNameRow = (SocketAndPeer, (i64, SocketNameId));

/// Names under which peers saw sockets, as learned by one part of the work: of several, the one
/// used first.
#[derive(Debug, Default)]
pub(crate) struct SeenNames(FxHashMap<SocketAndPeer, (i64, SocketNameId)>);

impl SeenNames {
    /// Records the names under which the two ends of a datagram, which both saw it, know each
    /// other.
    pub(crate) fn learn_names(
        &mut self,
        sent: &DatagramCall,
        received: &DatagramCall,
        names: &SocketNameInterner,
        nameless: &FxHashMap<SocketIndex, FallbackNames>,
    ) {
        let (to, from) = (sent.peer, received.peer);
        let sees_one = names
            .inet_address(to)
            .is_some_and(|to| !is_group_address(to.ip()) && !to.ip().is_unspecified());
        if let Some(to) = to.get().filter(|_| sees_one)
            && nameless.contains_key(&received.socket)
        {
            self.add((received.socket, from), (sent.time, to));
        }
        if let Some(from) = from.get()
            && nameless.contains_key(&sent.socket)
        {
            self.add((sent.socket, to), (received.time, from));
        }
    }

    fn add(&mut self, key: SocketAndPeer, seen: (i64, SocketNameId)) {
        self.0.entry(key).and_modify(|first| *first = seen.min(*first)).or_insert(seen);
    }
}

/// Names from all parts of the work.
#[derive(Debug)]
pub(crate) struct AllSeenNames {
    rows: SpillableVec<SeenNameRow>,
    /// Number of rows when they were last sorted.
    before: usize,
}

impl AllSeenNames {
    pub(crate) fn new(pool: &MemoryPool) -> AllSeenNames {
        AllSeenNames { rows: SpillableVec::new(pool), before: 0 }
    }

    /// Adds the names learned by a part of the work.
    pub(crate) fn absorb(&mut self, part: SeenNames) -> Result<(), PathError> {
        self.rows.extend(part.0)?;
        // Parts may have learned the same names.
        if self.rows.len() > 2 * self.before + MANY_SEEN_NAMES { self.sort_names() } else { Ok(()) }
    }

    /// Keeps the first row of each socket and peer, in their order.
    pub(crate) fn sort_names(&mut self) -> Result<(), PathError> {
        self.rows.sort_by_key(|row| *row)?;
        self.rows.dedup_by_key(|row| row.0);
        self.before = self.rows.len();
        Ok(())
    }

    /// The name of a key, once the rows are sorted.
    fn get(&self, key: SocketAndPeer) -> Option<SocketNameId> {
        let at = self.rows.partition_point(0..self.rows.len(), |row| row.0 < key);
        self.rows.get(at).filter(|row| row.0 == key).map(|(_, (_, name))| *name)
    }
}

/// Names of sockets in the view of their peers.
pub(crate) struct PeerViews<'a> {
    pub(crate) sockets: &'a SpillableVec<KernelSocket>,
    pub(crate) names: &'a SocketNameInterner,
    pub(crate) fallbacks: &'a FxHashMap<SocketIndex, FallbackNames>,
    pub(crate) seen: AllSeenNames,
}

impl PeerViews<'_> {
    /// The name of the socket `socket` towards its peer `peer`.
    pub(crate) fn own_name(
        &self,
        socket: SocketIndex,
        peer: OptionalIndex<SocketNameId>,
    ) -> OptionalIndex<SocketNameId> {
        let Some(fallback) = self.fallbacks.get(&socket) else {
            return self.sockets[socket.index()].local;
        };
        let seen = self.seen.get((socket, peer));
        OptionalIndex::some(seen.unwrap_or_else(|| match self.names.inet_address(peer) {
            Some(peer) if peer.ip().is_loopback() => fallback.loopback,
            _ => fallback.host,
        }))
    }
}
