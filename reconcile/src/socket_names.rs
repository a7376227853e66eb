//! Names of sockets, each stored once, and properties that follow from a name alone.
//!
//! There may be as many names as there are connections, so IP names take a few bytes in a table;
//! others are rare.

use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use message_trace::{Endpoint, PathError};
use out_of_core::{FreeSlot, HashIndex, MemoryPool, SpillableVec};
use rustc_hash::FxBuildHasher;
use socket_log::SocketName;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::indices::{KernelIndex, MachineIndex, OptionalIndex, TableIndex};

/// Number of a name in a [`SocketNameInterner`].
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, FromBytes, IntoBytes, Immutable,
)]
#[repr(transparent)]
pub(crate) struct SocketNameId(u32);

impl TableIndex for SocketNameId {
    const NONE: SocketNameId = SocketNameId(u32::MAX);
}

const _: () = assert!(size_of::<OptionalIndex<SocketNameId>>() == size_of::<u32>());

impl SocketNameId {
    /// The id of the name at this index.
    pub(crate) const fn from_index(index: usize) -> SocketNameId {
        SocketNameId(index as u32)
    }

    /// The index of the name.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// All names, each once.
#[derive(Debug, Default)]
pub(crate) struct SocketNameInterner {
    rows: SpillableVec<InternedName>,
    /// The addresses of the IPv6 names.
    v6: SpillableVec<Ipv6Addr>,
    /// Names that are not an address and port.
    others: Vec<SocketName>,
    /// Ids by the names' hashes.
    ids: HashIndex,
}

/// A name: its IPv4 address, or its index among the names of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InternedName {
    kind: NameKind,
    port: u16,
    /// The IPv4 address, or the index among the names of this kind.
    value: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NameKind {
    V4,
    V6,
    Other,
}

/// Form of a name for lookups.
enum NameQuery<'a> {
    V4(Ipv4Addr, u16),
    V6(Ipv6Addr, u16),
    Other(&'a SocketName),
}

impl<'a> NameQuery<'a> {
    fn from_name(name: &'a SocketName) -> NameQuery<'a> {
        match name {
            SocketName::Inet(SocketAddr::V4(v4)) => NameQuery::V4(*v4.ip(), v4.port()),
            // Names have no scope, because logs do not record it.
            SocketName::Inet(SocketAddr::V6(v6)) => NameQuery::V6(*v6.ip(), v6.port()),
            other => NameQuery::Other(other),
        }
    }

    fn hash(&self) -> u64 {
        match self {
            // Addresses and ports mostly come in some order, so neighbours get adjacent slots: then
            // few pages of the table are touched at a time. No two names of a block of neighbours
            // share a slot.
            NameQuery::V4(ip, port) => {
                let (ip, port) = (ip.to_bits(), *port);
                let within = u64::from(ip & 3) << 4 | u64::from(port & 15);
                FxBuildHasher.hash_one((ip >> 2, port >> 4)) << 6 | within
            }
            NameQuery::V6(ip, port) => FxBuildHasher.hash_one((ip.to_bits(), port)),
            NameQuery::Other(name) => FxBuildHasher.hash_one(name),
        }
    }
}

impl SocketNameInterner {
    pub(crate) fn new(pool: &MemoryPool) -> SocketNameInterner {
        SocketNameInterner {
            rows: SpillableVec::new(pool),
            v6: SpillableVec::new(pool),
            others: Vec::new(),
            ids: HashIndex::new(pool),
        }
    }

    /// The id of `name`, which is added if it is new.
    pub(crate) fn intern(&mut self, name: SocketName) -> Result<SocketNameId, PathError> {
        let mut ids = std::mem::take(&mut self.ids);
        let hash = |id| {
            self.row_of_id(SocketNameId(id))
                .and_then(|row| self.query_of_row(row))
                .map_or(0, |sought| sought.hash())
        };
        ids.reserve_slots(self.rows.len(), hash)?;
        self.ids = ids;
        let sought = NameQuery::from_name(&name);
        let free = match self.find_row(&sought) {
            Ok(id) => return Ok(id),
            Err(free) => free,
        };
        let row = match sought {
            NameQuery::V4(ip, port) => {
                InternedName { kind: NameKind::V4, port, value: ip.to_bits() }
            }
            NameQuery::V6(ip, port) => {
                self.v6.push(ip)?;
                InternedName { kind: NameKind::V6, port, value: self.v6.len() as u32 - 1 }
            }
            NameQuery::Other(_) => {
                self.others.push(name);
                InternedName { kind: NameKind::Other, port: 0, value: self.others.len() as u32 - 1 }
            }
        };
        let id = SocketNameId::from_index(self.rows.len());
        self.rows.push(row)?;
        if let Some(free) = free {
            self.ids.put_number(free, id.0);
        }
        Ok(id)
    }

