//! Segmentation offload of UDP as strace and tcpdump see it: one send, or one receive, counts as
//! the datagrams that the other end had. Neither tool records their size, so the messages must be
//! the same as those of the library, which does see it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{TestRecording, python_path, run_successfully};
use end_to_end::lab::HostLab;
use end_to_end::oracle::{StracedRecording, free_port};
use end_to_end::repository;
use importers::{Importer, PacketImporter, StraceImporter, strace_options};
use message_trace::{DataDir, MessageTrace, TransportProtocol};
use reconcile::{InternalMessages, Options, Reconciliation, reconcile};

/// Datagrams of at most 1,200 bytes that `offload.py` sends in its turns, their bytes, and the
/// number of responses.
const DATAGRAMS: u64 = 3 * 2 + 3 * 3 + 2 * 4 + 2 * 5 + 2 * 6;
const BYTES: i64 = 1200 * (3 + 3 * 2 + 2 * 3 + 2 * 4 + 2 * 5) + 12 * 100 + 66;
const ANSWERS: u64 = 12;

/// The size of each datagram with both ends, by sender, and the outcome for all.
fn messages(data: &DataDir) -> (BTreeMap<String, Vec<i64>>, Reconciliation) {
    let options = Options {
        fat_gap: Duration::from_nanos(1),
        internal: InternalMessages::Kept,
        ..Options::default()
    };
    let outcome = reconcile(data, &options, &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let mut sizes = BTreeMap::<_, Vec<i64>>::new();
    let both = |message: &message_trace::Message| {
        message.protocol == TransportProtocol::Udp
            && message.send_first.is_some()
            && message.recv_first.is_some()
    };
    for message in trace.messages().filter(both) {
        let from = trace.endpoint(message.src_endpoint).unwrap().to_string();
        sizes.entry(from).or_default().push(message.bytes);
    }
    sizes.values_mut().for_each(|sizes| sizes.sort_unstable());
    (sizes, outcome)
}

/// A recording that strace observes too, run with these options.
fn witnessed(options: &[String]) -> StracedRecording {
    StracedRecording::with_options(&options.iter().map(String::as_str).collect::<Vec<_>>())
}

fn import(witnessed: &StracedRecording, into: &DataDir) {
    let summary =
        StraceImporter { host: "host".into() }.import_files(&witnessed.traces, into, &()).unwrap();
    assert_eq!(summary.skipped.total(), 0, "{:#?}", summary.skipped.first);
}

#[test]
fn strace_of_both_ends_gives_the_librarys_messages() {
    // Without payloads, sizes decide. An earlier `-s` has no effect.
    let short = [strace_options(), vec!["-s".into(), "64".into()]].concat();
    for (way, options) in [
        ("control", strace_options()),
        ("control connected six", strace_options()),
        ("option", strace_options()),
        ("option connected", strace_options()),
        ("option six number", strace_options()),
        ("option connected joined", strace_options()),
        ("batch", strace_options()),
        ("control", short.clone()),
        ("option connected", short.clone()),
        ("batch", short),
    ] {
        let mut witnessed = witnessed(&options);
        let program = witnessed.recording.compile_program("segments");
        let mut command = witnessed.recording.recorded_command(program);
        let printed = witnessed.run_command(command.arg(way));
        let imported = DataDir::new(witnessed.recording.file_path("imported"));
        import(&witnessed, &imported);
        let (library, by_library) = messages(&DataDir::new(witnessed.recording.data_dir()));
        let (strace, by_strace) = messages(&imported);
        // strace shows no name of a socket that was bound by its only send.
        let [strace, library] =
            [strace, library].map(|sizes| sizes.into_values().collect::<Vec<_>>());
        assert_eq!(strace, library, "{way} {options:?}");
        let count: u64 = printed.split(' ').next().unwrap().parse().unwrap();
        for outcome in [&by_library, &by_strace] {
            let datagrams = &outcome.datagrams;
            let all = (datagrams.sent, datagrams.received, datagrams.matched);
            assert_eq!(all, (count, count, count), "{way} {options:?}");
        }
    }
}

/// If both ends transferred several together and strace saw both, their number is unknown: each
/// call is a message of all their bytes.
#[test]
fn segments_joined_at_both_ends_are_matched() {
    for way in ["control joined", "batch connected six joined"] {
        let mut witnessed = witnessed(&strace_options());
        let program = witnessed.recording.compile_program("segments");
        let mut command = witnessed.recording.recorded_command(program);
        let printed = witnessed.run_command(command.arg(way));
        let imported = DataDir::new(witnessed.recording.file_path("imported"));
        import(&witnessed, &imported);
        let (strace, outcome) = messages(&imported);
        let bytes: i64 = printed.trim().split(' ').next_back().unwrap().parse().unwrap();
        assert_eq!(strace.values().flatten().sum::<i64>(), bytes, "{way}");
        assert!(outcome.send_only.is_empty() && outcome.receive_only.is_empty(), "{outcome:?}");
    }
}

fn offload(arguments: &[&str]) -> Vec<String> {
    let script = repository().join("tests/programs/offload.py").into_os_string();
    let script = [script.into_string().unwrap()];
    script.into_iter().chain(arguments.iter().map(|one| (*one).to_owned())).collect()
}

fn start(command: &mut Command) -> Child {
    let mut receiver = command.stdout(Stdio::piped()).spawn().unwrap();
    // After it has printed a word, it is bound.
    std::io::Read::read_exact(receiver.stdout.as_mut().unwrap(), &mut [0; 5]).unwrap();
    receiver
}

#[test]
fn one_end_under_strace_and_one_recorded() {
    for (way, at_once, strace_sends) in [
        ("control", "no", true),
        ("control", "gro", true),
        ("control", "no", false),
        ("control", "gro", false),
        ("option", "no", true),
        ("option", "gro", false),
    ] {
        let recording = TestRecording::new();
        let mut witnessed = witnessed(&strace_options());
        let port = free_port().to_string();
        let mut receiver = Command::new(python_path());
        let mut sender = Command::new(python_path());
        if strace_sends {
            receiver = recording.recorded_command(python_path());
        } else {
            sender = recording.recorded_command(python_path());
        }
        receiver.args(offload(&["receive", &port, at_once]));
        sender.args(offload(&["send", "127.0.0.1", &port, way]));
        if strace_sends {
            sender = witnessed.under_strace(&sender);
        } else {
            receiver = witnessed.under_strace(&receiver);
        }
        let mut receiver = start(&mut receiver);
        run_successfully(&mut sender);
        assert!(receiver.wait().unwrap().success());
        let data = DataDir::new(recording.data_dir());
        import(&witnessed, &data);
        let (sizes, outcome) = messages(&data);
        let what = format!("{way}, {at_once}, {strace_sends}: {sizes:?} {outcome:?}");
        assert!(outcome.send_only.is_empty() && outcome.receive_only.is_empty(), "{what}");
        let sent: Vec<i64> = sizes
            .iter()
            .filter(|(from, _)| !from.ends_with(&port))
            .flat_map(|(_, all)| all)
            .copied()
            .collect();
        assert_eq!(sent.iter().sum::<i64>(), BYTES, "{what}");
        assert_eq!(sent.len() as u64, DATAGRAMS, "{what}");
        assert_eq!(outcome.datagrams.matched, DATAGRAMS + ANSWERS, "{what}");
    }
}

/// A router's interface splits what the sender's sniffer has seen whole.
#[test]
fn captures_before_and_after_segmentation() {
    let mut lab = HostLab::new();
    let (one, other) = (lab.add_network(1), lab.add_network(2));
    let sender = lab.add_host("sender", one);
    let mut router = lab.add_host("router", one);
    let receiver = lab.add_host("receiver", other);
    lab.join_network(&mut router, other);
    router.enable_forwarding();
    router.namespace().run_ip("link set eth1 gso_max_segs 1");
    let [near, far] = [0, 1]
        .map(|at| router.addresses().iter().filter(|ip| ip.is_ipv4()).nth(at).copied().unwrap());
    sender.route_by(near);
    receiver.route_by(far);
    let captures: Vec<(String, PathBuf)> = ["sender", "receiver"]
        .map(|host| (host.to_owned(), lab.file_path(&format!("{host}.pcap"))))
        .into();
    let sniffers = [
        sender.capture_packets("eth0", &captures[0].1),
        receiver.capture_packets("eth0", &captures[1].1),
    ];
    let server = receiver.start_server(
        receiver.recorded_command(python_path()).args(offload(&["receive", "7000", "no"])),
        &["udp:7000"],
    );
    let to = receiver.first_ipv4().to_string();
    run_successfully(
        sender.recorded_command(python_path()).args(offload(&["send", &to, "7000", "control"])),
    );
    server.wait_success();
    sniffers.into_iter().for_each(|sniffer| sniffer.stop_capture());

    let data = DataDir::new(lab.recording.data_dir());
    let (recorded, counts) = messages(&data);
    assert_eq!(counts.datagrams.matched, DATAGRAMS + ANSWERS);
    let packets = PacketImporter { hosts: captures.clone(), addresses: Vec::new() };
    let both = DataDir::new(lab.file_path("packets"));
    packets.import_files(&[], &both, &()).unwrap();
    check(&both, &recorded);
    let hosts = times(&both);
    assert!(hosts.iter().all(|(send, receive, _)| send <= receive), "{hosts:?}");
    // Datagrams sent together have one time.
    let starts: std::collections::BTreeSet<i64> = hosts
        .iter()
        .filter(|(.., from)| from.starts_with("sender"))
        .map(|(send, ..)| *send)
        .collect();
    assert_eq!(starts.len() as u64, ANSWERS, "{hosts:?}");

    // One end captured, one recorded, in both combinations. No packet contains the other host's
    // name.
    let addresses: Vec<(String, std::net::IpAddr)> =
        [&sender, &receiver].map(|host| (host.name().to_owned(), host.first_ipv4().into())).into();
    for (captured, other) in [(0, "receiver"), (1, "sender")] {
        let mixed = DataDir::new(lab.file_path(&format!("with-{other}")));
        copy_logs(data.hosts_dir().join(other).as_path(), mixed.hosts_dir().join(other).as_path());
        let (hosts, addresses) = (vec![captures[captured].clone()], addresses.clone());
        let packets = PacketImporter { hosts, addresses };
        packets.import_files(&[], &mixed, &()).unwrap();
        check(&mixed, &recorded);
    }
}

/// Expects the recorded messages, all with both ends.
fn check(data: &DataDir, recorded: &BTreeMap<String, Vec<i64>>) {
    let (mut sizes, outcome) = messages(data);
    // The lab's own packets, by which it knows that the capture is complete, are not among these.
    sizes.retain(|from, _| recorded.contains_key(from));
    assert_eq!(&sizes, recorded, "{outcome:?}");
}

/// The time of sending and receipt of each datagram, and the node that sent it, except for the
/// lab's own.
fn times(data: &DataDir) -> Vec<(i64, i64, String)> {
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    trace
        .messages()
        .filter(|message| {
            !trace.endpoint(message.dst_endpoint).unwrap().to_string().ends_with(":9")
        })
        .filter_map(|message| {
            let host = trace.nodes.get(message.src)?.host.clone();
            Some((message.send_first?, message.recv_first?, host))
        })
        .collect()
}

fn copy_logs(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        if file.path().extension().is_some_and(|extension| extension == "sclog") {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
}
