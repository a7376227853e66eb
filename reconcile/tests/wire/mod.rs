//! Packets made by hand, captured by sniffers made by hand: the bytes of links, IP, TCP and UDP, and the files of
//! tcpdump and its like in both formats.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "a test helper, of which tests use a part"
)]

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// When the captures begin, in nanoseconds since the Unix epoch.
pub const EPOCH: i64 = 1_700_000_000_000_000_000;
pub const MS: i64 = 1_000_000;

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
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
    /// What IP carries.
    pub body: Vec<u8>,
    /// Extension headers of IPv6: the first one's number, and their bytes, of which the last says that the transport
    /// follows.
    pub extensions: Option<(u8, Vec<u8>)>,
    /// The 16 bits of IPv4 that tell of fragments.
    pub fragment: u16,
}

pub fn end(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A TCP segment.
pub fn tcp(from: &str, to: &str, sequence: u32, acknowledged: u32, flags: u8, payload: &[u8]) -> Packet {
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
    Packet { source, destination, ttl: 64, id: 0, protocol: 6, body, extensions: None, fragment: 0x4000 }
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
    Packet { source, destination, ttl: 64, id: 0, protocol: 17, body, extensions: None, fragment: 0 }
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

    fn ethertype(&self) -> [u8; 2] {
        if self.is_v6() { [0x86, 0xdd] } else { [0x08, 0x00] }
    }
}

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Ethernet,
    /// With so many tags of virtual networks.
    Vlan(usize),
    Sll,
    Sll2,
    /// An SLL2 capture's loopback interface.
    Sll2Loopback,
    Raw,
    RawBsd,
    /// IPv4 or IPv6 alone.
    Alone,
    Null,
    Loop,
}

impl Link {
    pub fn number(self, v6: bool) -> u32 {
        match self {
            Link::Ethernet | Link::Vlan(_) => 1,
            Link::Sll => 113,
            Link::Sll2 | Link::Sll2Loopback => 276,
            Link::Raw => 101,
            Link::RawBsd => 12,
            Link::Alone => {
                if v6 {
                    229
                } else {
                    228
                }
            }
            Link::Null => 0,
            Link::Loop => 108,
        }
    }

    /// The frame of `packet`; `out` says which way it goes, for the links that do.
    pub fn frame(self, packet: &Packet, out: bool) -> Vec<u8> {
        let kind = if out { 4 } else { 0 };
        let family: u32 = if packet.is_v6() { 30 } else { 2 };
        let mut frame = match self {
            Link::Ethernet | Link::Vlan(_) => vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2],
            Link::Sll => vec![0, kind, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0],
            Link::Sll2 | Link::Sll2Loopback => Vec::new(),
            Link::Raw | Link::RawBsd | Link::Alone => Vec::new(),
            Link::Null => family.to_le_bytes().to_vec(),
            Link::Loop => family.to_be_bytes().to_vec(),
        };
        if let Link::Vlan(tags) = self {
            for tag in 0..tags {
                frame.extend([[0x88, 0xa8], [0x81, 0x00]][usize::from(tag + 1 == tags)]);
                frame.extend([0, 7]);
            }
        }
        let arphrd = if self == Link::Sll2Loopback { [3, 4] } else { [0, 1] };
        match self {
            Link::Ethernet | Link::Vlan(_) | Link::Sll => frame.extend(packet.ethertype()),
            Link::Sll2 | Link::Sll2Loopback => {
                frame.extend(packet.ethertype());
                frame.extend([0, 0, 0, 0, 0, 2]);
                frame.extend(arphrd);
                frame.extend([kind, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
            }
            _ => {}
        }
        frame.extend(packet.ip());
        // Short frames are filled up.
        if matches!(self, Link::Ethernet | Link::Vlan(_)) && frame.len() < 60 {
            frame.resize(60, 0);
        }
        frame
    }
}

/// A frame as a sniffer has it.
#[derive(Clone, Debug)]
pub struct Frame {
    pub time: i64,
    pub bytes: Vec<u8>,
    /// The interface, of pcapng.
    pub interface: u32,
    /// Its size on the wire.
    pub original: usize,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub new: bool,
    pub big_endian: bool,
    pub nanoseconds: bool,
}

pub const FORMATS: [Format; 8] = {
    let mut all = [Format { new: false, big_endian: false, nanoseconds: false }; 8];
    let mut at = 0;
    while at < 8 {
        all[at] = Format { new: at & 1 != 0, big_endian: at & 2 != 0, nanoseconds: at & 4 != 0 };
        at += 1;
    }
    all
};

pub const PLAIN: Format = FORMATS[4];

impl Format {
    fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = self.u32(body.len() as u32 + 12);
        [&self.u32(kind), &length[..], &body, &length].concat()
    }

