//! The kernel's sockets, as far as the trace shows them, independent of the processes that use
//! them.
//!
//! A socket is known from the call that created it, and is followed by its descriptors, which are
//! copied by `dup` and inherited by children. A socket that was created outside the trace is known
//! by its decoration (what `strace -yy` prints after a descriptor): its inode or its names, by
//! which it is found when processes share it. A number of this importer replaces the kernel's id.

use rustc_hash::FxHashMap;
use socket_log::encode::{FlowOrigin, FlowRole};

use super::address;
use super::descriptor::DecoratedSocket;
use super::segment_size::Size;

/// Number of a socket. Numbers are not reused.
pub(super) type SocketId = u64;

/// Kinds of sockets (`SOCK_STREAM`, `SOCK_DGRAM`, `SOCK_SEQPACKET`).
pub(super) const STREAM: u8 = 1;
pub(super) const DATAGRAM: u8 = 2;
pub(super) const SEQUENCE: u8 = 5;

/// A socket of the kernel, as far as the trace shows it.
#[derive(Clone, Debug)]
pub(super) struct TracedSocket {
    pub(super) domain: u8,
    pub(super) kind: u8,
    pub(super) protocol: u16,
    /// How the next process that uses the socket obtains it.
    pub(super) origin: FlowOrigin,
    pub(super) role: FlowRole,
    /// Raw `sockaddr`s, or empty.
    pub(super) local: Vec<u8>,
    pub(super) peer: Vec<u8>,
    /// Process that created, connected or accepted the socket.
    pub(super) pid: u32,
    /// Process at the other end of a unix socket, 0 if unknown.
    pub(super) peer_pid: u32,
    /// Socket on which this one was accepted.
    pub(super) listener: Option<SocketId>,
    /// Number of changes of names and role.
    pub(super) version: u32,
    /// Number of connections: a socket that is connected anew has another flow.
    pub(super) connection: u32,
    pub(super) inode: Option<u64>,
    /// Latest decoration of the socket by strace (`-yy`).
    pub(super) decoration: Vec<u8>,
    /// Size into which the socket's sends are cut, unless a message states it.
    pub(super) segment: Size,
    /// Whether the socket's receives may consist of several datagrams.
    pub(super) joins: bool,
    /// Whether the socket's calls return immediately.
    pub(super) is_nonblocking: bool,
    /// Whether the socket belongs to a pair of sockets that are known to be each other's ends.
    is_paired: bool,
    /// Number of descriptors that refer to the socket.
    references: u32,
}

/// Parameters of a new socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketSpec {
    pub(super) domain: u8,
    pub(super) kind: u8,
    pub(super) protocol: u16,
    pub(super) origin: FlowOrigin,
    pub(super) pid: u32,
    pub(super) is_nonblocking: bool,
}

impl TracedSocket {
    /// Whether the socket preserves message boundaries.
    pub(super) fn is_datagram(&self) -> bool {
        self.kind != STREAM
    }

    /// Whether the socket's name is one by which others can reach it.
    pub(super) fn has_name(&self) -> bool {
        match address::inet_address(&self.local) {
            Some(address) => address.port() != 0,
            None => self.local.len() > 2,
        }
    }

    /// Whether a decoration can belong to this socket.
    fn can_be(&self, seen: &DecoratedSocket) -> bool {
        if seen.domain != 0 && seen.domain != self.domain
            || seen.kind != 0 && seen.kind != self.kind
        {
            return false;
        }
        if let (Some(one), Some(other)) = (self.inode, seen.inode) {
            return one == other;
        }
        // The own name in the decoration of a unix socket is that of its listener, which may be
        // relative.
        self.domain == address::UNIX
            || (address::names_agree(&self.local, &seen.local)
                && address::names_agree(&self.peer, &seen.peer))
    }

    /// Applies the names and the inode of a decoration to the socket.
    fn apply_decoration(&mut self, seen: &DecoratedSocket) {
        self.inode = self.inode.or(seen.inode);
        let better = |known: &[u8], seen: &[u8]| {
            let says = |name: &[u8]| match address::inet_address(name) {
                Some(address) => {
                    usize::from(address.port() != 0) + usize::from(!address.ip().is_unspecified())
                }
                None => 1,
            };
            !seen.is_empty() && (known.is_empty() || says(seen) > says(known))
        };
        let changed_local = better(&self.local, &seen.local);
        if changed_local {
            self.local.clone_from(&seen.local);
        }
        let changed_peer = better(&self.peer, &seen.peer);
        if changed_peer {
            self.peer.clone_from(&seen.peer);
        }
        if changed_local || changed_peer {
            self.version += 1;
        }
        // A datagram socket that was not bound has a name from its first send on.
        if changed_local && self.is_datagram() && self.role == FlowRole::Unknown && self.has_name()
        {
            self.role = FlowRole::Bind;
        }
    }
}

