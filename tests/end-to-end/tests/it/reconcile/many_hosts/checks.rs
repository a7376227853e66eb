//! Comparison of a reconciliation with the known facts of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use clocks::ClockModel;
use end_to_end::lab::{LabClock, LabHost};
use end_to_end::wire;
use message_trace::{DataDir, Endpoint, Message, MessageTrace, NodeId, TransportProtocol};
use reconcile::{NamedCounts, Reconciliation};

use super::system::{HOSTS, ManyHostsRun};

/// Maximum error of an estimated offset, at any time of the run; it never exceeds the stated
/// uncertainty either.
const OFFSET: i64 = 200_000;
/// Maximum error of an estimated skew, in parts per million.
const SKEW: f64 = 5.0;

/// All messages are matched, whatever the clocks.
pub(crate) fn everything_is_matched(outcome: &Reconciliation) {
    let none = NamedCounts::new();
    assert_eq!(outcome.send_only, none);
    assert_eq!(outcome.receive_only, none);
    assert_eq!(outcome.unmatched_streams, none);
    assert_eq!((outcome.stream_bytes.sent_only, outcome.stream_bytes.received_only), (0, 0));
    assert_eq!(outcome.both_ends, outcome.total_messages());
    let datagrams = &outcome.datagrams;
    assert_eq!((datagrams.lost, datagrams.duplicated, datagrams.copies), (0, 0, 0));
    assert_eq!((datagrams.sent, datagrams.received), (datagrams.matched, datagrams.matched));
    assert_eq!(outcome.lost_records, none);
    assert!(outcome.damaged.is_empty(), "{:?}", outcome.damaged);
    for protocol in ["tcp", "udp", "unix-stream", "unix-dgram", "unix-seqpacket"] {
        assert!(outcome.messages.get(protocol).is_some_and(|count| *count > 100), "{protocol}");
    }
    assert_eq!(outcome.hosts, HOSTS.len() as u64);
}

/// The host of a message's end.
fn host_of_node(trace: &MessageTrace, node: NodeId) -> &str {
    trace.nodes.get(node).map_or("", |node| &node.host)
}

fn joined_messages(trace: &MessageTrace) -> impl Iterator<Item = Message> {
    trace.messages()
}

fn addresses_of(trace: &MessageTrace, message: &Message) -> Option<(SocketAddr, SocketAddr)> {
    match (trace.endpoint(message.src_endpoint)?, trace.endpoint(message.dst_endpoint)?) {
        (Endpoint::Inet(from), Endpoint::Inet(to)) => Some((*from, *to)),
        _ => None,
    }
}

/// The bytes of each connection agree with its sequence numbers, the datagrams of each host with
/// its counters, and the traffic on unix sockets with the application's own counts.
pub(crate) fn bytes_are_those_of_the_wire(run: &ManyHostsRun, trace: &MessageTrace) {
    let mut tcp = wire::ConnectionBytes::new();
    let mut udp = vec![[wire::DatagramTotals::default(); 2]; run.hosts.len()];
    let mut unix = BTreeMap::<TransportProtocol, u64>::new();
    for message in joined_messages(trace) {
        let bytes = message.bytes as u64;
        match (message.protocol, addresses_of(trace, &message)) {
            (TransportProtocol::Tcp, Some(ends)) => *tcp.entry(ends).or_default() += bytes,
            (TransportProtocol::Udp, Some((from, to))) => {
                for (address, way) in [(to, 0), (from, 1)] {
                    let is_of = |host: &&mut (&LabHost, &mut [wire::DatagramTotals; 2])| {
                        host.0.addresses().contains(&address.ip())
                    };
                    let mut all: Vec<_> = run.hosts.iter().zip(&mut udp).collect();
                    let count =
                        &mut all.iter_mut().find(is_of).expect("an address of a host").1[way];
                    count.datagrams += 1;
                    count.bytes += bytes;
                }
            }
            (protocol, _) => *unix.entry(protocol).or_default() += bytes,
        }
    }
    let differences: Vec<_> = run
        .tcp
        .keys()
        .chain(tcp.keys().filter(|ends| !run.tcp.contains_key(ends)))
        .filter(|ends| run.tcp.get(ends) != tcp.get(ends))
        .map(|ends| (ends, run.tcp.get(ends), tcp.get(ends)))
        .collect();
    assert!(differences.is_empty(), "ends, wire, messages: {differences:#?}");
    println!("tcp: {} bytes in {} directions of connections", tcp.values().sum::<u64>(), tcp.len());
    assert_eq!(udp, run.udp, "received and sent by each host, as messages and on the wire");
    println!("udp, received and sent by each host: {udp:?}");
    // The application received what it sent.
    let counted = |names: &[&str]| -> u64 {
        names.iter().map(|name| run.unix[*name].iter().sum::<u64>()).sum()
    };
    assert_eq!(unix[&TransportProtocol::UnixStream], counted(&["stream", "abstract", "pair"]));
    assert_eq!(unix[&TransportProtocol::UnixDatagram], counted(&["datagram"]));
    assert_eq!(unix[&TransportProtocol::UnixSequence], counted(&["sequence"]));
}

