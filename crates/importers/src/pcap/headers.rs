//! Decoder from a frame to a TCP segment or a datagram: the headers of the link, of IP, and of TCP
//! and UDP.
//!
//! etherparse parses IP and UDP headers. Link headers are a few bytes each and differ in how they
//! record a packet's direction; of a TCP header the first twenty bytes are sufficient if a capture
//! is truncated.

use std::net::IpAddr;

use etherparse::{
    IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, UdpHeaderSlice,
};

use super::container::{CapturedFrame, FrameDirection};

/// One end of a flow.
pub(crate) type PacketEnd = (IpAddr, u16);

/// A TCP segment or a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    /// Time in nanoseconds since the Unix epoch by the sniffer's clock.
    pub(crate) time: i64,
    pub(crate) source: PacketEnd,
    pub(crate) destination: PacketEnd,
    /// Remaining number of hops.
    pub(crate) ttl: u8,
    /// IPv4's identification of the packet, 0 for none.
    pub(crate) id: u16,
    pub(crate) interface: u32,
    pub(crate) direction: FrameDirection,
    /// Whether the packet was captured on a loopback interface.
    pub(crate) loopback: bool,
    pub(crate) transport: Transport,
    /// Size of the packet's payload, in bytes.
    pub(crate) bytes: u32,
    /// Payload, as far as it was captured.
    pub(crate) payload: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp(TcpHeader),
    Udp,
}

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpHeader {
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
    pub(crate) flags: u8,
}

impl TcpHeader {
    pub(crate) const FIN: u8 = 1;
    pub(crate) const SYN: u8 = 2;
    pub(crate) const RST: u8 = 4;
    pub(crate) const PUSH: u8 = 8;
    pub(crate) const ACK: u8 = 16;

    pub(crate) fn has_flag(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Fragment of an IP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IpFragment<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) ttl: u8,
    pub(crate) protocol: u8,
    pub(crate) id: u32,
    /// Offset in the whole IP payload, in bytes.
    pub(crate) offset: u32,
    /// Whether fragments with higher offsets follow.
    pub(crate) more: bool,
    /// Size of the fragment, in bytes.
    pub(crate) bytes: u32,
    pub(crate) data: &'a [u8],
}

/// Decoded content of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DecodedFrame<'a> {
    Packet(Packet<'a>),
    Fragment(IpFragment<'a>),
    /// Content without messages, and its kind.
    Other(&'static str),
}

/// Kind of frames with an unsupported link type.
pub(crate) const UNKNOWN_LINK: &str = "unknown link type";

mod link {
    pub(super) const NULL: i32 = 0;
    pub(super) const ETHERNET: i32 = 1;
    pub(super) const RAW_BSD: [i32; 2] = [12, 14];
    pub(super) const RAW: i32 = 101;
    pub(super) const LOOP: i32 = 108;
    pub(super) const SLL: i32 = 113;
    pub(super) const IPV4: i32 = 228;
    pub(super) const IPV6: i32 = 229;
    pub(super) const SLL2: i32 = 276;
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const ARPHRD_LOOPBACK: u16 = 772;
const TRUNCATED: DecodedFrame = DecodedFrame::Other("truncated headers");

/// Payload of an IP packet, and fields of the headers before it.
struct IpPayload<'a> {
    source: IpAddr,
    destination: IpAddr,
    ttl: u8,
    id: u16,
    protocol: u8,
    /// Size of the payload on the wire, in bytes.
    bytes: u32,
    /// Payload, as far as it was captured.
    data: &'a [u8],
}

/// Decodes `frame` up to the headers of TCP or UDP.
pub(crate) fn decode_frame<'a>(frame: &CapturedFrame<'a>) -> DecodedFrame<'a> {
    let LinkPayload { ip, direction, loopback } = match strip_link(frame) {
        Ok(link) => link,
        Err(other) => return other,
    };
    let wire = frame.original.saturating_sub((frame.data.len() - ip.len()) as u32);
    let network = match ip.first().map(|first| first >> 4) {
        Some(4) => decode_ipv4(ip, wire),
        Some(6) => decode_ipv6(ip, wire),
        None => Err(TRUNCATED),
        _ => Err(DecodedFrame::Other("not IP")),
    };
    match network.and_then(|network| decode_transport(&network, frame, direction, loopback)) {
        Ok(packet) => DecodedFrame::Packet(packet),
        Err(other) => other,
    }
}

/// Decodes an IP payload that was reassembled from fragments; `last` is the frame with the last
/// fragment.
pub(crate) fn decode_reassembled<'a>(
    fragment: &IpFragment,
    whole: &'a [u8],
    last: &CapturedFrame,
) -> DecodedFrame<'a> {
    let network = IpPayload {
        source: fragment.source,
        destination: fragment.destination,
        ttl: fragment.ttl,
        id: fragment.id as u16,
        protocol: fragment.protocol,
        bytes: whole.len() as u32,
        data: whole,
    };
    match decode_transport(&network, last, last.direction, false) {
        Ok(packet) => DecodedFrame::Packet(packet),
        Err(other) => other,
    }
}