/// All sockets that have a descriptor.
#[derive(Debug, Default)]
pub(super) struct SocketTable {
    all: FxHashMap<SocketId, TracedSocket>,
    next: SocketId,
    by_inode: FxHashMap<u64, SocketId>,
    by_names: FxHashMap<SocketNames, SocketId>,
    /// Whether the kernel distinguishes stream sockets among unix sockets.
    distinguishes_streams: bool,
}

/// Domain, kind and both names.
type SocketNames = (u8, u8, Vec<u8>, Vec<u8>);

impl SocketTable {
    pub(super) fn get(&self, id: SocketId) -> Option<&TracedSocket> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SocketId) -> Option<&mut TracedSocket> {
        self.all.get_mut(&id)
    }

    /// Adds a new socket without descriptors.
    pub(super) fn add_socket(&mut self, made: SocketSpec) -> SocketId {
        let protocol = match (made.domain, made.kind, made.protocol) {
            (address::INET | address::INET6, STREAM, 0) => 6,
            (address::INET | address::INET6, DATAGRAM, 0) => 17,
            (.., protocol) => protocol,
        };
        self.next += 1;
        let socket = TracedSocket {
            domain: made.domain,
            kind: made.kind,
            protocol,
            origin: made.origin,
            role: FlowRole::Unknown,
            local: Vec::new(),
            peer: Vec::new(),
            pid: made.pid,
            peer_pid: 0,
            listener: None,
            version: 0,
            connection: 0,
            inode: None,
            decoration: Vec::new(),
            segment: Size::One,
            joins: false,
            is_nonblocking: made.is_nonblocking,
            is_paired: false,
            references: 0,
        };
        self.all.insert(self.next, socket);
        self.next
    }

    /// Adds a descriptor that refers to the socket.
    pub(super) fn add_reference(&mut self, id: SocketId) {
        if let Some(socket) = self.all.get_mut(&id) {
            socket.references += 1;
        }
    }

    /// Removes a descriptor that referred to the socket.
    pub(super) fn drop_reference(&mut self, id: SocketId) {
        let Some(socket) = self.all.get_mut(&id) else { return };
        socket.references = socket.references.saturating_sub(1);
        if socket.references > 0 {
            return;
        }
        if let Some(socket) = self.all.remove(&id) {
            if let Some(inode) = socket.inode
                && self.by_inode.get(&inode) == Some(&id)
            {
                self.by_inode.remove(&inode);
            }
            let names = names_of_socket(&socket);
            if self.by_names.get(&names) == Some(&id) {
                self.by_names.remove(&names);
            }
        }
    }

    /// Applies strace's decoration of the socket. Returns false if the decoration must be another
    /// socket's.
    pub(super) fn apply_decoration(
        &mut self,
        id: SocketId,
        decoration: &[u8],
        seen: &DecoratedSocket,
    ) -> bool {
        let Some(socket) = self.all.get_mut(&id) else { return false };
        if !socket.can_be(seen) {
            return false;
        }
        let before = names_of_socket(socket);
        socket.decoration.clear();
        socket.decoration.extend_from_slice(decoration);
        socket.apply_decoration(seen);
        let after = names_of_socket(socket);
        if let Some(inode) = socket.inode {
            self.by_inode.insert(inode, id);
        }
        if before != after && self.by_names.get(&before) == Some(&id) {
            self.by_names.remove(&before);
        }
        // A unix socket is always shown with its inode.
        if !after.2.is_empty() && after.0 != address::UNIX {
            self.by_names.insert(after, id);
        }
        self.distinguishes_streams |= decoration.starts_with(b"UNIX-STREAM");
        true
    }

    /// Finds the socket with this decoration among those that have a descriptor.
    pub(super) fn find_decorated(&self, seen: &DecoratedSocket) -> Option<SocketId> {
        if let Some(inode) = seen.inode {
            return self.by_inode.get(&inode).copied();
        }
        self.by_names.get(&(seen.domain, seen.kind, seen.local.clone(), seen.peer.clone())).copied()
    }

    /// Socket with this inode.
    pub(super) fn socket_of_inode(&self, inode: u64) -> Option<SocketId> {
        self.by_inode.get(&inode).copied()
    }

    /// Records that the two sockets are the ends of a pair. Returns false if they cannot be a pair,
    /// are known as one already, or have more specific roles.
    pub(super) fn pair_sockets(&mut self, one: SocketId, other: SocketId) -> bool {
        let (Some(first), Some(second)) = (self.all.get(&one), self.all.get(&other)) else {
            return false;
        };
        let is_free = |socket: &TracedSocket| {
            socket.domain == address::UNIX && socket.role == FlowRole::Unknown && !socket.is_paired
        };
        let can_be = one != other && first.kind == second.kind && is_free(first) && is_free(second);
        for end in [one, other] {
            if let Some(socket) = self.all.get_mut(&end).filter(|_| can_be) {
                socket.is_paired = true;
            }
        }
        can_be
    }

    /// Adds a socket from its decoration, as its creation was not seen; `None` if its kind is not
    /// shown.
    pub(super) fn add_decorated(
        &mut self,
        seen: &DecoratedSocket,
        decoration: &[u8],
        pid: u32,
    ) -> Option<SocketId> {
        if seen.domain == 0 {
            return None;
        }
        // Older kernels use one name for all unix sockets, and most are streams.
        let unknown = if self.distinguishes_streams { DATAGRAM } else { STREAM };
        let id = self.add_socket(SocketSpec {
            domain: seen.domain,
            kind: if seen.kind == 0 { unknown } else { seen.kind },
            protocol: seen.protocol,
            origin: FlowOrigin::Found,
            pid,
            is_nonblocking: false,
        });
        if let Some(socket) = self.all.get_mut(&id).filter(|socket| socket.protocol == 17) {
            // The options may have been set before.
            (socket.segment, socket.joins) = (Size::Unknown, true);
        }
        self.apply_decoration(id, decoration, seen);
        Some(id)
    }
}