    /// The id of a name that may be missing.
    pub(crate) fn intern_some(
        &mut self,
        name: Option<SocketName>,
    ) -> Result<OptionalIndex<SocketNameId>, PathError> {
        Ok(name.map(|name| self.intern(name)).transpose()?.into())
    }

    /// Finds the id of a name or, if it is unknown, the free slot for it in `ids`.
    fn find_row(&self, sought: &NameQuery) -> Result<SocketNameId, Option<FreeSlot>> {
        let found = self.ids.find_number(sought.hash(), |id| {
            self.row_of_id(SocketNameId(id)).is_some_and(|row| self.matches_row(row, sought))
        });
        found.map(SocketNameId)
    }

    /// Whether a row has the sought name.
    fn matches_row(&self, row: InternedName, sought: &NameQuery) -> bool {
        match *sought {
            NameQuery::V4(ip, port) => {
                row == InternedName { kind: NameKind::V4, port, value: ip.to_bits() }
            }
            NameQuery::V6(ip, port) => {
                (row.kind, row.port) == (NameKind::V6, port)
                    && self.v6.get(row.value as usize) == Some(&ip)
            }
            NameQuery::Other(name) => self.other_name(row) == Some(name),
        }
    }

    /// The name of a row, in the form for lookups.
    fn query_of_row(&self, row: InternedName) -> Option<NameQuery<'_>> {
        match row.kind {
            NameKind::V4 => Some(NameQuery::V4(Ipv4Addr::from_bits(row.value), row.port)),
            NameKind::V6 => Some(NameQuery::V6(*self.v6.get(row.value as usize)?, row.port)),
            NameKind::Other => Some(NameQuery::Other(self.other_name(row)?)),
        }
    }

    fn row_of_id(&self, id: SocketNameId) -> Option<InternedName> {
        self.rows.get(id.index()).copied()
    }

    /// The name of a row, if the name has no address and port.
    fn other_name(&self, row: InternedName) -> Option<&SocketName> {
        self.others.get(row.value as usize).filter(|_| row.kind == NameKind::Other)
    }

    /// The address and port of a row's name, if it has them.
    fn address_of_row(&self, row: InternedName) -> Option<SocketAddr> {
        let ip = match row.kind {
            NameKind::V4 => IpAddr::V4(Ipv4Addr::from_bits(row.value)),
            NameKind::V6 => IpAddr::V6(*self.v6.get(row.value as usize)?),
            NameKind::Other => return None,
        };
        Some(SocketAddr::new(ip, row.port))
    }

    /// The names alone, in the order of their ids.
    pub(crate) fn iter_names(&self) -> impl Iterator<Item = SocketName> {
        self.rows.iter().filter_map(|row| {
            self.address_of_row(*row)
                .map(SocketName::Inet)
                .or_else(|| self.other_name(*row).cloned())
        })
    }

    /// The id of `name`, if it is known.
    pub(crate) fn find(&self, name: &SocketName) -> Option<SocketNameId> {
        self.find_row(&NameQuery::from_name(name)).ok()
    }

    /// Number of names. All ids are less than it.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The address and port of the name, if it has them.
    pub(crate) fn inet_address(&self, id: OptionalIndex<SocketNameId>) -> Option<SocketAddr> {
        self.address_of_row(self.row_of_id(id.get()?)?)
    }

    /// The id of the name, if the name has an address and port.
    pub(crate) fn inet_name(&self, id: OptionalIndex<SocketNameId>) -> Option<SocketNameId> {
        id.get().filter(|_| self.inet_address(id).is_some())
    }

    /// The name, if it is a unix socket's path or abstract name.
    pub(crate) fn unix_name(&self, id: OptionalIndex<SocketNameId>) -> Option<&SocketName> {
        let name = self.other_name(self.row_of_id(id.get()?)?);
        name.filter(|name| matches!(name, SocketName::Path(_) | SocketName::Abstract(_)))
    }

    /// Machine and port of a vsock name.
    pub(crate) fn vsock_address(&self, id: OptionalIndex<SocketNameId>) -> Option<(u32, u32)> {
        match *self.other_name(self.row_of_id(id.get()?)?)? {
            SocketName::Vsock { cid, port } => Some((cid, port)),
            _ => None,
        }
    }

