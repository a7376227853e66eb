//! strace's output about real programs, imported, compared with the library's recording of the very
//! same runs: the messages must be the same, each with both ends. And a program that cannot be
//! recorded, imported into the recording of its server.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{ECHO, TestRecording, program_path, python_path, run_successfully};
use end_to_end::oracle::{StracedRecording, free_port};
use end_to_end::repository;
use importers::{ImportSummary, Importer, StraceImporter, strace_options};
use message_trace::{DataDir, MessageTrace, TransportProtocol};
use reconcile::{InternalMessages, Options, Reconciliation, reconcile};

/// A recording that strace observes too, run as documented.
fn record_witnessed() -> StracedRecording {
    let options = strace_options();
    StracedRecording::with_options(&options.iter().map(String::as_str).collect::<Vec<_>>())
}

fn import_strace(witnessed: &StracedRecording, into: &DataDir) -> ImportSummary {
    let summary =
        StraceImporter { host: "host".into() }.import_files(&witnessed.traces, into, &()).unwrap();
    assert_eq!(summary.skipped.total(), 0, "{:#?}", summary.skipped.first);
    summary
}

/// The messages of a flow in one direction: their number, their bytes, and how many of them have
/// both ends.
type MessagesByEnds = BTreeMap<(String, String, String, i8), (i64, i64, i64)>;

fn read_messages(data: &DataDir) -> (MessagesByEnds, Reconciliation) {
    // Not merged: merging depends on times.
    let options = Options {
        fat_gap: Duration::from_nanos(1),
        internal: InternalMessages::Kept,
        ..Options::default()
    };
    let outcome = reconcile(data, &options, &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let mut all = MessagesByEnds::new();
    // A unix socket without a name is identified by its process and its number, which is separate
    // in each log.
    let name = |endpoint| {
        let name = trace.endpoint(endpoint).unwrap().to_string();
        if name.starts_with("unix:#") { "unix:#".to_owned() } else { name }
    };
    // Name lookups are calls of libc, which strace does not see; it only sees their datagrams, if
    // there are any.
    for message in trace.messages().filter(|message| message.protocol != TransportProtocol::Other) {
        let ends = (name(message.src_endpoint), name(message.dst_endpoint));
        let key = (message.protocol.to_string(), ends.0, ends.1, message.direction);
        let both = message.send_first.is_some() && message.recv_first.is_some();
        let sum = all.entry(key).or_default();
        sum.0 += i64::from(message.parts);
        sum.1 += message.bytes;
        sum.2 += if both { i64::from(message.parts) } else { 0 };
    }
    (all, outcome)
}

/// Compares the messages of both captures, prints them as a table, and returns their number.
fn compare_messages(witnessed: &StracedRecording) -> i64 {
    let imported = DataDir::new(witnessed.recording.file_path("imported"));
    let summary = import_strace(witnessed, &imported);
    assert_eq!(summary.notes, Vec::<String>::new());
    let (library, by_library) = read_messages(&DataDir::new(witnessed.recording.data_dir()));
    let (strace, by_strace) = read_messages(&imported);
    let total = |messages: &MessagesByEnds| {
        messages.values().fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2))
    };
    println!(
        "messages, bytes, with both ends: library {:?}, strace {:?}",
        total(&library),
        total(&strace)
    );
    let differences: Vec<_> = library
        .keys()
        .chain(strace.keys().filter(|key| !library.contains_key(*key)))
        .filter(|key| library.get(*key) != strace.get(*key))
        .map(|key| (key, library.get(key), strace.get(key)))
        .collect();
    assert!(differences.is_empty(), "flow, library, strace: {differences:#?}");
    assert_eq!(by_library.processes, by_strace.processes);
    let datagrams = |of: &Reconciliation| {
        let datagrams = &of.datagrams;
        (
            datagrams.sent,
            datagrams.received,
            datagrams.matched,
            datagrams.lost,
            datagrams.duplicated,
            datagrams.peeked,
        )
    };
    assert_eq!(datagrams(&by_library), datagrams(&by_strace));
    assert_eq!(by_library.stream_bytes, by_strace.stream_bytes);
    total(&library).0
}

