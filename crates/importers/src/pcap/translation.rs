//! Translated addresses (WAP5 section 7.1): packets with equal bodies and headers but other
//! addresses are one packet, before and after a translation. The copy with more remaining hops is
//! nearer to its sender; so the sender's own name is the one before the translation, and the
//! receiver's own name the one after it.
//!
//! The numbers of a TCP segment are practically random, so one pair is proof. Equal datagrams may
//! be accidental, as when clients send the same request: it takes several of a flow, with no other
//! datagram of either flow between a datagram and its copy, since a translation forwards them in
//! order. The same copies show which of two sniffers is nearer to a node.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::headers::PacketEnd;
use super::index_pass::{PacketSample, SnifferIndex};
use crate::tuning::{MAX_ALIKE, MAX_DELAYS, MIN_DATAGRAMS};

/// Ends of a packet, from sender to receiver, and whether it is a datagram.
pub(crate) type PacketNames = (PacketEnd, PacketEnd, bool);

/// Translations: the names (addresses and ports) that the ends of a flow have for themselves, by
/// the names in its packets.
#[derive(Debug, Default)]
pub(crate) struct AddressTranslations {
    canonical: FxHashMap<PacketNames, (PacketEnd, PacketEnd)>,
    /// Sniffers that saw packets both before and after a translation.
    both_sides: FxHashSet<u32>,
}

/// Times at which two sniffers saw the same packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SnifferDelay {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// Sniffers by their numbers, the smaller first.
    pub(crate) sniffers: [u32; 2],
    pub(crate) times: [i64; 2],
    pub(crate) ttls: [u8; 2],
}

/// Evidence from copies of packets.
#[derive(Debug, Default)]
pub(crate) struct CopyEvidence {
    pub(crate) translations: AddressTranslations,
    pub(crate) delays: Vec<SnifferDelay>,
}

#[derive(Clone, Copy)]
struct TranslationEvidence {
    /// Own names of both ends.
    canonical: (PacketEnd, PacketEnd),
    /// Difference of the copies in hops.
    hops: u8,
    /// Number of different packets with this evidence.
    packets: u32,
    /// Signature of the latest of them.
    latest: u64,
}

impl AddressTranslations {
    /// The names that the ends of a packet have for themselves; `None` if `names`, those in the
    /// packet, are not translated.
    pub(crate) fn own_names(&self, names: &PacketNames) -> Option<(PacketEnd, PacketEnd)> {
        self.canonical.get(names).copied()
    }

    /// Whether `sniffer` is at a place where names are translated: most of its traffic is not its
    /// own host's.
    pub(crate) fn is_between_hosts(&self, sniffer: u32) -> bool {
        self.both_sides.contains(&sniffer)
    }

    /// Addresses that only stand for translated ones, and belong to no host.
    pub(crate) fn alias_addresses(&self) -> FxHashSet<IpAddr> {
        let (mut all, mut own) = (FxHashSet::default(), FxHashSet::default());
        for ((source, destination, _), (from, to)) in &self.canonical {
            all.extend([source.0, destination.0]);
            own.extend([from.0, to.0]);
        }
        all.difference(&own).copied().collect()
    }

    /// Number of flows with own names that differ from the names in their packets.
    pub(crate) fn flow_count(&self) -> usize {
        let ends: FxHashSet<(PacketEnd, PacketEnd)> =
            self.canonical.values().map(|(from, to)| (*from.min(to), *from.max(to))).collect();
        ends.len()
    }
}

/// Compares the samples of all sniffers.
pub(crate) fn compare_samples(indexes: &[SnifferIndex]) -> CopyEvidence {
    let mut samples: Vec<(u32, PacketSample)> = Vec::new();
    for (sniffer, index) in (0..).zip(indexes) {
        samples.extend(index.samples.all.iter().map(|sample| (sniffer, *sample)));
    }
    samples.sort_unstable_by_key(|(sniffer, sample)| (sample.signature, *sniffer, sample.time));
    let mut found = CopyEvidence::default();
    let mut evidence: FxHashMap<PacketNames, TranslationEvidence> = FxHashMap::default();
    let passed = DatagramPassages::from_samples(&samples);
    for alike in samples.chunk_by(|(_, one), (_, other)| one.signature == other.signature) {
        if alike.len() < 2 || alike.len() > MAX_ALIKE {
            continue;
        }
        if alike.iter().any(|(_, sample)| sample.head) {
            // Other datagrams may begin alike: only pairs are evidence.
            if alike.len() == 2 && found.delays.len() < MAX_DELAYS {
                add_delays(alike, &mut found.delays);
            }
            continue;
        }
        add_translations(alike, &passed, &mut evidence);
        for two in alike.windows(2) {
            if let [(one, first), (other, second)] = two
                && one == other
                && (first.source, first.destination) != (second.source, second.destination)
            {
                found.translations.both_sides.insert(*one);
            }
        }
        if found.delays.len() < MAX_DELAYS {
            add_delays(alike, &mut found.delays);
        }
    }
    // Both directions of a flow have the same names, whichever of them was proved by packets.
    for ((source, destination, udp), evidence) in evidence {
        if !udp || evidence.packets >= MIN_DATAGRAMS {
            let (from, to) = evidence.canonical;
            let canonical = &mut found.translations.canonical;
            canonical.insert((source, destination, udp), (from, to));
            canonical.entry((destination, source, udp)).or_insert((to, from));
        }
    }
    found
}

