//! Names of sockets, decoded from the raw `sockaddr` in the log.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const AF_VSOCK: u16 = 40;

/// Name of a socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SocketName {
    /// IP address and port. An IPv4 address mapped into IPv6 is given as the IPv4 address that it
    /// stands for.
    Inet(SocketAddr),
    /// Path of a unix socket.
    Path(String),
    /// Name of a unix socket in the abstract name space, without the leading zero byte.
    Abstract(String),
    /// Unix socket without a name.
    Unnamed,
    /// Machine (context id) and port of a vsock socket, between a virtual machine and its host.
    Vsock {
        /// Number of the machine: 2 is the host, 1 the socket's own, [`SocketName::ANY_CID`] any.
        cid: u32,
        /// Port.
        port: u32,
    },
    /// Number of an address family that sockcap does not read.
    Other(u16),
}

impl SocketName {
    /// Number of the machine of a vsock socket that names none: its own machine.
    pub const ANY_CID: u32 = u32::MAX;

    /// Decodes a `sockaddr` from the kernel, with trailing zeros cut or not; `None` if it is too
    /// short for its family.
    pub fn from_sockaddr(raw: &[u8]) -> Option<SocketName> {
        let family = u16::from_le_bytes(raw.get(..2)?.try_into().ok()?);
        let rest = &raw[2..];
        let port = || Some(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?));
        Some(match family {
            AF_INET => {
                let octets: [u8; 4] = rest.get(2..6)?.try_into().ok()?;
                SocketName::Inet(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(octets)), port()?))
            }
            AF_INET6 => {
                let octets: [u8; 16] = rest.get(6..22)?.try_into().ok()?;
                SocketName::Inet(SocketAddr::new(Ipv6Addr::from(octets).to_canonical(), port()?))
            }
            AF_UNIX => match rest {
                [] => SocketName::Unnamed,
                // An abstract name may contain zero bytes; its length is that from the kernel.
                [0, name @ ..] if name.iter().any(|byte| *byte != 0) => {
                    SocketName::Abstract(lossy_text(name))
                }
                [0, ..] => SocketName::Unnamed,
                path => {
                    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                    SocketName::Path(lossy_text(&path[..end]))
                }
            },
            AF_VSOCK => {
                // Two bytes are reserved. Zeros at the end may be missing.
                let mut words = [0; 10];
                let length = rest.len().min(words.len());
                words[..length].copy_from_slice(&rest[..length]);
                let [_, _, p, o, r, t, c, i, d, e] = words;
                let (port, cid) =
                    (u32::from_le_bytes([p, o, r, t]), u32::from_le_bytes([c, i, d, e]));
                SocketName::Vsock { cid, port }
            }
            other => SocketName::Other(other),
        })
    }
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketName::Inet(address) => write!(f, "{address}"),
            SocketName::Path(path) => write!(f, "unix:{path}"),
            SocketName::Abstract(name) => write!(f, "unix:@{}", name.escape_debug()),
            SocketName::Unnamed => write!(f, "unix:"),
            SocketName::Vsock { cid: SocketName::ANY_CID, port } => write!(f, "vsock:*:{port}"),
            SocketName::Vsock { cid, port } => write!(f, "vsock:{cid}:{port}"),
            SocketName::Other(family) => write!(f, "family {family}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_families() {
        let v4 = [2, 0, 0x1f, 0x90, 10, 0, 0, 1];
        assert_eq!(SocketName::from_sockaddr(&v4).unwrap().to_string(), "10.0.0.1:8080");
        let mut v6 = vec![10, 0, 0, 53, 0, 0, 0, 0];
        v6.extend(Ipv6Addr::LOCALHOST.octets());
        assert_eq!(SocketName::from_sockaddr(&v6).unwrap().to_string(), "[::1]:53");
        let mut mapped = vec![10, 0, 0, 80, 0, 0, 0, 0];
        mapped.extend(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets());
        assert_eq!(SocketName::from_sockaddr(&mapped).unwrap().to_string(), "192.0.2.1:80");
        assert_eq!(
            SocketName::from_sockaddr(b"\x01\0/run/x\0").unwrap().to_string(),
            "unix:/run/x"
        );
        assert_eq!(SocketName::from_sockaddr(b"\x01\0\0x11").unwrap().to_string(), "unix:@x11");
        assert_eq!(SocketName::from_sockaddr(b"\x01\0"), Some(SocketName::Unnamed));
        let vsock = b"\x28\0\0\0\x39\x30\0\0\x02\0\0\0";
        for length in [9, 12] {
            let name = SocketName::from_sockaddr(&vsock[..length]).unwrap();
            assert_eq!(name.to_string(), "vsock:2:12345");
        }
        let any = b"\x28\0\0\0\x39\x30\0\0\xff\xff\xff\xff";
        assert_eq!(SocketName::from_sockaddr(any).unwrap().to_string(), "vsock:*:12345");
        assert_eq!(SocketName::from_sockaddr(b"\x10\0\0\0"), Some(SocketName::Other(16)));
    }

    #[test]
    fn rejects_addresses_that_are_too_short() {
        assert_eq!(SocketName::from_sockaddr(b""), None);
        assert_eq!(SocketName::from_sockaddr(b"\x02\0\0\x35\x7f"), None);
        assert_eq!(SocketName::from_sockaddr(b"\x0a\0\0\x35\0\0\0\0\0"), None);
    }
}