struct LinkPayload<'a> {
    ip: &'a [u8],
    direction: FrameDirection,
    loopback: bool,
}

fn strip_link<'a>(frame: &CapturedFrame<'a>) -> Result<LinkPayload<'a>, DecodedFrame<'a>> {
    let data = frame.data;
    let plain = |ip| LinkPayload { ip, direction: frame.direction, loopback: false };
    match frame.link {
        link::ETHERNET => Ok(plain(skip_vlan_tags(data, 12)?)),
        link::RAW | link::IPV4 | link::IPV6 => Ok(plain(data)),
        raw if link::RAW_BSD.contains(&raw) => Ok(plain(data)),
        link::NULL | link::LOOP => data.get(4..).map(plain).ok_or(TRUNCATED),
        link::SLL => {
            let direction = cooked_direction(u16_at(data, 0), frame.direction);
            Ok(LinkPayload {
                ip: skip_vlan_tags(data, 14)?,
                direction,
                loopback: u16_at(data, 2) == Some(ARPHRD_LOOPBACK),
            })
        }
        link::SLL2 => {
            let direction =
                cooked_direction(data.get(10).map(|kind| u16::from(*kind)), frame.direction);
            let loopback = u16_at(data, 8) == Some(ARPHRD_LOOPBACK);
            let ip = data.get(20..).ok_or(TRUNCATED)?;
            let ip = match u16_at(data, 0) {
                Some(IPV4 | IPV6) => ip,
                Some(tag) if VLAN.contains(&tag) => skip_vlan_tags(ip, 2)?,
                _ => return Err(DecodedFrame::Other("not IP")),
            };
            Ok(LinkPayload { ip, direction, loopback })
        }
        _ => Err(DecodedFrame::Other(UNKNOWN_LINK)),
    }
}

/// Direction from the kernel's packet type in a cooked capture: for this host, broadcast,
/// multicast, for another host, or from this host.
fn cooked_direction(kind: Option<u16>, otherwise: FrameDirection) -> FrameDirection {
    match kind {
        Some(0..=2) => FrameDirection::In,
        Some(4) => FrameDirection::Out,
        _ => otherwise,
    }
}

/// Skips the payload type at offset `at` and any VLAN tags; returns the IP packet after them.
fn skip_vlan_tags(data: &[u8], mut at: usize) -> Result<&[u8], DecodedFrame<'static>> {
    // A frame has at most two tags; a few more do no harm.
    for _ in 0..4 {
        match u16_at(data, at).ok_or(TRUNCATED)? {
            IPV4 | IPV6 => return data.get(at + 2..).ok_or(TRUNCATED),
            tag if VLAN.contains(&tag) => at += 4,
            _ => return Err(DecodedFrame::Other("not IP")),
        }
    }
    Err(DecodedFrame::Other("not IP"))
}

/// Decodes the header of an IPv4 packet with `wire` bytes on the wire. A fragment is returned as an
/// error, as it has no TCP or UDP header to decode.
fn decode_ipv4(ip: &[u8], wire: u32) -> Result<IpPayload<'_>, DecodedFrame<'_>> {
    let header = Ipv4HeaderSlice::from_slice(ip).map_err(|_| TRUNCATED)?;
    let head = header.slice().len();
    // Packets that the network card is to segment may be longer than the field can hold.
    let total = match header.total_len() {
        0 => wire,
        total => u32::from(total),
    };
    let bytes = total.saturating_sub(head as u32);
    let data = ip.get(head..).unwrap_or_default();
    let data = data.get(..bytes as usize).unwrap_or(data);
    let (source, destination) = (header.source_addr().into(), header.destination_addr().into());
    if header.is_fragmenting_payload() {
        return Err(DecodedFrame::Fragment(IpFragment {
            source,
            destination,
            ttl: header.ttl(),
            protocol: header.protocol().0,
            id: u32::from(header.identification()),
            offset: u32::from(header.fragments_offset().byte_offset()),
            more: header.more_fragments(),
            bytes,
            data,
        }));
    }
    let (ttl, id) = (header.ttl(), header.identification());
    Ok(IpPayload { source, destination, ttl, id, protocol: header.protocol().0, bytes, data })
}

