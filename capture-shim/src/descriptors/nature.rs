//! Nature of a socket: its family, type and protocol, and the kernel's ids for it.

use core::ffi::c_int;

use super::table::{DescriptorKind, DescriptorWord};

/// Nature of a socket, as the call that made the socket determines it, or as it was remembered. It
/// is needed if the process may not ask the kernel.
#[derive(Clone, Copy)]
pub(crate) struct SocketNature {
    /// Address family: `AF_INET` and the like.
    pub(crate) domain: c_int,
    /// Type: `SOCK_STREAM` and the like.
    pub(crate) kind: c_int,
    /// Protocol: `IPPROTO_TCP` and the like, 0 for the family's default.
    pub(crate) protocol: c_int,
    /// The kernel's id of the socket, 0 if unknown.
    pub(crate) cookie: u64,
    /// The kernel's id of the socket's network namespace, 0 if unknown.
    pub(crate) namespace: u64,
}

impl SocketNature {
    /// Unknown nature.
    pub(crate) const UNKNOWN: SocketNature =
        SocketNature { domain: 0, kind: 0, protocol: 0, cookie: 0, namespace: 0 };

    /// Nature of a socket made with these arguments.
    pub(crate) fn for_new_socket(domain: c_int, kind: c_int, protocol: c_int) -> SocketNature {
        let kind = kind & 0xf; // The rest are flags.
        let own = match (domain, kind) {
            (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM) => libc::IPPROTO_TCP,
            (libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM) => libc::IPPROTO_UDP,
            _ => 0,
        };
        let protocol = if protocol == 0 { own } else { protocol };
        SocketNature { domain, kind, protocol, ..SocketNature::UNKNOWN }
    }

    /// Whether family and type are known, and what the kernel would report. Sockets of other
    /// families may get another type from the kernel.
    pub(crate) fn has_type(&self) -> bool {
        matches!(self.domain, libc::AF_UNIX | libc::AF_INET | libc::AF_INET6)
            && matches!(self.kind, libc::SOCK_STREAM | libc::SOCK_DGRAM | libc::SOCK_SEQPACKET)
    }

    /// Whether the protocol is the one that the kernel would report. For TCP the kernel may
    /// substitute MPTCP, and accept TCP connections on an MPTCP socket.
    pub(crate) fn has_protocol(&self) -> bool {
        self.has_type() && self.domain == libc::AF_UNIX && self.protocol == 0
    }

    /// Nature of a socket that was accepted on `listener`.
    pub(crate) fn for_accepted(listener: DescriptorWord) -> SocketNature {
        let kind = match listener.kind() {
            DescriptorKind::Stream => libc::SOCK_STREAM,
            DescriptorKind::Datagram => libc::SOCK_SEQPACKET,
            _ => return SocketNature::UNKNOWN,
        };
        SocketNature::for_new_socket(listener.domain(), kind, 0)
    }
}
