//! Sockets and their names, in the form for the records of a made log.

use std::net::{IpAddr, SocketAddr};

/// Kind of a flow's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketParameters {
    /// Address family: `AF_INET` and the like.
    pub domain: u8,
    /// Type: `SOCK_STREAM` and the like.
    pub kind: u8,
    /// Protocol: `IPPROTO_TCP` and the like.
    pub protocol: u16,
}

/// A TCP socket.
pub const TCP: SocketParameters = SocketParameters { domain: 2, kind: 1, protocol: 6 };
/// A TCP socket of the IPv6 family.
pub const TCP6: SocketParameters = SocketParameters { domain: 10, kind: 1, protocol: 6 };
/// A UDP socket.
pub const UDP: SocketParameters = SocketParameters { domain: 2, kind: 2, protocol: 17 };
/// A unix stream socket.
pub const UNIX_STREAM: SocketParameters = SocketParameters { domain: 1, kind: 1, protocol: 0 };
/// A unix datagram socket.
pub const UNIX_DATAGRAM: SocketParameters = SocketParameters { domain: 1, kind: 2, protocol: 0 };
/// A unix socket of messages in sequence.
pub const UNIX_SEQUENCE: SocketParameters = SocketParameters { domain: 1, kind: 5, protocol: 0 };

/// One-to-one SCTP over IPv4.
pub const SCTP: SocketParameters = SocketParameters { domain: 2, kind: 1, protocol: 132 };
/// Stream between a virtual machine and its host.
pub const VSOCK: SocketParameters = SocketParameters { domain: 40, kind: 1, protocol: 0 };

/// Raw `sockaddr` of a vsock socket: the number of its machine, and its port.
pub fn vsock_address(cid: u32, port: u32) -> Vec<u8> {
    [&[40, 0, 0, 0], &port.to_le_bytes()[..], &cid.to_le_bytes(), &[0; 4]].concat()
}

/// Raw `sockaddr` of an IP address and port, of the address's own family.
pub fn inet_address(address: SocketAddr) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    match address.ip() {
        IpAddr::V4(ip) => [&[2, 0], &port[..], &ip.octets(), &[0; 8]].concat(),
        IpAddr::V6(ip) => [&[10, 0], &port[..], &[0; 4], &ip.octets(), &[0; 4]].concat(),
    }
}

/// Raw `sockaddr` of an IPv4 address as an IPv6 socket sees it (mapped); of an IPv6 address
/// unchanged.
pub fn mapped_address(address: SocketAddr) -> Vec<u8> {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    inet_address(SocketAddr::new(IpAddr::V6(ip), address.port()))
}

/// Raw `sockaddr` of a unix socket: a path, an abstract name as `@name`, or none as the empty text.
pub fn unix_address(name: &str) -> Vec<u8> {
    match name.strip_prefix('@') {
        _ if name.is_empty() => vec![1, 0],
        Some(name) => [&[1, 0, 0], name.as_bytes()].concat(),
        None => [&[1, 0], name.as_bytes(), &[0]].concat(),
    }
}
