//! One run, captured simultaneously by the library, by `strace` and by `tcpdump`, gives the same
//! messages three times; and once if all three are combined. Known differences are listed here with
//! their reasons, and any other fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{TestRecording, program_path, python_path, run_successfully};
use end_to_end::lab::{HostLab, LabHost, RunningProgram};
use importers::{Importer, PacketImporter, StraceImporter, strace_options};
use message_trace::{DataDir, Endpoint, MessageTrace, TransportProtocol};
use reconcile::{Options, Reconciliation};

/// A client of redis, of a UDP server, of a unix socket and of loopback servers, with messages of
/// all sizes.
const CLIENT: &str = r#"
import os, socket, sys, threading
store, echo, directory = sys.argv[1:]
sock = socket.create_connection((store, 6379)); sock.setsockopt(6, 1, 1)
file = sock.makefile("rb")
for n in range(200):
    value = b"v" * (n * n)
    sock.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n" % len(value)); sock.sendall(value + b"\r\n")
    assert file.readline() == b"+OK\r\n"
    sock.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
    file.readline(); assert file.read(len(value) + 2)[:-2] == value
sock.close()
for n in range(200):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if n % 2: sock.connect((echo, 7000)); sock.send(b"u" * n); sock.recv(2000)
    else: sock.sendto(b"u" * n, (echo, 7000)); sock.recvfrom(2000)
    sock.close()
local = socket.socket(); local.bind(("127.0.0.1", 0)); local.listen()
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); datagrams.bind(("127.0.0.1", 0))
listener = socket.socket(socket.AF_UNIX); listener.bind(directory + "/s"); listener.listen()
child = os.fork()
if child == 0:
    sock = socket.socket(socket.AF_UNIX); sock.connect(directory + "/s")
    for n in range(1, 200): sock.sendall(b"m" * n); sock.recv(4096)
    for address in (local.getsockname(), datagrams.getsockname()):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM if address == local.getsockname() else socket.SOCK_DGRAM)
        sock.connect(address)
        for n in range(1, 100): sock.send(b"l" * n); sock.recv(4096)
        sock.close()
    os._exit(0)
for end in (listener, local):
    sock, _ = end.accept()
    while data := sock.recv(4096): sock.sendall(data + b"!")
for n in range(1, 100):
    data, sender = datagrams.recvfrom(4096); datagrams.sendto(data + b"!", sender)
os.waitpid(child, 0)
"#;

const ECHO: &str = r#"
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); sock.bind(("0.0.0.0", 7000))
while True:
    data, sender = sock.recvfrom(2000)
    sock.sendto(data + b"!", sender)
"#;

/// The files of the captures.
struct ThreeCaptures {
    recording: TestRecording,
    /// strace's output, by host.
    traces: BTreeMap<String, Vec<PathBuf>>,
    /// tcpdump's output, by host.
    packets: Vec<(String, PathBuf)>,
}

