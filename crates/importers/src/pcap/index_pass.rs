//! Index of one sniffer's captures: the first of the two passes. The index records the addresses,
//! the amount of their traffic that this sniffer saw, the ports of servers, and the midstream
//! connections, and keeps a sample of packets by which copies in other sniffers' captures are
//! found.

use std::net::IpAddr;

use message_trace::Progress;
use rustc_hash::{FxHashMap, FxHashSet};

use super::container::FrameDirection;
use super::flow::{PacketFlowKey, head_signature, is_group_address, packet_signature};
use super::headers::{Packet, PacketEnd, TcpHeader, Transport};
use super::sniffer::{Sighting, Sniffer, SnifferCounts, read_without_copies};
use crate::error::Error;
use crate::tuning::{IDLE_KEPT_NS, MAX_ADDRESSES, MAX_CLIENT_SERVICE_PAIRS, MAX_FLOWS};

/// Index of a sniffer's captures.
#[derive(Debug, Default)]
pub(crate) struct SnifferIndex {
    pub(crate) addresses: FxHashMap<IpAddr, AddressPackets>,
    /// Bytes from one host to another, of IPv4 and of IPv6. Packets are not counted: one packet at
    /// one sniffer may be segmented by the network card into many at another.
    pub(crate) bytes: [u64; 2],
    /// Clients and the ends to which they connect, or send datagrams first.
    pub(crate) calls: FxHashSet<ClientCall>,
    /// Connections that are older than the capture.
    pub(crate) midstream: FxHashMap<PacketFlowKey, MidstreamConnection>,
    pub(crate) samples: PacketSamples,
    pub(crate) counts: SnifferCounts,
}

/// An address that connects to an end, or sends datagrams to it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientCall {
    pub(crate) client: IpAddr,
    pub(crate) server: PacketEnd,
    pub(crate) udp: bool,
}

/// Beginning of a midstream connection, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MidstreamConnection {
    /// First sequence number of each end.
    pub(crate) first: [Option<u32>; 2],
    /// End from which data was seen first, as an index of the flow's two ends.
    pub(crate) speaker: Option<usize>,
}

/// Traffic of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressPackets {
    /// Number of bytes from and to the address; a packet without payload counts as one.
    pub(crate) bytes: u64,
    /// Number of packets that show the address to be this sniffer's own: outgoing from the address,
    /// incoming to it.
    pub(crate) own: u64,
    /// Number of packets that show the contrary.
    pub(crate) other: u64,
}

/// Packet that may be found again in another capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketSample {
    pub(crate) signature: u64,
    pub(crate) time: i64,
    pub(crate) source: PacketEnd,
    pub(crate) destination: PacketEnd,
    pub(crate) ttl: u8,
    pub(crate) udp: bool,
    /// Whether the signature covers the packet's beginning only.
    pub(crate) head: bool,
}

/// Samples that all sniffers choose by the same rule: the smallest signatures.
#[derive(Debug)]
pub(crate) struct PacketSamples {
    pub(crate) all: Vec<PacketSample>,
    /// Number of samples at which half of the signatures are excluded.
    limit: usize,
    /// Largest signature that is accepted.
    below: u64,
}

impl Default for PacketSamples {
    fn default() -> PacketSamples {
        PacketSamples { all: Vec::new(), limit: 1 << 18, below: u64::MAX }
    }
}

impl PacketSamples {
    fn add_sample(&mut self, sample: PacketSample) {
        if sample.signature > self.below {
            return;
        }
        self.all.push(sample);
        while self.all.len() >= self.limit && self.below > 0 {
            self.below /= 2;
            let below = self.below;
            self.all.retain(|sample| sample.signature <= below);
        }
    }
}

/// Indexes the captures of `sniffer`; `limit` is the number of samples to keep.
pub(crate) fn index(
    sniffer: &Sniffer,
    limit: usize,
    progress: &dyn Progress,
) -> Result<SnifferIndex, Error> {
    let mut indexer = SnifferIndexer::default();
    indexer.index.samples.limit = limit;
    let counts = read_without_copies(
        sniffer,
        progress,
        |_| (),
        |seen| {
            indexer.add_packet(seen);
            Ok(())
        },
    )?;
    Ok(indexer.into_index(counts))
}

#[derive(Default)]
struct SnifferIndexer {
    index: SnifferIndex,
    flows: FxHashMap<PacketFlowKey, IndexedFlow>,
    /// Number of packets that were left out, as there are too many addresses.
    uncounted: u64,
}

#[derive(Clone, Copy)]
struct IndexedFlow {
    /// Whether the beginning of the connection was seen.
    begin_seen: bool,
    midstream: MidstreamConnection,
    /// Time of the latest packet, in nanoseconds.
    last: i64,
}

