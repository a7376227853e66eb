//! The test's own captures, analysed by tshark and by our importer: the same connections, and in
//! each the same turns of the same sizes; the same datagrams.
//!
//! tshark is large, so this runs only with `scripts/test --all`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{program_path, python_path, run_successfully};
use end_to_end::lab::{HostLab, LabHost};
use end_to_end::repository;
use importers::{Importer, PacketImporter};
use message_trace::{DataDir, MessageTrace, TransportProtocol};
use reconcile::{Options, reconcile};
use rustix::process::Signal;

const PORT: u16 = 9100;
const ROUNDS: &str = "12";

/// Both ends of a flow, in the order of their text.
type SortedEnds = [String; 2];

/// Turns of a flow: whether the first of its ends sends, and the bytes until the other does.
type FlowTurns = Vec<(bool, u64)>;

/// Adds bytes sent by one end: to its turn, or as a new turn.
fn add_to_turn(turns: &mut FlowTurns, is_first: bool, bytes: u64) {
    match turns.last_mut() {
        Some((last, sum)) if *last == is_first => *sum += bytes,
        _ => turns.push((is_first, bytes)),
    }
}

fn sort_ends(from: String, to: String) -> (SortedEnds, bool) {
    if from <= to { ([from, to], true) } else { ([to, from], false) }
}

/// tshark's output for a capture.
fn run_tshark(capture: &Path, arguments: &[&str]) -> String {
    // Without `-n`, names of hosts and ports would be looked up.
    let mut command = Command::new(program_path("tshark"));
    command.arg("-n").arg("-r").arg(capture).args(arguments);
    run_successfully(&mut command)
}

/// Turns of each TCP connection, as tshark follows them.
fn connections_of_tshark(capture: &Path) -> BTreeMap<SortedEnds, FlowTurns> {
    let streams = run_tshark(capture, &["-Y", "tcp", "-T", "fields", "-e", "tcp.stream"]);
    let last = streams.lines().filter_map(|stream| stream.parse::<usize>().ok()).max();
    let mut connections = BTreeMap::new();
    for stream in 0..last.map_or(0, |last| last + 1) {
        let text = run_tshark(capture, &["-q", "-z", &format!("follow,tcp,raw,{stream}")]);
        let node = |number: usize| {
            let name = text.lines().find_map(|line| line.strip_prefix(&format!("Node {number}: ")));
            let name = name.unwrap_or_else(|| panic!("stream {stream} of {capture:?}:\n{text}"));
            name.to_owned()
        };
        let (key, is_first) = sort_ends(node(0), node(1));
        let mut turns = FlowTurns::new();
        for line in text.lines() {
            // The second node's bytes are indented.
            let (hex, is_second) = line.strip_prefix('\t').map_or((line, false), |hex| (hex, true));
            if !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                add_to_turn(&mut turns, is_first != is_second, hex.len() as u64 / 2);
            }
        }
        if !turns.is_empty() {
            connections.insert(key, turns);
        }
    }
    connections
}

/// Sizes of the datagrams between any two ends.
fn datagrams_of_tshark(capture: &Path) -> BTreeMap<SortedEnds, FlowTurns> {
    let fields = "ip.src ipv6.src udp.srcport ip.dst ipv6.dst udp.dstport udp.length frame.number";
    let mut arguments = vec!["-Y", "udp && !icmp", "-T", "fields"];
    arguments.extend(fields.split(' ').flat_map(|field| ["-e", field]));
    let mut flows = BTreeMap::<SortedEnds, FlowTurns>::new();
    for line in run_tshark(capture, &arguments).lines() {
        let [v4, v6, port, to_v4, to_v6, to_port, length, _] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let end = |v4: &str, v6: &str, port: &str| {
            if v6.is_empty() { format!("{v4}:{port}") } else { format!("[{v6}]:{port}") }
        };
        let (key, is_first) = sort_ends(end(v4, v6, port), end(to_v4, to_v6, to_port));
        let bytes = length.parse::<u64>().unwrap() - 8;
        flows.entry(key).or_default().push((is_first, bytes));
    }
    flows
}

