//! An IP packet with its payload: TCP segments and datagrams, as bytes on the wire.

use std::net::{IpAddr, SocketAddr};

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const PUSH: u8 = 8;
pub const ACK: u8 = 16;

/// A packet of IP.
#[derive(Clone, Debug)]
pub struct Packet {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub ttl: u8,
    pub id: u16,
    pub protocol: u8,
    /// Payload of IP.
    pub body: Vec<u8>,
    /// Extension headers of IPv6: the first one's number, and their bytes. The last one is followed
    /// by the transport.
    pub extensions: Option<(u8, Vec<u8>)>,
    /// The 16 bits of IPv4 for fragments.
    pub fragment: u16,
}

pub fn end(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A TCP segment.
pub fn tcp(
    from: &str,
    to: &str,
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    payload: &[u8],
) -> Packet {
    let (source, destination) = (end(from), end(to));
    let mut body = Vec::new();
    body.extend(source.port().to_be_bytes());
    body.extend(destination.port().to_be_bytes());
    body.extend(sequence.to_be_bytes());
    body.extend(acknowledged.to_be_bytes());
    // With an option of twelve bytes, as timestamps are.
    body.extend([0x80, flags, 0xff, 0xff, 0, 0, 0, 0]);
    body.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    body.extend(payload);
    Packet {
        source,
        destination,
        ttl: 64,
        id: 0,
        protocol: 6,
        body,
        extensions: None,
        fragment: 0x4000,
    }
}

/// A datagram.
pub fn udp(from: &str, to: &str, payload: &[u8]) -> Packet {
    let (source, destination) = (end(from), end(to));
    let mut body = Vec::new();
    body.extend(source.port().to_be_bytes());
    body.extend(destination.port().to_be_bytes());
    body.extend((payload.len() as u16 + 8).to_be_bytes());
    body.extend([0, 0]);
    body.extend(payload);
    Packet {
        source,
        destination,
        ttl: 64,
        id: 0,
        protocol: 17,
        body,
        extensions: None,
        fragment: 0,
    }
}

impl Packet {
    pub fn is_v6(&self) -> bool {
        self.source.is_ipv6()
    }

    /// The bytes of IP.
    pub fn ip(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                bytes.extend([0x45, 0]);
                bytes.extend((self.body.len() as u16 + 20).to_be_bytes());
                bytes.extend(self.id.to_be_bytes());
                bytes.extend(self.fragment.to_be_bytes());
                bytes.extend([self.ttl, self.protocol, 0, 0]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let none = (self.protocol, Vec::new());
                let (next, extensions) = self.extensions.clone().unwrap_or(none);
                bytes.extend([0x60, 0, 0, 0]);
                bytes.extend(((self.body.len() + extensions.len()) as u16).to_be_bytes());
                bytes.extend([next, self.ttl]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
                bytes.extend(extensions);
            }
            _ => panic!("both ends are of one family"),
        }
        bytes.extend(&self.body);
        bytes
    }

    pub fn ethertype(&self) -> [u8; 2] {
        if self.is_v6() { [0x86, 0xdd] } else { [0x08, 0x00] }
    }
}
