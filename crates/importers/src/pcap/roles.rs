//! Service end of a midstream connection, which is older than the capture: no packet shows which
//! side connected.
//!
//! The evidence, in descending order of weight: connections to the port were seen being
//! established; the number of peers of the port, as a service has one port for many clients and
//! each client has a new one for each connection; the port is not in the range that systems assign
//! to clients; and the side that is seen sending first, as a capture mostly begins while a
//! connection is idle. A port counts for its host as a whole: a service listens on any of its
//! addresses, and loopback alone has many.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::headers::PacketEnd;
use super::index_pass::SnifferIndex;
use crate::tuning::{MIN_PEERS_OF_FIXED_PORT, PORT_CLASS_WEIGHT, SPEAKS_FIRST_WEIGHT};

/// A port of a host, or of an address that belongs to no host of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct PortPlace {
    host: Option<u32>,
    address: Option<IpAddr>,
    port: u16,
}

/// Midstream connection with its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InferredService {
    /// Sniffer that saw the connection.
    pub(crate) sniffer: u32,
    pub(crate) service: PacketEnd,
    pub(crate) client: PacketEnd,
    /// Whether the client's port is a fixed one, too, and thus identifies the client.
    pub(crate) both_fixed: bool,
}

/// Evidence for a port from all midstream connections.
#[derive(Clone, Copy, Debug, Default)]
struct PortEvidence {
    /// Number of different peers of the port.
    peers: u32,
    /// Number of connections in which the other end was seen sending first, minus the connections
    /// in which this end was seen sending first.
    asked: i32,
    connections: u32,
}

/// Decides for all midstream connections with data. `host_of` returns the host of an address as a
/// sniffer sees it.
pub(crate) fn infer_services(
    indexes: &[SnifferIndex],
    host_of: impl Fn(IpAddr, u32) -> Option<u32>,
) -> Vec<InferredService> {
    let place = |(address, port): PacketEnd, sniffer| match host_of(address, sniffer) {
        Some(host) => PortPlace { host: Some(host), address: None, port },
        None => PortPlace { host: None, address: Some(address), port },
    };
    let mut known: FxHashSet<PortPlace> = FxHashSet::default();
    let mut evidence: FxHashMap<PortPlace, PortEvidence> = FxHashMap::default();
    let mut pairs: FxHashSet<[PortPlace; 2]> = FxHashSet::default();
    let mut midstream = Vec::new();
    for (sniffer, index) in (0..).zip(indexes) {
        let tcp = index.calls.iter().filter(|call| !call.udp);
        known.extend(tcp.map(|call| place(call.server, sniffer)));
        for (key, of) in &index.midstream {
            let Some(speaker) = of.speaker.filter(|_| key.ends[0] != key.ends[1]) else { continue };
            let places = key.ends.map(|end| place(end, sniffer));
            midstream.push((sniffer, key.ends, places));
            let is_new = pairs.insert(places);
            for (end, place) in places.into_iter().enumerate() {
                let port_evidence = evidence.entry(place).or_default();
                port_evidence.peers += u32::from(is_new);
                port_evidence.connections += 1;
                port_evidence.asked += if end == speaker { -1 } else { 1 };
            }
        }
    }
    let decide = |(sniffer, ends, places): (u32, [PacketEnd; 2], [PortPlace; 2])| {
        let of = places.map(|place| evidence.get(&place).copied().unwrap_or_default());
        let is_known = places.map(|place| known.contains(&place));
        let first = match is_known {
            [true, false] => true,
            [false, true] => false,
            _ => is_first(ends, of),
        };
        let [service, client] = if first { ends } else { [ends[1], ends[0]] };
        let fixed = |port: u16| port_class(port) > 0.0;
        let many = of.iter().all(|port_evidence| port_evidence.peers >= MIN_PEERS_OF_FIXED_PORT);
        let both_fixed = many || (fixed(service.1) && fixed(client.1));
        InferredService { sniffer, service, client, both_fixed }
    };
    midstream.into_iter().map(decide).collect()
}

/// Whether the first of two ends is more likely the service.
fn is_first(ends: [PacketEnd; 2], of: [PortEvidence; 2]) -> bool {
    let score = |end: PacketEnd, of: PortEvidence| {
        let asked = f64::from(of.asked) / f64::from(of.connections.max(1));
        f64::from(of.peers.max(1)).ln()
            + PORT_CLASS_WEIGHT * port_class(end.1)
            + SPEAKS_FIRST_WEIGHT * asked
    };
    let [one, other] = [score(ends[0], of[0]), score(ends[1], of[1])];
    // Without evidence, the lower port is more likely a service's.
    if one == other { ends[0].1 < ends[1].1 } else { one > other }
}

/// Class of a port by itself: ports up to 1023 are services' (2), ports from 32768 are assigned to
/// clients (0; by Linux, and the higher ones by all systems).
fn port_class(port: u16) -> f64 {
    match port {
        ..1024 => 2.0,
        1024..32_768 => 1.0,
        _ => 0.0,
    }
}