    /// A section's header, and `interfaces` of that link.
    pub fn section(self, link: u32, interfaces: usize) -> Vec<u8> {
        let head = [&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &[0xff; 8]].concat();
        let mut bytes = self.block(0x0a0d_0d0a, &head);
        for _ in 0..interfaces {
            let mut body = [&self.u16(link as u16)[..], &[0, 0], &self.u32(0)].concat();
            if self.nanoseconds {
                body.extend([&self.u16(9)[..], &self.u16(1), &[9, 0, 0, 0], &[0; 4]].concat());
            }
            bytes.extend(self.block(1, &body));
        }
        bytes
    }

    /// The file's header.
    pub fn header(self, link: u32) -> Vec<u8> {
        if self.new {
            return self.section(link, 3);
        }
        let magic = if self.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        [self.u32(magic), [self.u16(2), self.u16(4)].concat().try_into().unwrap()]
            .into_iter()
            .chain([0, 0, 262_144, link].map(|word| self.u32(word)))
            .flatten()
            .collect()
    }

    /// A record of the file.
    pub fn record(self, frame: &Frame) -> Vec<u8> {
        let unit = if self.nanoseconds { 1 } else { 1000 };
        let (captured, original) = (self.u32(frame.bytes.len() as u32), self.u32(frame.original as u32));
        if self.new {
            let ticks = (frame.time / unit) as u64;
            let time = [self.u32((ticks >> 32) as u32), self.u32(ticks as u32)].concat();
            let mut body =
                [&self.u32(frame.interface), &time[..], &captured, &original, &frame.bytes].concat();
            body.resize(body.len().next_multiple_of(4), 0);
            return self.block(6, &body);
        }
        let (seconds, rest) = (frame.time / 1_000_000_000, frame.time % 1_000_000_000 / unit);
        [&self.u32(seconds as u32)[..], &self.u32(rest as u32), &captured, &original, &frame.bytes].concat()
    }

    /// The file.
    pub fn file(self, link: u32, frames: &[Frame]) -> Vec<u8> {
        let mut bytes = self.header(link);
        frames.iter().for_each(|frame| bytes.extend(self.record(frame)));
        bytes
    }
}

/// A sniffer: what it captured, by its own clock.
#[derive(Clone, Debug)]
pub struct Sniffer {
    pub link: Link,
    pub format: Format,
    /// How far its clock is ahead.
    pub offset: i64,
    /// As much of each frame is captured.
    pub snap: usize,
    /// The addresses of the host it is on, for links that tell the way.
    pub own: Vec<IpAddr>,
    pub frames: Vec<Frame>,
    pub v6: bool,
}

impl Sniffer {
    pub fn new(link: Link) -> Sniffer {
        let frames = Vec::new();
        Sniffer { link, format: PLAIN, offset: 0, snap: usize::MAX, own: Vec::new(), frames, v6: false }
    }

    pub fn on(mut self, own: &[&str]) -> Sniffer {
        self.own = own.iter().map(|own| own.parse().unwrap()).collect();
        self
    }