/// The same from our own import.
fn flows_of_import(capture: &Path, data: &Path) -> [BTreeMap<SortedEnds, FlowTurns>; 2] {
    let data = DataDir::new(data);
    PacketImporter::default().import_files(&[capture.to_owned()], &data, &()).unwrap();
    reconcile(&data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let mut flows = [BTreeMap::<SortedEnds, FlowTurns>::new(), BTreeMap::new()];
    for message in trace.messages() {
        let end = |id| trace.endpoint(id).unwrap().to_string();
        let (key, is_first) = sort_ends(end(message.src_endpoint), end(message.dst_endpoint));
        let bytes = message.bytes as u64;
        match message.protocol {
            TransportProtocol::Tcp => {
                add_to_turn(flows[0].entry(key).or_default(), is_first, bytes)
            }
            TransportProtocol::Udp => flows[1].entry(key).or_default().push((is_first, bytes)),
            other => panic!("{other:?} in {capture:?}"),
        }
    }
    flows
}

/// Compares one capture with tshark; returns the numbers of turns and datagrams.
fn compare_capture(name: &str, capture: &Path, lab: &HostLab) -> [usize; 2] {
    let expected = [connections_of_tshark(capture), datagrams_of_tshark(capture)];
    let imported = flows_of_import(capture, &lab.file_path(&format!("data-{name}")));
    assert_eq!(imported, expected, "{name}");
    expected.map(|flows| flows.values().map(Vec::len).sum())
}

/// A capture in which the frames have the tag of a virtual network. Not every kernel supports such
/// networks.
fn mark_frames(capture: &Path, to: PathBuf) -> PathBuf {
    const FILE_HEADER: usize = 24;
    const MARK: [u8; 4] = [0x81, 0, 0, 7];
    let bytes = fs::read(capture).unwrap();
    let (header, mut rest) = bytes.split_at(FILE_HEADER);
    let mut marked = header.to_vec();
    while let Some((record, following)) = rest.split_at_checked(16) {
        let length = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
        let (frame, next) = following.split_at(length(8) as usize);
        let lengths = [length(8), length(12)].map(|length| (length + 4).to_le_bytes());
        marked.extend([&record[..8], &lengths[0], &lengths[1]].concat());
        marked.extend([&frame[..12], &MARK, &frame[12..]].concat());
        rest = next;
    }
    fs::write(&to, marked).unwrap();
    to
}

/// Removes frames `from` to `to` of a capture.
fn drop_frames(capture: &Path, frames: &str, to: PathBuf) -> PathBuf {
    let mut editcap = Command::new(program_path("editcap"));
    run_successfully(editcap.arg(capture).arg(&to).args(frames.split(' ')));
    to
}

#[test]
#[ignore = "tshark is large"]
fn captures_are_read_as_tshark_reads_them() {
    let mut lab = HostLab::new();
    let network = lab.add_network(1);
    let (client, server) = (lab.add_host("client", network), lab.add_host("server", network));
    let script = repository().join("tests/programs/turns.py");
    let (script, port) = (script.to_str().unwrap(), PORT.to_string());
    let serving = server.start_server(
        server.plain_command(python_path()).args([script, "server", &port]),
        &["tcp:9100", "udp:9100"],
    );
    let (v4, v6) = (server.first_ipv4().to_string(), server.first_ipv6().to_string());
    let run = |host: &LabHost, to: &[&str]| {
        run_successfully(
            host.plain_command(python_path()).args([script, "client", &port, ROUNDS]).args(to),
        );
    };
    let both = || {
        run(&client, &[&v4, &v6]);
        run(&server, &["127.0.0.1", "::1"]);
    };
    let capture = |name: &str, work: &dyn Fn()| {
        let of = [(&client, "eth0"), (&server, "eth0"), (&server, "lo"), (&server, "any")];
        let running = of.map(|(host, interface)| {
            let file = lab.file_path(&format!("{name}-{}-{interface}.pcap", host.name()));
            (host.capture_packets(interface, &file), file)
        });
        work();
        running.map(|(tcpdump, file)| {
            tcpdump.stop_capture();
            file
        })
    };
    let whole = capture("whole", &both);
    // Packets of the client are lost after the point where they are captured, and so are packets to
    // the server.
    server.run_nft(
        "add table inet loss; add chain inet loss in { type filter hook input priority 0; };
         add rule inet loss in iifname eth0 numgen random mod 100 < 5 drop",
    );
    let lossy = capture("lossy", &both);
    serving.stop_by(Signal::TERM);

    for (name, files) in [("whole", &whole), ("lossy", &lossy)] {
        for file in files {
            let name = format!("{name}-{}", file.file_stem().unwrap().to_str().unwrap());
            let [turns, datagrams] = compare_capture(&name, file, &lab);
            println!("{name}: {turns} turns, {datagrams} datagrams");
            assert!(turns >= 48 && datagrams >= 40, "{name}: {turns}, {datagrams}");
        }
    }
    let tagged = mark_frames(&whole[0], lab.file_path("tagged.pcap"));
    assert_eq!(
        compare_capture("tagged", &tagged, &lab),
        compare_capture("not tagged", &whole[0], &lab)
    );
    // The capture began later, or lacks some packets.
    for (number, frames) in ["1-9", "1-60"].iter().enumerate() {
        for of in [0, 2] {
            let file =
                drop_frames(&whole[of], frames, lab.file_path(&format!("cut{number}-{of}.pcap")));
            compare_capture(&format!("cut{number}-{of}"), &file, &lab);
        }
    }
    // The time of a missing packet is unknown, but the sequence numbers of the others show its
    // bytes.
    for of in [0, 2] {
        let file =
            drop_frames(&whole[of], "20 33 47 48 60", lab.file_path(&format!("holes-{of}.pcap")));
        let [imported, _] = flows_of_import(&file, &lab.file_path(&format!("data-holes-{of}")));
        let sums = |flows: BTreeMap<SortedEnds, FlowTurns>| -> BTreeMap<(SortedEnds, bool), u64> {
            let each = |(ends, turns): (SortedEnds, FlowTurns)| {
                let sum =
                    |wanted: bool| turns.iter().filter(move |(is_first, _)| *is_first == wanted);
                let sums = [true, false].map(|side| sum(side).map(|(_, bytes)| bytes).sum::<u64>());
                [((ends.clone(), true), sums[0]), ((ends, false), sums[1])]
            };
            flows.into_iter().flat_map(each).collect()
        };
        assert_eq!(sums(imported), sums(connections_of_tshark(&whole[of])), "holes-{of}");
    }
}
