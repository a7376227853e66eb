//! Names of sockets, kept once each, and what follows from a name alone.

use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hashbrown::HashTable;
use message_trace::Endpoint;
use rustc_hash::FxBuildHasher;
use socket_log::SocketName;

/// A name's place among the names.
pub(crate) type NameId = u32;
/// No name is known.
pub(crate) const NO_NAME: NameId = u32::MAX;

/// All names, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    values: Vec<SocketName>,
    /// By the hash of the name, which is not here once more, as there may be millions.
    ids: HashTable<NameId>,
}

fn hash(name: &SocketName) -> u64 {
    FxBuildHasher.hash_one(name)
}

impl Names {
    pub(crate) fn intern(&mut self, name: SocketName) -> NameId {
        if let Some(id) = self.find(&name) {
            return id;
        }
        let id = self.values.len() as NameId;
        let hash_of = |id: &NameId| self.values.get(*id as usize).map_or(0, hash);
        self.ids.insert_unique(hash(&name), id, hash_of);
        self.values.push(name);
        id
    }

    pub(crate) fn intern_some(&mut self, name: Option<SocketName>) -> NameId {
        name.map_or(NO_NAME, |name| self.intern(name))
    }

    /// The names alone, in the order of their places.
    pub(crate) fn into_values(self) -> impl Iterator<Item = SocketName> {
        self.values.into_iter()
    }

    /// About how many bytes of memory they take.
    pub(crate) fn bytes(&self) -> usize {
        const ENTRY: usize = size_of::<SocketName>() + 2 * (size_of::<NameId>() + 1);
        self.values.len() * ENTRY
    }

    /// The place of `name`, where it is known.
    pub(crate) fn find(&self, name: &SocketName) -> Option<NameId> {
        self.ids.find(hash(name), |id| self.get(*id) == Some(name)).copied()
    }

    pub(crate) fn get(&self, id: NameId) -> Option<&SocketName> {
        self.values.get(id as usize)
    }

    /// The address and port, where the name is one.
    pub(crate) fn inet(&self, id: NameId) -> Option<SocketAddr> {
        match self.get(id)? {
            SocketName::Inet(address) => Some(*address),
            _ => None,
        }
    }

    /// The name, where it is a unix socket's path or abstract name.
    pub(crate) fn unix(&self, id: NameId) -> Option<&SocketName> {
        self.get(id).filter(|name| matches!(name, SocketName::Path(_) | SocketName::Abstract(_)))
    }

    /// A number for a unix socket's name in the place where it means that socket: a path's is the kernel's, an
    /// abstract name's is the machine's. Below 2^62.
    pub(crate) fn path_place(&self, id: NameId, kernel: u32, machine: u32) -> Option<u64> {
        let (kind, owner) = match self.get(id)? {
            SocketName::Path(_) => (0, kernel),
            SocketName::Abstract(_) => (1, machine),
            _ => return None,
        };
        Some(kind << 61 | u64::from(owner & 0x1fff_ffff) << 32 | u64::from(id))
    }

    /// Whether the name says nothing about which machine it is on: loopback addresses and unix names are each
    /// machine's own.
    pub(crate) fn is_of_its_machine(&self, id: NameId) -> bool {
        match self.get(id) {
            Some(SocketName::Inet(address)) => address.ip().is_loopback(),
            _ => true,
        }
    }

    /// Whether the name is one of a socket, so that it has an endpoint.
    pub(crate) fn is_endpoint(&self, id: NameId) -> bool {
        !matches!(self.get(id), None | Some(SocketName::Unnamed | SocketName::Other(_)))
    }

    /// The endpoint of that name; `None` where it is no name of a socket.
    pub(crate) fn endpoint(&self, id: NameId) -> Option<Endpoint> {
        match self.get(id)? {
            SocketName::Inet(address) => Some(Endpoint::Inet(*address)),
            SocketName::Path(path) => Some(Endpoint::Unix(path.clone())),
            SocketName::Abstract(name) => Some(Endpoint::Unix(format!("@{}", name.escape_debug()))),
            SocketName::Unnamed | SocketName::Other(_) => None,
        }
    }
}

/// The loopback address of the family that `ip` is of.
pub(crate) fn loopback(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    }
}

/// Whether a datagram to `ip` may reach many.
pub(crate) fn is_for_many(ip: IpAddr) -> bool {
    ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.is_broadcast())
}