    /// A number for a unix socket's name in the scope in which it identifies the socket: the kernel
    /// for a path, the machine for an abstract name. Less than 2^62.
    pub(crate) fn path_place(
        &self,
        id: OptionalIndex<SocketNameId>,
        kernel: KernelIndex,
        machine: MachineIndex,
    ) -> Option<u64> {
        let (kind, owner) = match self.unix_name(id)? {
            SocketName::Path(_) => (0, kernel.index() as u32),
            _ => (1, machine.index() as u32),
        };
        Some(kind << 61 | u64::from(owner & 0x1fff_ffff) << 32 | u64::from(id.get()?.0))
    }

    /// Whether the name does not identify its machine: loopback addresses and unix names are local
    /// to each machine, and so is a socket without a known name.
    fn is_of_its_machine(&self, id: OptionalIndex<SocketNameId>) -> bool {
        self.inet_address(id).is_none_or(|address| address.ip().is_loopback())
    }

    /// The machine on which the name was seen, `machine`, if the name is local to it; none if the
    /// name means the same on all machines.
    pub(crate) fn machine_of_name(
        &self,
        id: OptionalIndex<SocketNameId>,
        machine: MachineIndex,
    ) -> OptionalIndex<MachineIndex> {
        Some(machine).filter(|_| self.is_of_its_machine(id)).into()
    }

    /// Whether the name belongs to a socket, so that it has an endpoint.
    pub(crate) fn is_endpoint(&self, id: OptionalIndex<SocketNameId>) -> bool {
        let row = id.get().and_then(|id| self.row_of_id(id));
        row.is_some_and(|row| row.kind != NameKind::Other)
            || self.unix_name(id).is_some()
            || self.vsock_address(id).is_some()
    }

    /// The endpoint of a name; `None` if it is not the name of a socket.
    pub(crate) fn to_endpoint(&self, id: OptionalIndex<SocketNameId>) -> Option<Endpoint> {
        if let Some(address) = self.inet_address(id) {
            return Some(Endpoint::Inet(address));
        }
        if self.vsock_address(id).is_some() {
            return self
                .other_name(self.row_of_id(id.get()?)?)
                .map(|name| Endpoint::Other(name.to_string()));
        }
        match self.unix_name(id)? {
            SocketName::Path(path) => Some(Endpoint::Unix(path.clone())),
            SocketName::Abstract(name) => Some(Endpoint::Unix(format!("@{}", name.escape_debug()))),
            _ => None,
        }
    }
}

/// The loopback address of the family of `ip`.
pub(crate) fn loopback_address(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    }
}

/// Whether a datagram to `ip` may reach several receivers.
pub(crate) fn is_group_address(ip: IpAddr) -> bool {
    ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.is_broadcast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_id_however_many_there_are() {
        let directory = tempfile::tempdir().unwrap();
        for memory in [0, u64::MAX] {
            let mut names = SocketNameInterner::new(&MemoryPool::new(memory, directory.path()));
            let all: Vec<SocketName> = (0..20_000u32)
                .map(|number| match number % 8 {
                    0 => SocketName::Path(format!("/{number}")),
                    1 => SocketName::Abstract(format!("/{}", number - 1)),
                    2 => SocketName::Inet(SocketAddr::new(
                        Ipv6Addr::from_bits(u128::from(number)).into(),
                        80,
                    )),
                    3 => SocketName::Other(number as u16),
                    4 => SocketName::Inet(SocketAddr::new(Ipv4Addr::from_bits(number).into(), 80)),
                    _ => {
                        SocketName::Inet(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), number as u16))
                    }
                })
                .collect();
            for _ in 0..2 {
                for (id, name) in (0..).map(SocketNameId::from_index).zip(&all) {
                    assert_eq!(names.intern(name.clone()).unwrap(), id);
                }
            }
            assert!(names.iter_names().eq(all.iter().cloned()));
            for (id, name) in (0..).map(SocketNameId::from_index).zip(&all) {
                assert_eq!(names.find(name), Some(id));
                let address = match name {
                    SocketName::Inet(address) => Some(*address),
                    _ => None,
                };
                let id = OptionalIndex::some(id);
                assert_eq!(names.inet_address(id), address);
                assert_eq!(names.inet_name(id).is_some(), address.is_some());
                let unix = matches!(name, SocketName::Path(_) | SocketName::Abstract(_));
                assert_eq!(names.unix_name(id), Some(name).filter(|_| unix));
                assert_eq!(names.is_endpoint(id), unix || address.is_some());
            }
            assert_eq!(names.find(&SocketName::Path("/none".to_owned())), None);
            let unknown = OptionalIndex::NONE;
            assert!(names.inet_address(unknown).is_none() && names.is_of_its_machine(unknown));
        }
    }
}