/// Times at which each sniffer saw the datagrams of each flow.
struct DatagramPassages(FxHashMap<(u32, PacketNames), Vec<i64>>);

impl DatagramPassages {
    fn from_samples(samples: &[(u32, PacketSample)]) -> DatagramPassages {
        let mut times: FxHashMap<_, Vec<i64>> = FxHashMap::default();
        for (sniffer, sample) in samples.iter().filter(|(_, sample)| sample.udp && !sample.head) {
            times.entry((*sniffer, names_of_packet(sample))).or_default().push(sample.time);
        }
        times.values_mut().for_each(|times| times.sort_unstable());
        DatagramPassages(times)
    }

    /// Whether one of these datagrams can be the other after a translation. Clocks of two sniffers
    /// are not compared.
    fn can_be_copies(&self, one: &(u32, PacketSample), other: &(u32, PacketSample)) -> bool {
        let ((sniffer, one), (of, other)) = (one, other);
        let (from, to) = (one.time.min(other.time), one.time.max(other.time));
        let goes_between = |sample: &PacketSample| {
            let times =
                self.0.get(&(*sniffer, names_of_packet(sample))).map_or(&[][..], Vec::as_slice);
            let after = times.partition_point(|time| *time <= from);
            times.get(after).is_some_and(|time| *time < to)
        };
        sniffer != of || !one.udp || !(goes_between(one) || goes_between(other))
    }
}

fn names_of_packet(sample: &PacketSample) -> PacketNames {
    (sample.source, sample.destination, sample.udp)
}

/// Adds the own names of both ends of a packet that was seen under several names.
fn add_translations(
    alike: &[(u32, PacketSample)],
    passed: &DatagramPassages,
    evidence: &mut FxHashMap<PacketNames, TranslationEvidence>,
) {
    let Some((first_sniffer, first)) = alike.first() else { return };
    if alike.iter().all(|(_, sample)| names_of_packet(sample) == names_of_packet(first)) {
        return;
    }
    if !alike.windows(2).all(|two| passed.can_be_copies(&two[0], &two[1])) {
        return;
    }
    let ttl = |sample: &PacketSample| sample.ttl;
    let (Some(most), Some(least)) =
        (alike.iter().map(|(_, s)| ttl(s)).max(), alike.iter().map(|(_, s)| ttl(s)).min())
    else {
        return;
    };
    let (before, after) = if most > least {
        let with = |wanted| {
            alike.iter().find(|(_, sample)| sample.ttl == wanted).map(|(_, sample)| sample)
        };
        (with(most), with(least))
    } else if alike.iter().all(|(sniffer, _)| sniffer == first_sniffer) {
        // With one clock, the packet goes from the earlier sighting to the later.
        let by_time = |(_, sample): &&(u32, PacketSample)| sample.time;
        let samples = || alike.iter();
        (
            samples().min_by_key(by_time).map(|(_, s)| s),
            samples().max_by_key(by_time).map(|(_, s)| s),
        )
    } else {
        return;
    };
    let (Some(before), Some(after)) = (before, after) else { return };
    let (canonical, hops) = ((before.source, after.destination), most - least);
    for (_, sample) in alike {
        let none = TranslationEvidence { canonical, hops, packets: 0, latest: !sample.signature };
        let known = evidence.entry(names_of_packet(sample)).or_insert(none);
        if hops > known.hops {
            (known.canonical, known.hops) = (canonical, hops);
        }
        known.packets += u32::from(known.latest != sample.signature);
        known.latest = sample.signature;
    }
}

