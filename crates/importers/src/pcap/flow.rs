//! What a flow of packets is called, and how copies of one packet are known.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use rustc_hash::FxHasher;

use super::container::FrameDirection;
use super::headers::{Packet, PacketEnd, Transport};
use crate::tuning::{COMPARED_BODY_BYTES, COPY_SLOTS, COPY_WITHIN_NS, DATAGRAM_HEAD_BYTES};

/// Both ends of a flow in a fixed order, whichever way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PacketFlowKey {
    pub(crate) ends: [PacketEnd; 2],
    pub(crate) udp: bool,
}

impl PacketFlowKey {
    /// The flow of a packet, and which of its ends sent it.
    pub(crate) fn from_packet(packet: &Packet) -> (PacketFlowKey, usize) {
        let udp = packet.transport == Transport::Udp;
        let (source, destination) = (packet.source, packet.destination);
        if source <= destination {
            (PacketFlowKey { ends: [source, destination], udp }, 0)
        } else {
            (PacketFlowKey { ends: [destination, source], udp }, 1)
        }
    }
}

/// Whether packets to `ip` may reach many.
pub(crate) fn is_group_address(ip: IpAddr) -> bool {
    ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.is_broadcast() || ip.octets()[3] == 255)
}

/// Remembers the packets of the last second, by their hashes, as far as room allows: a sniffer that
/// listens on several interfaces, or on both directions of a switch's port, sees one packet several
/// times.
pub(crate) struct RecentPackets {
    slots: Vec<RecentPacket>,
}

#[derive(Clone, Copy, Default)]
struct RecentPacket {
    hash: u64,
    time: i64,
    interface: u32,
    out: bool,
    used: bool,
}

impl RecentPackets {
    pub(crate) fn new() -> RecentPackets {
        RecentPackets { slots: vec![RecentPacket::default(); COPY_SLOTS] }
    }

    /// Whether `packet` is a copy of one that was seen just now. Without a number of its own from
    /// IP it may be as well a second packet with the same bytes, unless it is seen in another place
    /// or passing the other way.
    pub(crate) fn is_copy(&mut self, packet: &Packet, checksum: u32) -> bool {
        let mut hasher = FxHasher::default();
        (packet.source, packet.destination, packet.id, packet.bytes, checksum).hash(&mut hasher);
        if let Transport::Tcp(tcp) = packet.transport {
            (tcp.sequence, tcp.acknowledged, tcp.flags).hash(&mut hasher);
        }
        let hash = hasher.finish();
        let Some(slot) = self.slots.get_mut((hash >> 32) as usize % COPY_SLOTS) else {
            return false;
        };
        let (interface, out) = (packet.interface, packet.direction == FrameDirection::Out);
        let elsewhere = slot.interface != interface || slot.out != out;
        let close = packet.time.saturating_sub(slot.time).abs() <= COPY_WITHIN_NS;
        if slot.used && slot.hash == hash && close && (elsewhere || packet.id != 0) {
            return true;
        }
        *slot = RecentPacket { hash, time: packet.time, interface, out, used: true };
        false
    }
}

/// The beginning of a datagram, which is the same where the sender's network card has not cut it
/// yet, and of the first of what it was cut into. `None`: it is too short to tell it from others.
pub(crate) fn head_signature(packet: &Packet) -> Option<u64> {
    if packet.transport != Transport::Udp {
        return None;
    }
    let mut hasher = FxHasher::default();
    let body = packet.payload.get(..DATAGRAM_HEAD_BYTES)?;
    (18u8, packet.id, body).hash(&mut hasher);
    Some(mixed(hasher.finish()))
}

/// A packet's fields as they stay on the whole way, so that copies of it have equal values wherever
/// they are seen and whatever their addresses are. `None`: there is too little in it to tell it
/// from others.
pub(crate) fn packet_signature(packet: &Packet, checksum: u32) -> Option<u64> {
    use super::headers::TcpHeader;
    let mut hasher = FxHasher::default();
    match packet.transport {
        // The two numbers are as good as random. Of the body the beginning is compared, which all
        // have that cut packets.
        Transport::Tcp(tcp)
            if tcp.has_flag(TcpHeader::ACK)
                && (tcp.has_flag(TcpHeader::SYN) || packet.bytes > 0) =>
        {
            let flags = tcp.flags & (TcpHeader::SYN | TcpHeader::FIN);
            let body = packet.payload.get(..packet.bytes.min(COMPARED_BODY_BYTES) as usize)?;
            (6u8, tcp.sequence, tcp.acknowledged, flags, packet.bytes, body).hash(&mut hasher);
        }
        Transport::Udp if packet.bytes >= 8 && packet.payload.len() as u32 == packet.bytes => {
            (17u8, packet.bytes, checksum, packet.id).hash(&mut hasher);
        }
        _ => return None,
    }
    Some(mixed(hasher.finish()))
}

/// The hasher's lower bits are weak, and the samples are chosen by them.
fn mixed(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