/// Decodes the headers of an IPv6 packet as [`decode_ipv4`] does.
fn decode_ipv6(ip: &[u8], wire: u32) -> Result<IpPayload<'_>, DecodedFrame<'_>> {
    let header = Ipv6HeaderSlice::from_slice(ip).map_err(|_| TRUNCATED)?;
    let head = header.slice().len();
    let payload = match header.payload_length() {
        0 => wire.saturating_sub(head as u32),
        payload => u32::from(payload),
    };
    let data = ip.get(head..).unwrap_or_default();
    let data = data.get(..payload as usize).unwrap_or(data);
    let ExtensionsEnd { protocol, rest, fragment } = skip_extensions(header.next_header().0, data)?;
    let bytes = payload.saturating_sub((data.len() - rest.len()) as u32);
    let (source, destination, ttl) =
        (header.source_addr().into(), header.destination_addr().into(), header.hop_limit());
    if let Some(fragment) = fragment {
        return Err(DecodedFrame::Fragment(IpFragment {
            source,
            destination,
            ttl,
            protocol,
            id: fragment.identification(),
            offset: u32::from(fragment.fragment_offset().byte_offset()),
            more: fragment.more_fragments(),
            bytes,
            data: rest,
        }));
    }
    Ok(IpPayload { source, destination, ttl, id: 0, protocol, bytes, data: rest })
}

/// Payload after the extension headers of IPv6.
struct ExtensionsEnd<'a> {
    protocol: u8,
    rest: &'a [u8],
    /// Fragment header, if only a fragment follows.
    fragment: Option<Ipv6FragmentHeaderSlice<'a>>,
}

/// Skips the extension headers, each with its length and the type of the next one. etherparse's own
/// iteration reads past truncated headers, so it is not used.
fn skip_extensions(mut next: u8, mut data: &[u8]) -> Result<ExtensionsEnd<'_>, DecodedFrame<'_>> {
    // No packet has more headers; each step consumes one, so the loop ends anyway.
    for _ in 0..16 {
        let length = match IpNumber(next) {
            IpNumber::IPV6_FRAGMENTATION_HEADER => {
                let fragment = Ipv6FragmentHeaderSlice::from_slice(data).map_err(|_| TRUNCATED)?;
                let (protocol, rest) =
                    (fragment.next_header().0, data.get(8..).unwrap_or_default());
                if fragment.is_fragmenting_payload() {
                    return Ok(ExtensionsEnd { protocol, rest, fragment: Some(fragment) });
                }
                8
            }
            IpNumber::AUTHENTICATION_HEADER => {
                (usize::from(*data.get(1).ok_or(TRUNCATED)?) + 2) * 4
            }
            IpNumber::IPV6_HEADER_HOP_BY_HOP
            | IpNumber::IPV6_ROUTE_HEADER
            | IpNumber::IPV6_DESTINATION_OPTIONS
            | IpNumber::MOBILITY_HEADER
            | IpNumber::HIP
            | IpNumber::SHIM6 => (usize::from(*data.get(1).ok_or(TRUNCATED)?) + 1) * 8,
            _ => break,
        };
        next = *data.first().ok_or(TRUNCATED)?;
        data = data.get(length..).ok_or(TRUNCATED)?;
    }
    Ok(ExtensionsEnd { protocol: next, rest: data, fragment: None })
}

fn decode_transport<'a>(
    network: &IpPayload<'a>,
    frame: &CapturedFrame,
    direction: FrameDirection,
    loopback: bool,
) -> Result<Packet<'a>, DecodedFrame<'a>> {
    let &IpPayload { source, destination, ttl, id, protocol, bytes, data } = network;
    let packet = |ports: [u16; 2], transport, head: usize, bytes: u32| {
        let payload = data.get(head..).unwrap_or_default();
        Packet {
            time: frame.time,
            source: (source, ports[0]),
            destination: (destination, ports[1]),
            ttl,
            id,
            interface: frame.interface,
            direction,
            loopback,
            transport,
            bytes,
            payload: payload.get(..bytes as usize).unwrap_or(payload),
        }
    };
    match IpNumber(protocol) {
        IpNumber::TCP => {
            let header: &[u8; 20] = data.first_chunk().ok_or(TRUNCATED)?;
            let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, offset, flags, ..] = *header;
            let head = usize::from(offset >> 4) * 4;
            if head < header.len() || head as u32 > bytes {
                return Err(DecodedFrame::Other("damaged TCP header"));
            }
            let tcp = TcpHeader {
                sequence: u32::from_be_bytes([q0, q1, q2, q3]),
                acknowledged: u32::from_be_bytes([a0, a1, a2, a3]),
                flags,
            };
            let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
            Ok(packet(ports, Transport::Tcp(tcp), head, bytes - head as u32))
        }
        IpNumber::UDP => {
            let header = UdpHeaderSlice::from_slice(data).map_err(|_| TRUNCATED)?;
            let head = header.slice().len();
            let bytes = match header.length() {
                // A jumbogram, or a packet that the network card is to segment.
                0 => bytes.saturating_sub(head as u32),
                length if u32::from(length) < head as u32 => {
                    return Err(DecodedFrame::Other("damaged UDP header"));
                }
                length => u32::from(length) - head as u32,
            };
            let ports = [header.source_port(), header.destination_port()];
            Ok(packet(ports, Transport::Udp, head, bytes))
        }
        IpNumber::ICMP | IpNumber::IPV6_ICMP => Err(DecodedFrame::Other("ICMP")),
        _ => Err(DecodedFrame::Other("other protocol than TCP and UDP")),
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..at + 2)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}
