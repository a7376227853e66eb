//! One run, captured by the library, by `strace` and by `tcpdump` at once, gives the same messages
//! three times; and once where all three are put together. What must differ is named here with its
//! reason, and anything else fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{Recording, program, python, successful};
use end_to_end::lab::{Host, Lab, Running};
use importers::{Importer, Packets, Strace, strace_options};
use message_trace::{DataDir, Endpoint, MessageTrace, Protocol};
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

/// What the captures left.
struct Captured {
    recording: Recording,
    /// strace's output, by host.
    traces: BTreeMap<String, Vec<PathBuf>>,
    /// tcpdump's, by host.
    packets: Vec<(String, PathBuf)>,
}

/// Runs servers and clients on two hosts, each under the library and strace at once.
fn run() -> Captured {
    let mut lab = Lab::new();
    let network = lab.network(5);
    let (a, b) = (lab.host("a", network), lab.host("b", network));
    let packets: Vec<_> = [(&a, "eth0"), (&a, "lo"), (&b, "eth0")]
        .map(|(host, interface)| {
            let file = lab.file(&format!("{}-{interface}.pcap", host.name()));
            (host.name().to_owned(), host.tcpdump(interface, &file), file)
        })
        .into();
    let words = strace_options();
    let options = &words.iter().map(String::as_str).collect::<Vec<_>>()[..];
    let mut traces = BTreeMap::<String, Vec<PathBuf>>::new();
    let mut traced = |host: &Host, command: &Command| {
        let files = traces.entry(host.name().to_owned()).or_default();
        files.push(lab.file(&format!("{}-{}.strace", host.name(), files.len())));
        host.strace(command, options, files.last().unwrap())
    };
    let file = |name: &str| lab.file(name).into_os_string().into_string().unwrap();

    let redis = ["--save", "", "--appendonly", "no", "--bind", "0.0.0.0", "--protected-mode", "no"];
    let redis = traced(&b, b.recorded(program("redis-server")).args(redis));
    let dnsmasq = [
        "--keep-in-foreground",
        "--no-resolv",
        "--no-hosts",
        "--address=/test/10.5.9.9",
        "--user=root",
    ];
    let mut dnsmasq_command = b.recorded(program("dnsmasq"));
    dnsmasq_command.args(dnsmasq).args(["--conf-file=/dev/null", "--pid-file="]);
    let dnsmasq = traced(&b, &dnsmasq_command);
    let echo = traced(&b, b.recorded(python()).args(["-c", ECHO]));
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
    let mut nginx = b.recorded(program("nginx"));
    nginx.args(["-e", "stderr", "-p", &file(""), "-c", &file("nginx.conf")]);
    let nginx = traced(&b, &nginx);
    let servers: Vec<(Running, &str)> = [
        (redis, "tcp:6379", "redis-server"),
        (dnsmasq, "udp:53", "dnsmasq"),
        (echo, "udp:7000", "python3"),
        (nginx, "tcp:8000", "nginx"),
    ]
    .into_iter()
    .map(|(mut command, socket, name)| (b.serve(&mut command, &[socket]), name))
    .collect();

    let b_v4 = b.v4().to_string();
    successful(&mut traced(&a, a.recorded(python()).args(["-c", CLIENT, &b_v4, &b_v4, &file("")])));
    for path in ["short", "page"] {
        let url = format!("http://{b_v4}:8000/{path}");
        successful(&mut traced(
            &a,
            a.recorded(program("curl")).args([
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
        successful(&mut traced(&a, a.recorded(program("dig")).args(dig)));
    }

    for (server, name) in servers {
        // strace is the child, and ends with what it runs.
        let child =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.pid())).unwrap();
        let signal = if name == "nginx" { "QUIT" } else { "TERM" };
        successful(Command::new("kill").args([
            "-s",
            signal,
            child.split_whitespace().next().expect(name),
        ]));
        server.finish_by_any_status();
    }
    let packets = packets
        .into_iter()
        .map(|(name, capture, file)| {
            capture.stop();
            (name, file)
        })
        .collect();
    Captured { packets, traces, recording: lab.into_recording() }
}

/// The messages of each direction of each flow, by size, in order. Unix sockets, whose names not
/// all captures know, are told by the processes.
type Table = BTreeMap<(Protocol, String, String), Vec<i64>>;

fn table(data: &DataDir) -> (Table, Reconciliation) {
    let outcome = reconcile::reconcile(data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages(), data.nodes()).unwrap();
    let mut table = Table::new();
    for message in (0..trace.len()).map(|row| trace.message(row)) {
        let end = |endpoint, node| match trace.endpoint(endpoint) {
            Some(Endpoint::Inet(address)) => address.to_string(),
            _ => format!("process {:?}", trace.nodes.get(node).and_then(|node| node.pid)),
        };
        let ends = (end(message.src_endpoint, message.src), end(message.dst_endpoint, message.dst));
        table.entry((message.protocol, ends.0, ends.1)).or_default().push(message.bytes);
    }
    (table, outcome)
}

/// What is known of a difference: the reason, and which flows it is in.
#[derive(Clone, Copy)]
struct Reason {
    why: &'static str,
    of: fn(&(Protocol, String, String)) -> bool,
}

/// Prints what each capture has, kind by kind of flow, and what it has not; returns the differences
/// without a reason.
fn compare(tables: &[(&str, &Table)], reasons: &[(&str, Reason)]) -> Vec<String> {
    let (_, first) = tables[0];
    println!("{:16} {:>22} {:>16}", "capture", "protocol", "messages, bytes");
    for (name, table) in tables {
        let mut sums = BTreeMap::<Protocol, (usize, i64)>::new();
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

fn import(importer: &dyn Importer, files: &[PathBuf], data: &DataDir) {
    let summary = importer.import(files, data, &()).unwrap();
    println!("{summary:?}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn library_strace_and_packets_tell_the_same() {
    let captured = run();
    let library = DataDir::new(captured.recording.data());
    let directory = |name: &str| DataDir::new(captured.recording.file(name));
    let (strace, packets, all) = (directory("strace"), directory("packets"), directory("all"));
    copy(library.hosts().as_path(), all.hosts().as_path());
    for data in [&strace, &all] {
        for (host, files) in &captured.traces {
            import(&Strace { host: host.clone() }, files, data);
        }
    }
    let files: Vec<PathBuf> = captured.packets.iter().map(|(_, file)| file.clone()).collect();
    for data in [&packets, &all] {
        let importer = Packets { hosts: captured.packets.clone(), ..Packets::default() };
        import(&importer, &files, data);
    }
    let tables = [&library, &strace, &packets, &all].map(table);
    for (name, (_, outcome)) in ["library", "strace", "packets", "all"].iter().zip(&tables) {
        println!("{name}: {outcome:#?}");
    }
    let no_packets = Reason {
        why: "unix sockets send no packets",
        of: |(protocol, ..)| !matches!(protocol, Protocol::Tcp | Protocol::Udp),
    };
    let mark = Reason {
        why: "what ends the capture of the loopback interface, sent by the test",
        of: |(_, _, to)| to == "127.0.0.1:9",
    };
    let no_lookups = Reason {
        why: "a lookup of a name is a call of libc's, of which strace sees the datagrams only, if there are any",
        of: |(protocol, ..)| *protocol == Protocol::Other,
    };
    let reasons =
        [("packets", no_packets), ("packets", mark), ("all", mark), ("strace", no_lookups)];
    let named: Vec<_> = ["library", "strace", "packets", "all"]
        .into_iter()
        .zip(tables.iter().map(|(table, _)| table))
        .collect();
    let unexplained = compare(&named, &reasons);
    assert!(
        unexplained.is_empty(),
        "{} differences\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
    // Nothing is compared that no capture has.
    let (table, outcome) = &tables[0];
    assert!(table.len() > 200, "{}", table.len());
    assert_eq!(
        (outcome.receive_only.len(), outcome.unmatched_streams.len()),
        (0, 0),
        "{outcome:#?}"
    );
    // nginx tells its workers to end, and they may have.
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