impl SnifferIndexer {
    fn add_packet(&mut self, seen: &Sighting) {
        let packet = seen.packet;
        if !self.add_addresses(packet) {
            self.uncounted += 1;
            return;
        }
        let (key, sender) = PacketFlowKey::from_packet(packet);
        match packet.transport {
            Transport::Tcp(tcp) => self.add_segment(packet, &tcp, key, sender),
            Transport::Udp => self.add_datagram(packet, key),
        }
        let whole = packet_signature(packet, seen.checksum).map(|signature| (signature, false));
        let head = head_signature(packet).map(|signature| (signature, true));
        for (signature, head) in whole.into_iter().chain(head) {
            self.index.samples.add_sample(PacketSample {
                signature,
                time: packet.time,
                source: packet.source,
                destination: packet.destination,
                ttl: packet.ttl,
                udp: key.udp,
                head,
            });
        }
    }

    /// Counts the traffic of both addresses; returns `false` if there are too many addresses.
    fn add_addresses(&mut self, packet: &Packet) -> bool {
        let index = &mut self.index;
        let (source, destination) = (packet.source.0, packet.destination.0);
        let family = usize::from(source.is_ipv6());
        // Loopback and broadcast traffic does not show which host the sniffer is on.
        let bytes = u64::from(packet.bytes.max(1));
        if !source.is_loopback() && !is_group_address(destination) {
            index.bytes[family] += bytes;
        }
        let (own, other) = match packet.direction {
            // Packets that a host sends to itself are incoming as well.
            _ if packet.loopback || source == destination => ([false; 2], [false; 2]),
            FrameDirection::Out => ([true, false], [false, true]),
            FrameDirection::In => ([false, true], [true, false]),
            FrameDirection::Unknown => ([false; 2], [false; 2]),
        };
        for (side, address) in [source, destination].into_iter().enumerate() {
            if is_group_address(address) || (side == 1 && source == destination) {
                continue;
            }
            if index.addresses.len() >= MAX_ADDRESSES && !index.addresses.contains_key(&address) {
                return false;
            }
            let seen = index.addresses.entry(address).or_default();
            seen.bytes += bytes;
            seen.own += u64::from(own[side] || packet.loopback);
            seen.other += u64::from(other[side]);
        }
        true
    }

    fn add_segment(&mut self, packet: &Packet, tcp: &TcpHeader, key: PacketFlowKey, sender: usize) {
        if tcp.has_flag(TcpHeader::SYN) {
            let (server, client) = match tcp.has_flag(TcpHeader::ACK) {
                true => (packet.source, packet.destination.0),
                false => (packet.destination, packet.source.0),
            };
            self.add_server(server, false, client);
        }
        let flow = self.flow_mut(key, packet.time);
        flow.begin_seen |= tcp.has_flag(TcpHeader::SYN);
        if flow.begin_seen {
            return;
        }
        if packet.bytes > 0 {
            flow.midstream.first[sender].get_or_insert(tcp.sequence);
            flow.midstream.speaker.get_or_insert(sender);
        }
        if tcp.has_flag(TcpHeader::ACK) {
            flow.midstream.first[1 - sender].get_or_insert(tcp.acknowledged);
        }
    }

    fn add_datagram(&mut self, packet: &Packet, key: PacketFlowKey) {
        let known = self.flows.contains_key(&key);
        self.flow_mut(key, packet.time).begin_seen = true;
        if known || is_group_address(packet.destination.0) {
            return;
        }
        let (source, destination) = (packet.source, packet.destination);
        // A response without its request.
        if source.1 < 1024 && destination.1 >= 1024 {
            self.add_server(source, true, destination.0);
        } else {
            self.add_server(destination, true, source.0);
        }
    }

    fn add_server(&mut self, server: PacketEnd, udp: bool, client: IpAddr) {
        if self.index.calls.len() < MAX_CLIENT_SERVICE_PAIRS {
            self.index.calls.insert(ClientCall { client, server, udp });
        }
    }

    fn flow_mut(&mut self, key: PacketFlowKey, time: i64) -> &mut IndexedFlow {
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&key) {
            self.make_room(time);
        }
        let flow = self.flows.entry(key).or_insert(IndexedFlow {
            begin_seen: false,
            midstream: MidstreamConnection::default(),
            last: time,
        });
        flow.last = flow.last.max(time);
        flow
    }

    /// Evicts flows that have been idle for a while; midstream connections are kept as long as
    /// there is room, as they are the purpose.
    fn make_room(&mut self, now: i64) {
        let mut idle = IDLE_KEPT_NS;
        while self.flows.len() >= MAX_FLOWS / 4 * 3 {
            self.flows.retain(|_, flow| {
                (!flow.begin_seen && idle > 0) || now.saturating_sub(flow.last) < idle
            });
            if idle == 0 {
                break;
            }
            idle /= 4;
        }
    }

    fn into_index(mut self, mut counts: SnifferCounts) -> SnifferIndex {
        let middle = |(key, flow): (&PacketFlowKey, &IndexedFlow)| {
            let midstream = !key.udp && !flow.begin_seen && flow.midstream.first != [None; 2];
            midstream.then_some((*key, flow.midstream))
        };
        self.index.midstream = self.flows.iter().filter_map(middle).collect();
        if self.uncounted > 0 {
            counts.skipped.causes.insert("more addresses than can be followed", self.uncounted);
        }
        self.index.counts = counts;
        self.index
    }
}