/// The clock of a host that the run gave it.
fn true_clock<'run>(run: &'run ManyHostsRun, name: &str) -> (&'run LabHost, LabClock) {
    let host = run.hosts.iter().find(|host| host.name() == name).expect(name);
    (host, host.clock())
}

/// The estimated offsets and skews are those of the hosts.
pub(crate) fn clocks_are_found(run: &ManyHostsRun, data: &DataDir, hosts: &BTreeSet<&str>) {
    let clocks = ClockModel::read(data.clocks_path()).unwrap();
    let found: BTreeSet<&str> = clocks.hosts.iter().map(|clock| clock.host.as_str()).collect();
    assert_eq!(&found, hosts);
    let (_, reference) = true_clock(run, &clocks.reference);
    println!("clocks against {}:", clocks.reference);
    let mut wrong = Vec::new();
    for clock in &clocks.hosts {
        let (_, own) = true_clock(run, &clock.host);
        let skew =
            (1.0 + f64::from(own.skew) / 1e6) / (1.0 + f64::from(reference.skew) / 1e6) * 1e6 - 1e6;
        // A moment on both clocks, and its estimated conversion: at the beginning, in the middle
        // and at the end.
        let (begin, end) = run.monotonic;
        let errors = [begin, begin + (end - begin) / 2, end].map(|at| {
            let here = run.boot + at + own.ahead_at(at);
            let there = run.boot + at + reference.ahead_at(at);
            clock.common_time(here) - there
        });
        println!(
            "  {:8} offset off by {:?} us of at most {:?}; skew {:.3} ppm off by {:+.3} of at most {:?}; steps {:?}",
            clock.host,
            errors.map(|error| error as f64 / 1e3),
            clock.uncertainty_ns.map(|uncertainty| uncertainty as f64 / 1e3),
            clock.skew_ppm,
            clock.skew_ppm - skew,
            clock.skew_uncertainty_ppm,
            clock.steps,
        );
        let stated = clock.uncertainty_ns.unwrap_or(0).min(OFFSET);
        if errors.iter().any(|error| error.abs() > stated)
            || (clock.skew_ppm - skew).abs() > SKEW
            || !clock.steps.is_empty()
        {
            wrong.push(&clock.host);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// On the common clock, no message arrives before it was sent by more than the stated uncertainty.
pub(crate) fn nothing_arrives_before_it_was_sent(
    data: &DataDir,
    trace: &MessageTrace,
    hosts: &BTreeSet<&str>,
) {
    let clocks = ClockModel::read(data.clocks_path()).unwrap();
    let uncertainty: BTreeMap<&str, i64> = clocks
        .hosts
        .iter()
        .map(|clock| (clock.host.as_str(), clock.uncertainty_ns.unwrap_or(0)))
        .collect();
    let mut early = Vec::new();
    for message in joined_messages(trace) {
        let (from, to) = (host_of_node(trace, message.src), host_of_node(trace, message.dst));
        if let Some(latency) = message.network_latency()
            && hosts.contains(from)
            && hosts.contains(to)
        {
            let allowed = if from == to { 0 } else { uncertainty[from] + uncertainty[to] };
            if latency < -allowed {
                early.push((from.to_owned(), to.to_owned(), latency, allowed));
            }
        }
    }
    assert!(early.is_empty(), "{} of {}: {:?}", early.len(), trace.len(), early.first());
}

/// Messages between traced hosts are matched as before, and the rest has the only applicable cause.
pub(crate) fn what_is_traced_is_matched(
    outcome: &Reconciliation,
    whole: &MessageTrace,
    part: &MessageTrace,
    traced: &BTreeSet<&str>,
) {
    let cause = |counts: &NamedCounts| counts.keys().cloned().collect::<Vec<_>>();
    for counts in [&outcome.send_only, &outcome.receive_only, &outcome.unmatched_streams] {
        assert_eq!(cause(counts), ["peer not traced"]);
    }
    assert_eq!((outcome.stream_bytes.sent_only, outcome.stream_bytes.received_only), (0, 0));
    assert_eq!(
        (outcome.datagrams.lost, outcome.datagrams.duplicated, outcome.datagrams.copies),
        (0, 0, 0)
    );
    let between = |trace: &MessageTrace| {
        let mut sums = BTreeMap::<(String, String, TransportProtocol), (u64, i64)>::new();
        for message in joined_messages(trace) {
            let (from, to) = (host_of_node(trace, message.src), host_of_node(trace, message.dst));
            if traced.contains(from) && traced.contains(to) {
                let sum =
                    sums.entry((from.to_owned(), to.to_owned(), message.protocol)).or_default();
                sum.0 += 1;
                sum.1 += message.bytes;
                assert!(message.send_first.is_some() && message.recv_last.is_some());
            }
        }
        sums
    };
    let expected = between(whole);
    assert!(expected.len() >= 8, "{expected:?}");
    assert_eq!(between(part), expected);
}