fn names_of_socket(socket: &TracedSocket) -> SocketNames {
    (socket.domain, socket.kind, socket.local.clone(), socket.peer.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strace::descriptor;

    fn show(sockets: &mut SocketTable, id: SocketId, decoration: &str) -> bool {
        let seen = descriptor::parse_socket(decoration.as_bytes()).unwrap();
        sockets.apply_decoration(id, decoration.as_bytes(), &seen)
    }

    fn tcp(sockets: &mut SocketTable) -> SocketId {
        let id = sockets.add_socket(SocketSpec {
            domain: 2,
            kind: 1,
            protocol: 0,
            origin: FlowOrigin::Socket,
            pid: 1,
            is_nonblocking: false,
        });
        sockets.add_reference(id);
        id
    }

    #[test]
    fn a_socket_gets_its_names_from_decorations() {
        let mut sockets = SocketTable::default();
        let id = tcp(&mut sockets);
        assert!(show(&mut sockets, id, "TCP:[77]"));
        assert!(show(&mut sockets, id, "TCP:[10.0.0.1:5000->10.0.0.2:80]"));
        let socket = sockets.get(id).unwrap();
        assert_eq!(address::inet_address(&socket.local), Some("10.0.0.1:5000".parse().unwrap()));
        assert_eq!(socket.version, 1);
        // The number stands for another connection, or another socket.
        assert!(!show(&mut sockets, id, "TCP:[10.0.0.1:5001->10.0.0.2:80]"));
        assert!(!show(&mut sockets, id, "TCP:[78]"));
        assert!(!show(&mut sockets, id, "UDP:[77]"));
    }

    #[test]
    fn a_shared_socket_is_found_while_a_process_holds_it() {
        let mut sockets = SocketTable::default();
        let id = tcp(&mut sockets);
        assert!(show(&mut sockets, id, "TCP:[77]"));
        assert!(show(&mut sockets, id, "TCP:[10.0.0.1:5000->10.0.0.2:80]"));
        let seen = |text: &str| descriptor::parse_socket(text.as_bytes()).unwrap();
        assert_eq!(sockets.find_decorated(&seen("TCP:[10.0.0.1:5000->10.0.0.2:80]")), Some(id));
        assert_eq!(sockets.find_decorated(&seen("TCP:[77]")), Some(id));
        assert_eq!(
            sockets.find_decorated(&seen("TCP:[10.0.0.2:80->10.0.0.1:5000]")),
            None,
            "that is the other end"
        );
        sockets.add_reference(id);
        sockets.drop_reference(id);
        assert!(sockets.get(id).is_some());
        sockets.drop_reference(id);
        assert!(sockets.get(id).is_none() && sockets.find_decorated(&seen("TCP:[77]")).is_none());
    }

    #[test]
    fn sockets_found_in_use() {
        let mut sockets = SocketTable::default();
        let mut found = |text: &str| {
            let seen = descriptor::parse_socket(text.as_bytes()).unwrap();
            let id = sockets.add_decorated(&seen, text.as_bytes(), 1)?;
            sockets.get(id).map(|socket| (socket.kind, socket.role))
        };
        assert_eq!(found("UDP:[0.0.0.0:53]"), Some((DATAGRAM, FlowRole::Bind)));
        assert_eq!(found("UNIX:[5->6]"), Some((STREAM, FlowRole::Unknown)), "an older kernel");
        assert_eq!(found("UNIX-STREAM:[7->8]"), Some((STREAM, FlowRole::Unknown)));
        assert_eq!(found("UNIX:[9]"), Some((DATAGRAM, FlowRole::Unknown)));
        assert_eq!(found("socket:[9]"), None);
    }
}
