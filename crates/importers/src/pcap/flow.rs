//! Key of a flow of packets, and recognition of copies of a packet.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use rustc_hash::FxHasher;

use super::container::FrameDirection;
use super::headers::{Packet, PacketEnd, Transport};
use crate::tuning::{COMPARED_BODY_BYTES, COPY_SLOTS, COPY_WITHIN_NS, DATAGRAM_HEAD_BYTES};

/// Both ends of a flow in a fixed order, independent of a packet's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PacketFlowKey {
    pub(crate) ends: [PacketEnd; 2],
    pub(crate) udp: bool,
}

impl PacketFlowKey {
    /// Flow of a packet, and which of its ends sent it.
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

/// Whether packets to `ip` may reach several receivers.
pub(crate) fn is_group_address(ip: IpAddr) -> bool {
    ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.is_broadcast() || ip.octets()[3] == 255)
}

/// Packets of the last second by their hashes, as far as memory allows: a sniffer that listens on
/// several interfaces, or on both directions of a switch port, sees one packet several times.
pub(crate) struct RecentPackets {
    slots: Vec<RecentPacket>,
}

#[derive(Clone, Copy, Default)]
struct RecentPacket {
    hash: u64,
    time: i64,
    interface: u32,
    /// Whether the packet was outgoing.
    out: bool,
    /// Whether the slot contains a packet.
    used: bool,
}

impl RecentPackets {
    pub(crate) fn new() -> RecentPackets {
        RecentPackets { slots: vec![RecentPacket::default(); COPY_SLOTS] }
    }

    /// Whether `packet` is a copy of a recent one. A packet without an IP id may also be a second
    /// packet with the same bytes, unless it is seen elsewhere or in the other direction.
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

/// Signature of a datagram's beginning, which is equal for a datagram that the sender's network
/// card has not segmented yet and for its first segment. `None` if it is too short to be
/// distinctive.
pub(crate) fn head_signature(packet: &Packet) -> Option<u64> {
    if packet.transport != Transport::Udp {
        return None;
    }
    let mut hasher = FxHasher::default();
    let body = packet.payload.get(..DATAGRAM_HEAD_BYTES)?;
    (18u8, packet.id, body).hash(&mut hasher);
    Some(mix_hash(hasher.finish()))
}

/// Signature of the packet fields that stay constant along the way, so that copies have equal
/// signatures wherever they are seen and whatever their addresses are. `None` if there is too
/// little content to be distinctive.
pub(crate) fn packet_signature(packet: &Packet, checksum: u32) -> Option<u64> {
    use super::headers::TcpHeader;
    let mut hasher = FxHasher::default();
    match packet.transport {
        // The two numbers are practically random. The beginning of the body is compared, which
        // truncated packets have, too.
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
    Some(mix_hash(hasher.finish()))
}

/// Mixes the bits of a hash: the hasher's lower bits are weak, and samples are chosen by their
/// hashes.
fn mix_hash(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
