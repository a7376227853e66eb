//! Reassembly of IP packets that were sent in fragments. The number of pending packets is limited:
//! an incomplete packet is dropped when its slot is needed.

use std::collections::VecDeque;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::headers::IpFragment;
use crate::tuning::{MAX_FRAGMENTS, MAX_HELD_PACKETS};

/// Maximum size of an IP packet, in bytes.
const MAX_PACKET_BYTES: u32 = 65_535;

/// Source, destination, protocol and identification of a fragmented packet.
type FragmentKey = (IpAddr, IpAddr, u8, u32);

/// Fragments of incomplete packets.
#[derive(Debug, Default)]
pub(crate) struct FragmentReassembler {
    partial_packets: FxHashMap<FragmentKey, PartialPacket>,
    order: VecDeque<FragmentKey>,
    /// Number of packets that stayed incomplete.
    pub(crate) incomplete: u64,
    /// Number of fragments that were added.
    pub(crate) seen: u64,
}

#[derive(Debug, Default)]
struct PartialPacket {
    bytes: Vec<u8>,
    /// Ranges that are present: in order, disjoint.
    ranges: Vec<(u32, u32)>,
    /// Size of the whole packet; `None` until its last fragment is present.
    total: Option<u32>,
}

impl FragmentReassembler {
    /// Adds a fragment; returns the payload of the packet if it is complete now.
    pub(crate) fn add_fragment(&mut self, fragment: &IpFragment) -> Option<Vec<u8>> {
        self.seen += 1;
        let end = fragment.offset.saturating_add(fragment.bytes);
        // A fragment that the sniffer truncated cannot be reassembled.
        if end > MAX_PACKET_BYTES || (fragment.data.len() as u32) < fragment.bytes {
            return None;
        }
        let key = (fragment.source, fragment.destination, fragment.protocol, fragment.id);
        if !self.partial_packets.contains_key(&key) {
            if self.order.len() >= MAX_HELD_PACKETS {
                let oldest = self.order.pop_front()?;
                self.incomplete += u64::from(self.partial_packets.remove(&oldest).is_some());
            }
            self.order.push_back(key);
        }
        let partial = self.partial_packets.entry(key).or_default();
        partial.add_fragment(fragment, end);
        if !partial.is_complete() {
            return None;
        }
        let whole = self.partial_packets.remove(&key)?;
        self.order.retain(|known| *known != key);
        Some(whole.bytes)
    }

    /// Number of packets that were not completed.
    pub(crate) fn lost_packets(&self) -> u64 {
        self.incomplete + self.partial_packets.len() as u64
    }
}

impl PartialPacket {
    fn add_fragment(&mut self, fragment: &IpFragment, end: u32) {
        if !fragment.more {
            self.total = Some(end);
        }
        if self.ranges.len() >= MAX_FRAGMENTS {
            return;
        }
        if self.bytes.len() < end as usize {
            self.bytes.resize(end as usize, 0);
        }
        if let Some(place) = self.bytes.get_mut(fragment.offset as usize..end as usize) {
            place.copy_from_slice(fragment.data.get(..place.len()).unwrap_or_default());
        }
        self.ranges.push((fragment.offset, end));
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, last| {
            let touch = next.0 <= last.1;
            if touch {
                last.1 = last.1.max(next.1);
            }
            touch
        });
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.ranges.first() == Some(&(0, total)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn fragment(id: u32, offset: u32, more: bool, data: &[u8]) -> IpFragment<'_> {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let bytes = data.len() as u32;
        IpFragment {
            source: ip,
            destination: ip,
            ttl: 64,
            protocol: 17,
            id,
            offset,
            more,
            bytes,
            data,
        }
    }

    #[test]
    fn truncated_fragments_are_not_reassembled() {
        let mut fragments = FragmentReassembler::default();
        let cut = IpFragment { bytes: 100, ..fragment(1, 0, false, b"abc") };
        assert!(fragments.add_fragment(&cut).is_none());
        assert!(fragments.add_fragment(&fragment(1, 65_000, false, &[0; 1000])).is_none());
        assert_eq!((fragments.seen, fragments.lost_packets()), (2, 0));
    }

    #[test]
    fn the_number_of_pending_packets_is_limited() {
        let mut fragments = FragmentReassembler::default();
        for id in 0..MAX_HELD_PACKETS as u32 + 10 {
            assert!(fragments.add_fragment(&fragment(id, 0, true, b"abcdefgh")).is_none());
        }
        assert_eq!(fragments.partial_packets.len(), MAX_HELD_PACKETS);
        assert_eq!(fragments.lost_packets(), MAX_HELD_PACKETS as u64 + 10);
        // The oldest packet was dropped, the latest was not.
        assert!(fragments.add_fragment(&fragment(0, 8, false, b"x")).is_none());
        assert!(
            fragments
                .add_fragment(&fragment(MAX_HELD_PACKETS as u32 + 9, 8, false, b"x"))
                .is_some()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// In any order, and with duplicates: the packet is completed by its last missing fragment,
        /// and equal.
        #[test]
        fn any_order_gives_the_packet(
            whole in prop::collection::vec(any::<u8>(), 1..4000),
            cut in 1usize..100,
            order in any::<prop::sample::Index>(),
            twice in any::<prop::sample::Index>(),
        ) {
            let pieces: Vec<_> = whole.chunks(cut * 8).collect();
            let mut fragments = FragmentReassembler::default();
            let mut places: Vec<usize> = (0..pieces.len()).collect();
            places.rotate_left(order.index(pieces.len()));
            places.insert(0, twice.index(pieces.len()));
            let last = *places.last().unwrap();
            let twice_is_last = places[0] == last;
            let mut got = None;
            for (step, place) in places.iter().enumerate() {
                let more = place + 1 < pieces.len();
                let piece = fragment(7, (place * cut * 8) as u32, more, pieces[*place]);
                let whole = fragments.add_fragment(&piece);
                prop_assert!(whole.is_none() || got.is_none() || pieces.len() == 1);
                prop_assert!(whole.is_none() || step + 1 == places.len() || twice_is_last || pieces.len() == 1);
                got = got.or(whole);
            }
            prop_assert_eq!(got, Some(whole));
        }
    }
}
