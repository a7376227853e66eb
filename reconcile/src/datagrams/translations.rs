//! Datagrams through address translation (WAP5 section 7.1): their two ends have different names,
//! so that the sender's destination is not the receiver's name, or the receiver's source not the
//! sender's.
//!
//! Sizes and checksums are unchanged. A content that was sent once and received once, with names
//! that explain neither, is a hint that the name that one side sees leads to the name of the other
//! side; a different content between the same two names is another hint. With two or more hints,
//! the remaining datagrams between these names are matched by content and order.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use message_trace::{PathError, TransportProtocol};
use out_of_core::SpillableVec;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::DatagramCall;
use crate::datagrams::datagram_matches::DatagramMatches;
use crate::datagrams::peer_names::PeerViews;
use crate::indices::{MachineIndex, OptionalIndex, SocketIndex};
use crate::logs::capture::Capture;
use crate::reconciliation::{NameTranslation, TranslatedEnd};
use crate::socket_names::{SocketNameId, is_group_address};
use crate::sockets::routing::DatagramRouting;
use crate::sockets::socket::KernelSocket;
use crate::tuning::{HINT_BY_CHANCE, MIN_HINT_BYTES};

/// A name in the view of one end, and the socket name on a machine to which it may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NamePair {
    /// The name in the view of one end.
    seen: OptionalIndex<SocketNameId>,
    /// The machine of the other end.
    machine: MachineIndex,
    /// The name of the other end's socket there.
    own: OptionalIndex<SocketNameId>,
}

/// Name pairs of contents that were sent once and received once, with the number of different
/// contents.
#[derive(Debug, Default)]
pub(crate) struct TranslationHints(FxHashMap<NamePair, u32>);

/// Whether there can be translated datagrams between these sockets: several of them use UDP.
pub(crate) fn is_possible(sockets: &SpillableVec<KernelSocket>) -> bool {
    sockets.iter().filter(|socket| socket.protocol == TransportProtocol::Udp).nth(1).is_some()
}

/// Whether translated names can have hidden the other end of an unmatched datagram.
pub(crate) fn may_be_translated(routing: DatagramRouting, datagram: &DatagramCall) -> bool {
    let named = |name: SocketAddr| !is_group_address(name.ip()) && !name.ip().is_unspecified();
    routing.sockets[datagram.socket.index()].protocol == TransportProtocol::Udp
        && !datagram.is_unchecked()
        && !datagram.is_truncated()
        && datagram.bytes > 0
        && routing.capture.names.inet_address(datagram.peer).is_some_and(named)
}

/// Both name pairs of a match: the sender's destination may be a name of the receiver's, and the
/// receiver's source one of the sender's, as it is in replies.
fn name_pairs(
    routing: DatagramRouting,
    sent: &DatagramCall,
    received: &DatagramCall,
) -> [NamePair; 2] {
    [(sent, received), (received, sent)].map(|(seen_by, of)| {
        let socket = &routing.sockets[of.socket.index()];
        NamePair { seen: seen_by.peer, machine: socket.machine, own: socket.local }
    })
}

/// Groups `datagrams` by content, and splits those seen in one direction only, which cannot be
/// matched, from the others, sorted by content. The hints of the latter are counted.
pub(crate) fn split_by_direction(
    routing: DatagramRouting,
    mut datagrams: SpillableVec<DatagramCall>,
    hints: &mut TranslationHints,
) -> Result<[SpillableVec<DatagramCall>; 2], PathError> {
    let content = |datagram: &DatagramCall| (datagram.checksum, datagram.bytes);
    datagrams.sort_by_key(content)?;
    let pool = &routing.capture.pool;
    let (mut alone, mut both) = (SpillableVec::new(pool), SpillableVec::new(pool));
    let mut next = 0;
    while let Some(first) = datagrams.get(next) {
        let end = datagrams.end_where(next, |datagram| content(datagram) == content(first));
        let group = next..end;
        next = end;
        let sent = datagrams.range(group.clone()).filter(|datagram| datagram.is_sent()).count();
        let kept = if sent == 0 || sent == group.len() { &mut alone } else { &mut both };
        kept.extend(datagrams.range(group.clone()).copied())?;
        if group.len() > 2 {
            continue;
        }
        if let [one, other] = datagrams.slice(group) {
            let (sent, received) = if one.is_sent() { (one, other) } else { (other, one) };
            if one.is_sent() != other.is_sent()
                && one.bytes >= MIN_HINT_BYTES
                && is_send_first(routing, sent, received)
            {
                name_pairs(routing, sent, received)
                    .into_iter()
                    .for_each(|names| *hints.0.entry(names).or_insert(0) += 1);
            }
        }
    }
    Ok([alone, both])
}

/// Whether the times allow that the receive is of the send. They always do if the two have
/// different clocks.
fn is_send_first(routing: DatagramRouting, sent: &DatagramCall, received: &DatagramCall) -> bool {
    let apart = routing.clock_apart(sent.socket, received.socket);
    apart.is_none_or(|apart| sent.time <= received.time.saturating_add(apart))
}

impl TranslationHints {
    /// Adds the hints found by another part of the work.
    pub(crate) fn absorb(&mut self, other: TranslationHints) {
        other.0.into_iter().for_each(|(names, count)| *self.0.entry(names).or_insert(0) += count);
    }