/// Runs servers and clients on two hosts, each under both the library and strace.
fn run_captures() -> ThreeCaptures {
    let mut lab = HostLab::new();
    let network = lab.add_network(5);
    let (a, b) = (lab.add_host("a", network), lab.add_host("b", network));
    let packets: Vec<_> = [(&a, "eth0"), (&a, "lo"), (&b, "eth0")]
        .map(|(host, interface)| {
            let file = lab.file_path(&format!("{}-{interface}.pcap", host.name()));
            (host.name().to_owned(), host.capture_packets(interface, &file), file)
        })
        .into();
    let words = strace_options();
    let options = &words.iter().map(String::as_str).collect::<Vec<_>>()[..];
    let mut traces = BTreeMap::<String, Vec<PathBuf>>::new();
    let mut traced = |host: &LabHost, command: &Command| {
        let files = traces.entry(host.name().to_owned()).or_default();
        files.push(lab.file_path(&format!("{}-{}.strace", host.name(), files.len())));
        host.strace_command(command, options, files.last().unwrap())
    };
    let file = |name: &str| lab.file_path(name).into_os_string().into_string().unwrap();

    let redis = ["--save", "", "--appendonly", "no", "--bind", "0.0.0.0", "--protected-mode", "no"];
    let redis = traced(&b, b.recorded_command(program_path("redis-server")).args(redis));
    let dnsmasq = [
        "--keep-in-foreground",
        "--no-resolv",
        "--no-hosts",
        "--address=/test/10.5.9.9",
        "--user=root",
    ];
    let mut dnsmasq_command = b.recorded_command(program_path("dnsmasq"));
    dnsmasq_command.args(dnsmasq).args(["--conf-file=/dev/null", "--pid-file="]);
    let dnsmasq = traced(&b, &dnsmasq_command);
    let echo = traced(&b, b.recorded_command(python_path()).args(["-c", ECHO]));
    fs::write(file("page"), "p".repeat(300_000)).unwrap();
    fs::write(
        file("nginx.conf"),
        format!(
            "daemon off; worker_processes 2; user root; pid {0}pid; error_log {0}errors; events {{}}
             http {{ access_log off; sendfile on; client_body_temp_path {0}a; proxy_temp_path {0}b;
                     fastcgi_temp_path {0}c; uwsgi_temp_path {0}d; scgi_temp_path {0}e;
               server {{ listen 8000; root {0}; location /short {{ return 200 short; }} }} }}",
            file("")
        ),
    )
    .unwrap();
    let mut nginx = b.recorded_command(program_path("nginx"));
    nginx.args(["-e", "stderr", "-p", &file(""), "-c", &file("nginx.conf")]);
    let nginx = traced(&b, &nginx);
    let servers: Vec<(RunningProgram, &str)> = [
        (redis, "tcp:6379", "redis-server"),
        (dnsmasq, "udp:53", "dnsmasq"),
        (echo, "udp:7000", "python3"),
        (nginx, "tcp:8000", "nginx"),
    ]
    .into_iter()
    .map(|(mut command, socket, name)| (b.start_server(&mut command, &[socket]), name))
    .collect();

    let b_v4 = b.first_ipv4().to_string();
    run_successfully(&mut traced(
        &a,
        a.recorded_command(python_path()).args(["-c", CLIENT, &b_v4, &b_v4, &file("")]),
    ));
    for path in ["short", "page"] {
        let url = format!("http://{b_v4}:8000/{path}");
        run_successfully(&mut traced(
            &a,
            a.recorded_command(program_path("curl")).args([
                "-sS",
                "-o",
                "/dev/null",
                &url,
                "-o",
                "/dev/null",
                &url,
            ]),
        ));
    }
    for transport in ["+notcp", "+tcp"] {
        let server = format!("@{b_v4}");
        let dig = ["+tries=1", transport, &server, "one.test", "two.test"];
        run_successfully(&mut traced(&a, a.recorded_command(program_path("dig")).args(dig)));
    }

    for (server, name) in servers {
        // strace is the child, and ends with the program it runs.
        let child =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.pid())).unwrap();
        let signal = if name == "nginx" { "QUIT" } else { "TERM" };
        run_successfully(Command::new("kill").args([
            "-s",
            signal,
            child.split_whitespace().next().expect(name),
        ]));
        server.finish_by_any_status();
    }
    let packets = packets
        .into_iter()
        .map(|(name, capture, file)| {
            capture.stop_capture();
            (name, file)
        })
        .collect();
    ThreeCaptures { packets, traces, recording: lab.into_recording() }
}

/// The messages of each direction of each flow, by size, in order. Unix sockets, whose names are
/// not in all captures, are identified by the processes.
type SizesByFlow = BTreeMap<(TransportProtocol, String, String), Vec<i64>>;

