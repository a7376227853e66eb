//! The same run captured by tcpdump and recorded by the library gives the same messages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use end_to_end::capture::{python_path, run_successfully};
use end_to_end::lab::HostLab;
use end_to_end::repository;
use importers::{ImportSummary, Importer, PacketImporter};
use message_trace::{DataDir, MessageTrace, TransportProtocol};
use reconcile::{Options, Reconciliation, reconcile};
use rustix::process::Signal;

/// Maximum apparent difference between two clocks of one machine: the library's and the kernel's
/// packet timestamps, which tcpdump writes in whole microseconds.
const CLOCKS: i64 = 1_000_000;

/// The properties of a message that are the same in every capture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FlowLine {
    hosts: [String; 2],
    direction: i8,
    bytes: i64,
}

/// A message with its times: of its first byte at the sender, of its last at the receiver.
type TimedLine = (FlowLine, Option<i64>, Option<i64>);

/// A flow's messages in order, by its protocol and both its ends, the one that connected first.
type LinesByFlow = BTreeMap<(TransportProtocol, String, String), Vec<TimedLine>>;

/// All flows of a data directory.
fn read_flows(data: &DataDir) -> (LinesByFlow, Reconciliation) {
    let counts = reconcile(data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let endpoint = |id| trace.endpoint(id).unwrap().to_string();
    let host = |id| trace.nodes.get(id).unwrap().host.clone();
    let mut flows = LinesByFlow::new();
    for message in trace.messages() {
        let (from, to) = (endpoint(message.src_endpoint), endpoint(message.dst_endpoint));
        let key = if message.direction == 0 {
            (message.protocol, from, to)
        } else {
            (message.protocol, to, from)
        };
        let hosts = [host(message.src), host(message.dst)];
        let line = FlowLine { hosts, direction: message.direction, bytes: message.bytes };
        flows.entry(key).or_default().push((line, message.send_first, message.recv_last));
    }
    (flows, counts)
}

fn import_packets(
    packets: &PacketImporter,
    files: &[PathBuf],
    data: &Path,
) -> (DataDir, ImportSummary) {
    let data = DataDir::new(data);
    let summary = packets.import_files(files, &data, &()).unwrap();
    (data, summary)
}

#[test]
fn packets_give_the_messages_that_the_library_saw() {
    let mut lab = HostLab::new();
    let network = lab.add_network(1);
    let (client, server, store) = (
        lab.add_host("client", network),
        lab.add_host("server", network),
        lab.add_host("store", network),
    );
    let script = repository().join("tests/programs/packets.py");
    let script = script.to_str().unwrap();
    let captures: Vec<(&str, PathBuf)> = ["client", "server", "server", "store"]
        .iter()
        .enumerate()
        .map(|(number, host)| (*host, lab.file_path(&format!("{number}.pcap"))))
        .collect();
    // One capture states which host each packet is from, the others do not.
    let sniffers = [
        client.capture_packets("eth0", &captures[0].1),
        server.capture_packets("eth0", &captures[1].1),
        server.capture_packets("lo", &captures[2].1),
        store.capture_packets("any", &captures[3].1),
    ];
    let servers = [
        store.start_server(
            store.recorded_command(python_path()).args([script, "store", "6000"]),
            &["tcp:6000", "udp:6000"],
        ),
        server.start_server(
            server.recorded_command(python_path()).args([script, "cache", "8001"]),
            &["tcp:8001"],
        ),
        server.start_server(
            server.recorded_command(python_path()).args([
                script,
                "server",
                "8000",
                &store.first_ipv4().to_string(),
                "6000",
            ]),
            &["tcp:8000"],
        ),
    ];
    let (v4, v6) = (server.first_ipv4().to_string(), server.first_ipv6().to_string());
    run_successfully(
        client.recorded_command(python_path()).args([script, "client", &v4, "8000", "25"]),
    );
    run_successfully(
        client.recorded_command(python_path()).args([script, "client", &v6, "8000", "10"]),
    );
    sniffers.into_iter().for_each(|sniffer| sniffer.stop_capture());
    for server in servers {
        server.stop_by(Signal::TERM);
    }

    let (seen, _) = read_flows(&DataDir::new(lab.recording.data_dir()));
    let hosts = captures.iter().map(|(host, file)| ((*host).to_owned(), file.clone())).collect();
    let packets = PacketImporter { hosts, addresses: Vec::new() };
    let (data, summary) = import_packets(&packets, &[], &lab.file_path("packets"));
    let (mut captured, counts) = read_flows(&data);
    // The lab's own packets, by which it knows that the capture is complete.
    captured.retain(|(_, _, to), _| !to.ends_with(":9"));
    let lines = |flow: &[TimedLine]| -> Vec<FlowLine> {
        flow.iter().map(|(line, ..)| line.clone()).collect()
    };
    let (mut times, mut messages) = (0, 0);
    for (flow, by_library) in &seen {
        let by_packets = captured.remove(flow).unwrap_or_default();
        let (library, packets) = (lines(by_library), lines(&by_packets));
        assert_eq!(library, packets, "{flow:?}");
        messages += library.len();
        for ((line, sent, received), (_, sent_later, received_sooner)) in
            by_library.iter().zip(&by_packets)
        {
            // A call begins before its packets are seen, and returns after they have arrived.
            let sent = sent.unwrap()..=sent_later.unwrap() + CLOCKS;
            let received = received_sooner.unwrap() - CLOCKS..=received.unwrap();
            assert!(
                !sent.is_empty() && !received.is_empty(),
                "{flow:?} {line:?} {sent:?} {received:?}"
            );
            assert!(sent_later.unwrap() <= received_sooner.unwrap() + CLOCKS, "{flow:?} {line:?}");
            times += 1;
        }
    }
    assert!(captured.is_empty(), "only packets: {captured:#?}");
    // Requests and responses: of the client, on loopback, to the store as datagrams, and on
    // connections.
    assert_eq!((messages, times), (2 * 4 * 4 * 35, 2 * 4 * 4 * 35));
    assert_eq!(counts.stream_bytes.sent_only + counts.stream_bytes.received_only, 0);
    // Both in one directory: a message that two captures saw is one message, with the times of the
    // library.
    let (data, _) = import_packets(&packets, &[], &lab.recording.data_dir());
    let (mut both, counts) = read_flows(&data);
    both.retain(|(_, _, to), _| !to.ends_with(":9"));
    assert_eq!(both, seen);
    // Three connections for each of the client's, of two ends each; as many sockets for datagrams
    // as connections of the client, and the store's.
    assert_eq!(counts.seen_twice["packets"], 8 * 3 * 2 + 8 + 1);
    assert_eq!(
        summary.skipped.causes.keys().filter(|cause| cause.contains("cut")).count(),
        0,
        "{summary:#?}"
    );
}