#[test]
fn python_with_tcp_udp_and_unix_sockets() {
    let mut witnessed = record_witnessed();
    let script = r#"
import socket, threading, subprocess, os, sys
echo(5, 10)
u, v, w = (socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in range(3))
u.bind(("::1", 0)); w.bind(("::1", 0)); w.connect(u.getsockname())
for n in range(40):
    v.sendto(b"v" * n, u.getsockname()); data, back = u.recvfrom(100); u.sendto(data + b"!", back); v.recv(100)
    w.send(b"w" * n); u.recvmsg(100); u.sendmsg([b"a" * n, b"b"], [], 0, w.getsockname()); w.recv_into(bytearray(100))
v.sendto(b"too much of it", u.getsockname()); u.recv(100, socket.MSG_PEEK); u.recv(5)
server = socket.socket(socket.AF_UNIX); server.bind("server.sock"); server.listen()
def answer():
    for _ in range(3):
        c, _ = server.accept()
        while data := c.recv(10): c.sendall(data * 2)
        c.close()
thread = threading.Thread(target=answer); thread.start()
for _ in range(3):
    if os.fork() == 0:
        c = socket.socket(socket.AF_UNIX); c.connect("server.sock")
        for n in range(1, 10): c.sendall(b"x" * n); c.recv(100)
        c.close(); os._exit(0)
    os.wait()
thread.join()
def pairs():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        for n in range(1, 50): a.sendall(b"z" * n); b.recv(n)
threads = [threading.Thread(target=pairs) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
a, b = socket.socketpair()
subprocess.run([sys.executable, "-c", "import os; os.write(1, b'to a socket')"], stdout=a); b.recv(100)
"#;
    let command = witnessed.recording.recorded_command(python_path());
    let file = witnessed.recording.file_path("program.py");
    fs::write(&file, ECHO.to_owned() + script).unwrap();
    witnessed.run_command({ command }.arg(file));
    assert!(compare_messages(&witnessed) > 2 * 50 + 4 * 40 + 3 * 18 + 4 * 3 * 49);
}

#[test]
fn redis_and_its_benchmark() {
    let mut witnessed = record_witnessed();
    witnessed.run_redis(500, 5);
    assert!(compare_messages(&witnessed) > 2 * 2 * 500);
}

#[test]
fn nginx_and_curl() {
    let mut witnessed = record_witnessed();
    let file =
        |name: &str| witnessed.recording.file_path(name).into_os_string().into_string().unwrap();
    fs::set_permissions(file(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(file("page"), "p".repeat(300_000)).unwrap();
    let (port, behind) = (free_port(), free_port());
    let configuration = format!(
        "daemon off; worker_processes 2; pid {0}pid; error_log {0}errors; events {{}}
         http {{ access_log off; sendfile on; client_body_temp_path {0}a; proxy_temp_path {0}b;
                 fastcgi_temp_path {0}c; uwsgi_temp_path {0}d; scgi_temp_path {0}e;
           server {{ listen 127.0.0.1:{port}; root {0}; location /short {{ return 200 short; }}
                     location /proxy {{ proxy_pass http://127.0.0.1:{behind}/; }} }}
           server {{ listen 127.0.0.1:{behind}; location / {{ return 200 behind; }} }} }}",
        file("")
    );
    let (settings, prefix) = (file("nginx.conf"), file(""));
    fs::write(&settings, configuration).unwrap();
    let mut server = witnessed.recording.recorded_command(program_path("nginx"));
    server.args(["-e", "stderr", "-p", &prefix, "-c", &settings]);
    let server = witnessed.start_server("nginx", &server, port);
    for (path, length) in [("short", 5), ("proxy", 6), ("page", 300_000)] {
        let url = format!("http://127.0.0.1:{port}/{path}");
        let mut curl = witnessed.recording.recorded_command(program_path("curl"));
        assert_eq!(witnessed.run_command(curl.args(["-s", &url, &url])).len(), 2 * length);
    }
    witnessed.stop_server(server, "QUIT");
    assert!(compare_messages(&witnessed) > 3 * 2 * 2);
}

/// The server is recorded, its client is a static program under strace: the messages have both
/// ends.
#[test]
fn a_static_program_and_a_recorded_one() {
    let recording = TestRecording::new();
    let client = recording.file_path("plain");
    let source = repository().join("tests/programs/plain.c");
    run_successfully(
        Command::new(program_path("musl-gcc"))
            .args(["-O1", "-static", "-o"])
            .arg(&client)
            .arg(source),
    );
    let (tcp, udp) = (free_port(), free_port());
    let script = r#"
import socket, sys, threading
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", int(sys.argv[2])))
u.settimeout(60)
def datagrams():
    # As many as the client sends: an end in the middle of the last one would be no record of it.
    for _ in range(28): data, back = u.recvfrom(2000); u.sendto(data, back)
threading.Thread(target=datagrams).start()
print("ready", flush=True)
c, _ = s.accept()
while data := c.recv(2000): c.sendall(data)
"#;
    let mut server = recording.recorded_command(python_path());
    server.args(["-c", script, &tcp.to_string(), &udp.to_string()]).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    // After it has printed a word, it listens.
    std::io::Read::read_exact(server.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();

    let mut witnessed = record_witnessed();
    let mut command = Command::new(&client);
    command.args([tcp.to_string(), udp.to_string()]);
    assert_eq!(witnessed.run_command(&command), "done\n");
    assert!(server.wait().unwrap().success());
    let data = DataDir::new(recording.data_dir());
    import_strace(&witnessed, &data);
    let (messages, outcome) = read_messages(&data);
    // 28 messages in each direction on both, of 1, 38, ... 1000 bytes; on a stream they may be
    // split.
    let bytes: i64 = (1..=1000).step_by(37).sum();
    assert_eq!(messages.len(), 4, "{messages:#?}");
    for ((protocol, ..), (count, sum, both)) in &messages {
        assert!(*count >= 28 && (protocol == "tcp" || *count == 28), "{messages:#?}");
        assert_eq!((*sum, *both), (bytes, *count), "{messages:#?}");
    }
    assert!(outcome.send_only.is_empty() && outcome.receive_only.is_empty(), "{outcome:?}");
    assert_eq!((outcome.hosts, outcome.processes), (1, 2));
}