fn read_table(data: &DataDir) -> (SizesByFlow, Reconciliation) {
    let outcome = reconcile::reconcile(data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let mut table = SizesByFlow::new();
    for message in trace.messages() {
        let end = |endpoint, node| match trace.endpoint(endpoint) {
            Some(Endpoint::Inet(address)) => address.to_string(),
            _ => format!("process {:?}", trace.nodes.get(node).and_then(|node| node.pid)),
        };
        let ends = (end(message.src_endpoint, message.src), end(message.dst_endpoint, message.dst));
        table.entry((message.protocol, ends.0, ends.1)).or_default().push(message.bytes);
    }
    (table, outcome)
}

/// A known difference: the reason, and the flows that it applies to.
#[derive(Clone, Copy)]
struct DifferenceReason {
    why: &'static str,
    of: fn(&(TransportProtocol, String, String)) -> bool,
}

/// Prints what each capture has, by kind of flow, and what it lacks; returns the differences
/// without a reason.
fn compare_tables(
    tables: &[(&str, &SizesByFlow)],
    reasons: &[(&str, DifferenceReason)],
) -> Vec<String> {
    let (_, first) = tables[0];
    println!("{:16} {:>22} {:>16}", "capture", "protocol", "messages, bytes");
    for (name, table) in tables {
        let mut sums = BTreeMap::<TransportProtocol, (usize, i64)>::new();
        for ((protocol, ..), messages) in *table {
            let sum = sums.entry(*protocol).or_default();
            sum.0 += messages.len();
            sum.1 += messages.iter().sum::<i64>();
        }
        for (protocol, (messages, bytes)) in sums {
            println!("{name:16} {:>22} {messages:>8}, {bytes}", protocol.name());
        }
    }
    let mut unexplained = Vec::new();
    for (name, table) in &tables[1..] {
        let keys: BTreeSet<_> = first.keys().chain(table.keys()).collect();
        for key in keys.into_iter().filter(|key| first.get(*key) != table.get(*key)) {
            let reason = reasons.iter().find(|(of, reason)| of == name && (reason.of)(key));
            let (here, there) = (first.get(key), table.get(key));
            match reason {
                Some((_, reason)) => println!("{name}: {key:?}: {}", reason.why),
                None => unexplained.push(format!("{name}: {key:?}\n  {here:?}\n  {there:?}")),
            }
        }
    }
    unexplained
}

fn import_files(importer: &dyn Importer, files: &[PathBuf], data: &DataDir) {
    let summary = importer.import_files(files, data, &()).unwrap();
    println!("{summary:?}");
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_files(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn library_strace_and_packets_agree() {
    let captured = run_captures();
    let library = DataDir::new(captured.recording.data_dir());
    let directory = |name: &str| DataDir::new(captured.recording.file_path(name));
    let (strace, packets, all) = (directory("strace"), directory("packets"), directory("all"));
    copy_files(library.hosts_dir().as_path(), all.hosts_dir().as_path());
    for data in [&strace, &all] {
        for (host, files) in &captured.traces {
            import_files(&StraceImporter { host: host.clone() }, files, data);
        }
    }
    let files: Vec<PathBuf> = captured.packets.iter().map(|(_, file)| file.clone()).collect();
    for data in [&packets, &all] {
        let importer =
            PacketImporter { hosts: captured.packets.clone(), ..PacketImporter::default() };
        import_files(&importer, &files, data);
    }
    let tables = [&library, &strace, &packets, &all].map(read_table);
    for (name, (_, outcome)) in ["library", "strace", "packets", "all"].iter().zip(&tables) {
        println!("{name}: {outcome:#?}");
    }
    let no_packets = DifferenceReason {
        why: "unix sockets send no packets",
        of: |(protocol, ..)| !matches!(protocol, TransportProtocol::Tcp | TransportProtocol::Udp),
    };
    let mark = DifferenceReason {
        why: "what ends the capture of the loopback interface, sent by the test",
        of: |(_, _, to)| to == "127.0.0.1:9",
    };
    let no_lookups = DifferenceReason {
        why: "a lookup of a name is a call of libc's, of which strace sees the datagrams only, if there are any",
        of: |(protocol, ..)| *protocol == TransportProtocol::Other,
    };
    let reasons =
        [("packets", no_packets), ("packets", mark), ("all", mark), ("strace", no_lookups)];
    let named: Vec<_> = ["library", "strace", "packets", "all"]
        .into_iter()
        .zip(tables.iter().map(|(table, _)| table))
        .collect();
    let unexplained = compare_tables(&named, &reasons);
    assert!(
        unexplained.is_empty(),
        "{} differences\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
    // The comparison is not empty.
    let (table, outcome) = &tables[0];
    assert!(table.len() > 200, "{}", table.len());
    assert_eq!(
        (outcome.receive_only.len(), outcome.unmatched_streams.len()),
        (0, 0),
        "{outcome:#?}"
    );
    // nginx tells its workers to end, and they may have ended already.
    assert!(
        outcome.send_only.keys().all(|cause| cause == "not read by the receiver"),
        "{outcome:#?}"
    );
    assert!(
        tables[3].1.seen_twice.values().all(|count| *count > 200),
        "{:?}",
        tables[3].1.seen_twice
    );
}