    /// The translations with a confidence of at least `least`, and with two hints or more.
    pub(crate) fn with_min_confidence(mut self, least: f64) -> DatagramTranslations {
        self.0.retain(|_, count| pair_confidence(*count) >= least.max(pair_confidence(2)));
        DatagramTranslations { pairs: self.0 }
    }
}

/// Confidence of a name pair with hints from this number of different contents, up to 1.
fn pair_confidence(contents: u32) -> f64 {
    1.0 - HINT_BY_CHANCE.powi(contents.min(1_000) as i32)
}

/// Translations of the names of datagram sockets.
#[derive(Debug, Default)]
pub(crate) struct DatagramTranslations {
    pairs: FxHashMap<NamePair, u32>,
}

impl DatagramTranslations {
    /// Whether a translation connects the two: one of the name pairs is known or, with `both`,
    /// each.
    pub(crate) fn allows_pair(
        &self,
        routing: DatagramRouting,
        sent: &DatagramCall,
        received: &DatagramCall,
        both: bool,
    ) -> bool {
        let known = |names: &NamePair| self.pairs.contains_key(names);
        let pairs = name_pairs(routing, sent, received);
        if both { pairs.iter().all(known) } else { pairs.iter().any(known) }
    }

    /// Records the name pairs of the matches that were found.
    pub(crate) fn note_matches(
        &self,
        routing: DatagramRouting,
        datagrams: &SpillableVec<DatagramCall>,
        matches: &DatagramMatches,
        found: &mut TranslatedPairs,
    ) {
        for (sent, received) in matches.pairs.iter() {
            let (sent, received) = (&datagrams[*sent as usize], &datagrams[*received as usize]);
            let [forth, back] = name_pairs(routing, sent, received);
            // The reply to a request shows the same pair with the sides exchanged. The server is
            // the end whose name pair has more contents or, of equals, the one with the lower port.
            let port = |names: &NamePair| {
                routing.capture.names.inet_address(names.own).map_or(0, |own| own.port())
            };
            let rank = |names: &NamePair| {
                let count = if names.seen == names.own {
                    0
                } else {
                    self.pairs.get(names).copied().unwrap_or(0)
                };
                (count, std::cmp::Reverse(port(names)))
            };
            let is_request = rank(&forth) >= rank(&back);
            let (client, server) = if is_request { (sent, received) } else { (received, sent) };
            let names = if is_request { forth } else { back };
            let pair = (client.socket, server.socket);
            found.flows.entry((names, server.peer)).or_default().insert(pair);
        }
    }

    /// The translations as reports show them.
    pub(crate) fn list_translations(
        &self,
        capture: &Capture,
        views: &PeerViews,
        found: &TranslatedPairs,
    ) -> Vec<NameTranslation> {
        let address = |name| views.names.inet_address(name);
        let mut all: BTreeMap<(TranslatedEnd, String, String), (u64, f64)> = BTreeMap::new();
        let mut add = |key: (TranslatedEnd, String, String), confidence: f64| {
            let (flows, least) = all.entry(key).or_insert((0, 1.0));
            (*flows, *least) = (*flows + 1, least.min(confidence));
        };
        for ((names, seen), flows) in &found.flows {
            let confidence = pair_confidence(self.pairs.get(names).copied().unwrap_or(2));
            for (client, server) in flows {
                let (from, own) = (address(names.seen), address(views.own_name(*server, *seen)));
                if let (Some(from), Some(own)) = (from, own) {
                    // A socket bound to all addresses of a host may have no known address.
                    let host = &capture.hosts[views.sockets[server.index()].host.index()];
                    let nameless = own.ip().is_unspecified();
                    let own =
                        if nameless { format!("{host}:{}", own.port()) } else { own.to_string() };
                    add((TranslatedEnd::Destination, from.to_string(), own), confidence);
                }
                let ip =
                    |name| address(name).map(|name| name.ip()).filter(|ip| !ip.is_unspecified());
                if let (Some(own), Some(seen)) =
                    (ip(views.own_name(*client, names.seen)), ip(*seen))
                {
                    add((TranslatedEnd::Source, own.to_string(), seen.to_string()), confidence);
                }
            }
        }
        all.retain(|(_, from, to), _| from != to);
        let translation = |((end, from, to), (flows, sure)): (_, (u64, f64))| {
            // With three digits, as for connections.
            NameTranslation { end, from, to, flows, confidence: (1000.0 * sure).round() / 1000.0 }
        };
        all.into_iter().map(translation).collect()
    }
}

/// A name pair, and the name of the client that the server saw.
type PairAndClient = (NamePair, OptionalIndex<SocketNameId>);

/// The pairs of sockets that exchanged translated datagrams, by the name pair and by the name that
/// the server saw.
#[derive(Debug, Default)]
pub(crate) struct TranslatedPairs {
    flows: FxHashMap<PairAndClient, FxHashSet<(SocketIndex, SocketIndex)>>,
}

impl TranslatedPairs {
    /// Adds the pairs found by another part of the work.
    pub(crate) fn absorb(&mut self, other: TranslatedPairs) {
        other
            .flows
            .into_iter()
            .for_each(|(key, pairs)| self.flows.entry(key).or_default().extend(pairs));
    }
}