    pub fn ahead(mut self, offset: i64) -> Sniffer {
        self.offset = offset;
        self
    }

    pub fn cut(mut self, snap: usize) -> Sniffer {
        self.snap = snap;
        self
    }

    /// It sees `packet` at `time`, from the beginning on.
    pub fn see(&mut self, time: i64, packet: &Packet) {
        self.see_on(0, time, packet);
    }

    pub fn see_on(&mut self, interface: u32, time: i64, packet: &Packet) {
        let out = self.own.contains(&packet.source.ip());
        let mut bytes = self.link.frame(packet, out);
        let original = bytes.len();
        bytes.truncate(self.snap);
        self.v6 |= packet.is_v6();
        self.frames.push(Frame { time: EPOCH + self.offset + time, bytes, interface, original });
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.format.file(self.link.number(self.v6), &self.frames)
    }

    pub fn write(&self, directory: &Path, name: &str) -> PathBuf {
        write(directory, name, &self.bytes())
    }
}

pub fn write(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A TCP connection, whose packets are shown to sniffers on their way: the client's first, the server's last.
pub struct Connection {
    pub client: String,
    pub server: String,
    /// The next sequence number of each.
    pub next: [u32; 2],
    /// How long a packet takes from one end to the other.
    pub delay: i64,
    pub id: u16,
}

impl Connection {
    pub fn new(client: &str, server: &str) -> Connection {
        // As good as random, and of the server soon to wrap around.
        let number =
            |text: &str| text.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let both = number(client).wrapping_mul(65_537).wrapping_add(number(server));
        let next = [both, u32::MAX - both % 1000];
        Connection { client: client.into(), server: server.into(), next, delay: MS, id: 1 }
    }

    /// A segment of end `from` (0 the client), sent at `time`.
    pub fn packet(&mut self, from: usize, flags: u8, payload: &[u8]) -> Packet {
        let ends = [&self.client, &self.server];
        let mut packet =
            tcp(ends[from], ends[1 - from], self.next[from], self.next[1 - from], flags, payload);
        self.id += 1;
        packet.id = self.id;
        let sequence = u32::from(flags & (SYN | FIN) != 0);
        self.next[from] = self.next[from].wrapping_add(payload.len() as u32 + sequence);
        packet
    }

    /// Shows a segment to the sniffers at both ends.
    pub fn send(&mut self, time: i64, from: usize, flags: u8, payload: &[u8], at: &mut [&mut Sniffer; 2]) {
        let packet = self.packet(from, flags, payload);
        at[from].see(time, &packet);
        at[1 - from].see(time + self.delay, &packet);
    }

    pub fn open(&mut self, time: i64, at: &mut [&mut Sniffer; 2]) {
        self.send(time, 0, SYN, &[], at);
        self.send(time + self.delay, 1, SYN | ACK, &[], at);
        self.send(time + 2 * self.delay, 0, ACK, &[], at);
    }

    /// A request and its answer of several segments; takes five delays.
    pub fn exchange(&mut self, time: i64, request: usize, answer: usize, at: &mut [&mut Sniffer; 2]) {
        self.send(time, 0, PUSH | ACK, &vec![b'q'; request], at);
        let mut left = answer;
        let mut sent = time + 2 * self.delay;
        while left > 0 {
            let part = left.min(1448);
            left -= part;
            let push = if left == 0 { PUSH } else { 0 };
            self.send(sent, 1, push | ACK, &vec![b'a'; part], at);
            sent += 1000;
        }
        self.send(time + 4 * self.delay, 0, ACK, &[], at);
    }

    pub fn close(&mut self, time: i64, at: &mut [&mut Sniffer; 2]) {
        self.send(time, 0, FIN | ACK, &[], at);
        self.send(time + self.delay, 1, FIN | ACK, &[], at);
        self.send(time + 2 * self.delay, 0, ACK, &[], at);
    }
}