/// Adds the times at which each two sniffers saw a packet under the same names.
fn add_delays(alike: &[(u32, PacketSample)], delays: &mut Vec<SnifferDelay>) {
    for (place, (one, first)) in alike.iter().enumerate() {
        for (other, second) in alike.iter().skip(place + 1) {
            let same = first.source == second.source && first.destination == second.destination;
            if one == other || !same {
                continue;
            }
            delays.push(SnifferDelay {
                source: first.source.0,
                destination: first.destination.0,
                sniffers: [*one, *other],
                times: [first.time, second.time],
                ttls: [first.ttl, second.ttl],
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> PacketEnd {
        let address: std::net::SocketAddr = text.parse().unwrap();
        (address.ip(), address.port())
    }

    fn sample(
        signature: u64,
        time: i64,
        source: &str,
        destination: &str,
        ttl: u8,
        udp: bool,
    ) -> PacketSample {
        PacketSample {
            signature,
            time,
            source: end(source),
            destination: end(destination),
            ttl,
            udp,
            head: false,
        }
    }

    fn seen(samples: &[PacketSample]) -> SnifferIndex {
        let mut index = SnifferIndex::default();
        index.samples.all = samples.to_vec();
        index
    }

    const CLIENT: &str = "10.0.0.9:40000";
    const VIRTUAL: &str = "10.0.0.1:80";
    const GATEWAY: &str = "10.1.0.1:50000";
    const SERVER: &str = "10.1.0.2:8080";

    fn assert_canonical(found: &CopyEvidence) {
        let canonical = Some((end(CLIENT), end(SERVER)));
        assert_eq!(found.translations.own_names(&(end(CLIENT), end(VIRTUAL), false)), canonical);
        assert_eq!(found.translations.own_names(&(end(GATEWAY), end(SERVER), false)), canonical);
        let back = canonical.map(|(client, server)| (server, client));
        assert_eq!(found.translations.own_names(&(end(VIRTUAL), end(CLIENT), false)), back);
        assert_eq!(found.translations.own_names(&(end(SERVER), end(GATEWAY), false)), back);
    }

    #[test]
    fn hops_reveal_the_own_names_of_both_ends() {
        // The request alone, the response alone, and both.
        let requests =
            [sample(1, 100, CLIENT, VIRTUAL, 64, false), sample(1, 5, GATEWAY, SERVER, 63, false)];
        let answers =
            [sample(2, 110, VIRTUAL, CLIENT, 63, false), sample(2, 7, SERVER, GATEWAY, 64, false)];
        assert_canonical(&compare_samples(&[seen(&requests[..1]), seen(&requests[1..])]));
        assert_canonical(&compare_samples(&[seen(&answers[..1]), seen(&answers[1..])]));
        let both = [0, 1].map(|side| seen(&[requests[side], answers[side]]));
        assert_canonical(&compare_samples(&both));
    }

    #[test]
    fn times_of_one_sniffer_decide_if_hops_do_not() {
        let of_one =
            [sample(1, 5, CLIENT, VIRTUAL, 64, false), sample(1, 6, GATEWAY, SERVER, 64, false)];
        assert_canonical(&compare_samples(&[seen(&of_one)]));
        // The clocks of two sniffers are not compared.
        let found = compare_samples(&[seen(&of_one[..1]), seen(&of_one[1..])]);
        assert_eq!(found.translations.flow_count(), 0);
    }

    #[test]
    fn a_chain_of_translations_is_taken_from_its_ends() {
        let samples = [
            sample(1, 5, CLIENT, VIRTUAL, 64, false),
            sample(1, 6, "10.5.0.1:6000", "10.5.0.2:6001", 63, false),
            sample(1, 7, GATEWAY, SERVER, 62, false),
        ];
        let found = compare_samples(&[seen(&samples)]);
        assert_canonical(&found);
        let middle = (end("10.5.0.1:6000"), end("10.5.0.2:6001"), false);
        assert_eq!(found.translations.own_names(&middle), Some((end(CLIENT), end(SERVER))));
    }

    #[test]
    fn few_equal_datagrams_are_an_accident() {
        let pair = |signature| {
            [
                sample(signature, 1, CLIENT, VIRTUAL, 64, true),
                sample(signature, 2, CLIENT, SERVER, 63, true),
            ]
        };
        let few: Vec<PacketSample> = (1..3).flat_map(pair).collect();
        assert_eq!(compare_samples(&[seen(&few)]).translations.flow_count(), 0);
        let enough: Vec<PacketSample> = (1..4).flat_map(pair).collect();
        let found = compare_samples(&[seen(&enough)]);
        let canonical = found.translations.own_names(&(end(CLIENT), end(VIRTUAL), true));
        assert_eq!(canonical, Some((end(CLIENT), end(SERVER))));
    }

    /// Two clients send the same request, one after the other, or both repeatedly.
    #[test]
    fn equal_datagrams_with_others_between_are_an_accident() {
        let asks =
            |from: &str, time: i64, signature: u64| sample(signature, time, from, SERVER, 64, true);
        let one_by_one: Vec<PacketSample> = (0..9)
            .flat_map(|turn| {
                [asks(CLIENT, turn, turn as u64), asks(GATEWAY, 100 + turn, turn as u64)]
            })
            .collect();
        assert_eq!(compare_samples(&[seen(&one_by_one)]).translations.flow_count(), 0);
        let forwarded: Vec<PacketSample> = (0..9)
            .flat_map(|turn| {
                let at = 10 * turn;
                [asks(CLIENT, at, turn as u64), asks(GATEWAY, at + 1, turn as u64)]
            })
            .collect();
        assert_eq!(compare_samples(&[seen(&forwarded)]).translations.flow_count(), 1);
    }

    #[test]
    fn copies_under_one_name_are_delays() {
        let one = [sample(1, 100, CLIENT, VIRTUAL, 64, false)];
        let other = [sample(1, 5, CLIENT, VIRTUAL, 64, false)];
        let found = compare_samples(&[seen(&one), seen(&other)]);
        assert_eq!(found.translations.flow_count(), 0);
        assert_eq!(found.delays.len(), 1);
        assert_eq!(found.delays[0].times, [100, 5]);
    }
}
