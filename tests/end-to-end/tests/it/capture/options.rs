//! The options of a recording: what they add, what they leave out, and that they reach every
//! process.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::encode::WaitCall;
use socket_log::layout::lost;
use socket_log::{LogRecord, SocketName};

/// Runs a Python script with options.
fn run_with_options(recording: &TestRecording, options: &[(&str, &str)], script: &str) -> String {
    run_successfully(
        recording
            .recorded_command(python_path())
            .envs(options.iter().copied())
            .arg("-c")
            .arg(script),
    )
}

fn count_records(log: &ReadLog, accept: impl Fn(&LogRecord) -> bool) -> usize {
    log.entries.iter().filter(|entry| accept(&entry.record)).count()
}

const WAITS: &str = r#"
import select, socket, time
a, b = socket.socketpair()
e = select.epoll(); e.register(b, select.EPOLLIN)
p = select.poll(); p.register(b, select.POLLIN)
assert p.poll(30) == [] and e.poll(0.03) == [] and select.select([b], [], [], 0.03)[0] == []
assert p.poll(0) == [] and e.poll(0) == [] and select.select([b], [], [], 0)[0] == []
a.send(b"x")
assert p.poll() and e.poll() and select.select([b], [], [])[0]
"#;

#[test]
fn waits_are_recorded_on_request() {
    let recording = TestRecording::new();
    run_with_options(&recording, &[("SOCKCAP_WAITS", "1")], WAITS);
    let log = recording.only_log();
    let clock = log.log.clock();
    let waits: Vec<_> = log
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::Wait { call, result, duration } => {
                Some((*call, *result, clock.duration_nanoseconds(*duration) >= 29_000_000))
            }
            _ => None,
        })
        .collect();
    let all = [WaitCall::Poll, WaitCall::Epoll, WaitCall::Select];
    let expected: Vec<_> = all.map(|call| (call, 0, true)).into_iter().collect();
    assert_eq!(waits[..3], expected, "as long as they were");
    let ready: Vec<_> = waits[3..].iter().map(|(call, result, _)| (*call, *result)).collect();
    assert_eq!(ready, all.map(|call| (call, 1)), "what waits for nothing is no waiting");

    let plain = TestRecording::new();
    plain.run_python(WAITS);
    assert_eq!(
        count_records(&plain.only_log(), |record| matches!(record, LogRecord::Wait { .. })),
        0
    );
}

/// Two waits each by the numbers of ppoll, pselect6 and epoll_pwait. The second one has no timeout.
const WAITS_BY_NUMBER: &str = r#"
import ctypes, os, select, socket, struct
syscall = ctypes.CDLL(None).syscall; syscall.restype = ctypes.c_long
ppoll, pselect6, epoll_pwait = {"x86_64": (271, 270, 281), "aarch64": (73, 72, 22)}[os.uname().machine]
a, b = socket.socketpair(); e = select.epoll(); e.register(b, select.EPOLLIN)
buffer = ctypes.create_string_buffer(64); long = ctypes.c_long
for nanoseconds in (30_000_000, 0):
    time = ctypes.create_string_buffer(struct.pack("qq", 0, nanoseconds))
    polled = ctypes.create_string_buffer(struct.pack("ihh", b.fileno(), select.POLLIN, 0))
    assert syscall(long(ppoll), polled, long(1), time, None, long(8)) == 0
    time = ctypes.create_string_buffer(struct.pack("qq", 0, nanoseconds))
    assert syscall(long(pselect6), long(0), None, None, None, time, None) == 0
    assert syscall(long(epoll_pwait), long(e.fileno()), buffer, long(1), long(nanoseconds // 1_000_000), None, long(8)) == 0
assert syscall(long(ppoll), polled, long(1), ctypes.c_void_p(8), None, long(8)) == -1, "no such time"
"#;

#[test]
fn waits_by_the_numbers_of_their_calls_are_recorded_too() {
    let recording = TestRecording::new();
    run_with_options(&recording, &[("SOCKCAP_WAITS", "1")], WAITS_BY_NUMBER);
    let log = recording.only_log();
    let clock = log.log.clock();
    let waits: Vec<_> = log
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::Wait { call, result, duration } if *result >= 0 => {
                Some((*call, clock.duration_nanoseconds(*duration) >= 29_000_000))
            }
            _ => None,
        })
        .collect();
    assert_eq!(waits, [(WaitCall::Poll, true), (WaitCall::Select, true), (WaitCall::Epoll, true)]);
}

const MESSAGES: &str = r#"
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    for n in range(10):
        a.send(b"x"); b.recv(10)
        for _ in range(20000): pass
"#;

#[test]
fn each_message_has_the_cpu_time_of_its_thread() {
    let recording = TestRecording::new();
    run_with_options(&recording, &[("SOCKCAP_CPU", "1")], MESSAGES);
    let log = recording.only_log();
    let mut times = Vec::new();
    // There may be an anchor in between.
    let records: Vec<_> =
        log.entries.iter().filter(|entry| !matches!(entry.record, LogRecord::Anchor(_))).collect();
    for pair in records.windows(2) {
        if let LogRecord::Transfer { .. } | LogRecord::Datagram { .. } = pair[0].record {
            let LogRecord::Cpu { nanoseconds } = pair[1].record else { panic!("{pair:?}") };
            times.push(nanoseconds);
        }
    }
    assert_eq!(times.len(), 40);
    assert!(times.is_sorted() && times[0] > 0 && times[39] > times[0]);
    assert_eq!(count_records(&log, |record| matches!(record, LogRecord::Cpu { .. })), 40);

    let plain = TestRecording::new();
    plain.run_python(MESSAGES);
    assert_eq!(
        count_records(&plain.only_log(), |record| matches!(record, LogRecord::Cpu { .. })),
        0
    );
}

const STREAMS: &str = r#"
import os, socket
def pair():
    listener = socket.create_server(("127.0.0.1", 0))
    a = socket.create_connection(listener.getsockname())
    return a, listener.accept()[0]
def move(a, b, data):
    a.sendall(data); got = 0
    while got < len(data): got += len(b.recv(7))
a, b = pair(); move(a, b, b"0123456789abcdef0123456789abcdef more"); move(b, a, b"short")
a.sendmsg([b"in ", b"parts"]); b.recv(100); a.close(); b.close()
# By a child, on a connection that it inherits: known from the first byte on.
a, b = pair()
if os.fork() == 0: move(a, b, b"from a child, longer than wanted"); os._exit(0)
os.wait()
a, b = pair(); f = os.open("file", os.O_CREAT | os.O_RDWR); os.write(f, b"unseen")
a.send(b"seen"); os.sendfile(a.fileno(), f, 0, 6)
"#;

#[test]
fn fingerprints_are_of_the_first_bytes_of_each_direction() {
    let recording = TestRecording::new();
    run_with_options(&recording, &[("SOCKCAP_FINGERPRINT", "16")], STREAMS);
    let prints = |log: &ReadLog, wanted: Direction| -> Vec<(u32, u32)> {
        log.complete_records()
            .filter_map(|record| match record {
                LogRecord::Fingerprint { direction, bytes, checksum, .. }
                    if *direction == wanted =>
                {
                    Some((*bytes, *checksum))
                }
                _ => None,
            })
            .collect()
    };
    let of = |text: &str| (text.len() as u32, crc32fast::hash(text.as_bytes()));
    let [parent, child] = &recording.read_logs()[..] else { panic!("two processes") };
    let (long, short) = (of("0123456789abcdef"), of("short"));
    assert_eq!(
        prints(parent, Send),
        [long, short, of("seen")],
        "up to what the program never held"
    );
    assert_eq!(prints(parent, Receive), [long, short]);
    assert_eq!(prints(child, Send), [of("from a child, lo")]);
    assert_eq!(prints(child, Receive), [of("from a child, lo")]);

    let plain = TestRecording::new();
    plain.run_python(STREAMS);
    for log in plain.read_logs() {
        assert_eq!(
            count_records(&log, |record| matches!(record, LogRecord::Fingerprint { .. })),
            0
        );
    }
}

#[test]
fn only_the_selected_ports_are_recorded() {
    let recording = TestRecording::new();
    let script = r#"
import socket
def listen():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); return s
import os
wanted = int(os.environ["WANTED"])
one = socket.socket(); one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); one.bind(("127.0.0.1", wanted)); one.listen()
other = listen(); datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); datagrams.bind(("127.0.0.1", wanted))
for n, listener in enumerate((one, other)):
    a = socket.create_connection(listener.getsockname()); b, _ = listener.accept()
    for _ in range(10): a.send(b"x" * (n + 1)); b.recv(10)
for n, to in enumerate((datagrams.getsockname(), other.getsockname())):
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(5): c.sendto(b"y" * (n + 1), to)
a, b = socket.socketpair(); a.send(b"not of the internet"); b.recv(100)
"#;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ports = format!("1,{port},2");
    run_with_options(
        &recording,
        &[("SOCKCAP_PORTS", &ports), ("WANTED", &port.to_string())],
        script,
    );
    let log = recording.only_log();
    let moved = |wanted| {
        count_records(
            &log,
            |record| matches!(record, LogRecord::Transfer { bytes, .. } | LogRecord::Datagram { bytes, .. } if *bytes == wanted),
        )
    };
    assert_eq!(
        (moved(1), moved(2)),
        (20 + 5, 0),
        "both directions of one stream, the datagrams to one port"
    );
    assert_eq!(
        count_records(&log, |record| matches!(
            record,
            LogRecord::Transfer { .. } | LogRecord::Datagram { .. }
        )),
        25
    );
    for record in log.complete_records() {
        if let LogRecord::Endpoints { local: Some(SocketName::Inet(local)), peer, .. } = record {
            let peer = if let Some(SocketName::Inet(peer)) = peer { peer.port() } else { 0 };
            // The port of a datagram socket that only sends is meaningless.
            assert!(local.port() == port || [0, port].contains(&peer), "{record:?}");
        }
    }
}

#[test]
fn only_the_selected_commands_are_recorded_but_all_pass_the_library_on() {
    let recording = TestRecording::new();
    symlink(recording.compile_program("echo_arguments"), recording.file_path("wanted")).unwrap();
    let script = "#!/usr/bin/python3\nimport socket\nsocket.socket()\n";
    fs::write(recording.file_path("script-wanted-too"), script).unwrap();
    run_successfully(Command::new("chmod").arg("+x").arg(recording.file_path("script-wanted-too")));
    let script = "import os, subprocess, socket\n\
                  a, b = socket.socketpair(); a.send(b'x'); b.recv(1)\n\
                  for way in ({}, None, {'A': 'B'}):\n    \
                      for name in ('./wanted', './script-wanted-too', '/bin/true'): subprocess.run([name], env=way)\n\
                  os.fork()";
    let options = [("SOCKCAP_COMMANDS", "other,wanted,script-wanted-too"), ("SOCKCAP_CPU", "1")];
    run_with_options(&recording, &options, script);
    let mut arguments: Vec<_> =
        recording.read_logs().iter().map(|log| log.log.header().arguments.join(" ")).collect();
    arguments.sort();
    let expected = [["./wanted"; 3], ["/usr/bin/python3 ./script-wanted-too"; 3]].concat();
    assert_eq!(arguments, expected, "neither python nor true, and whatever the environment");
}

#[test]
fn a_command_with_a_large_environment_is_recorded() {
    let recording = TestRecording::new();
    let script = "import os, subprocess\n\
                  large = {f'V{n}': 'x' * (n % 9) for n in range(5000)}\n\
                  code = 'import os, socket; socket.socket(); print(len([v for v in os.environ if v[0] == \"V\"]), os.environ[\"V4999\"])'\n\
                  for _ in range(3): subprocess.run(['/usr/bin/python3', '-c', code], env=large, check=True)\n\
                  os.execve('/usr/bin/python3', ['python3', '-c', code], large)";
    let printed = run_with_options(&recording, &[("SOCKCAP_WAITS", "1")], script);
    assert_eq!(printed, "5000 xxxx\n".repeat(4));
    assert_eq!(recording.read_logs().len(), 4);
}

/// Sends and receives a byte, many times.
const MANY: &str =
    "import socket\na, b = socket.socketpair()\nfor _ in range(40000): a.send(b'x'); b.recv(1)";

#[test]
fn a_limit_ends_the_log_and_counts_what_it_loses() {
    for (limit, bytes) in
        [("100000", 24 * 4096), ("128K", 128 << 10), ("1", 64 << 10), ("0.1M", u64::MAX)]
    {
        let recording = TestRecording::new();
        run_with_options(&recording, &[("SOCKCAP_MAX_BYTES", limit)], MANY);
        let log = recording.only_log();
        let header = log.log.header();
        if bytes == u64::MAX {
            assert_eq!(header.lost, [0; 8], "{limit} is no size, and so no limit");
            continue;
        }
        assert_eq!(log.log.length(), bytes, "{limit}");
        let written = count_records(&log, |record| !matches!(record, LogRecord::Anchor(_))) as u64;
        let lost = header.lost[lost::LIMIT];
        assert_eq!(header.lost.iter().sum::<u64>(), lost, "for this cause alone");
        // Two flows, their pair, the transfers and the exit; python may close both sockets.
        assert!((80_004..=80_006).contains(&(written + lost)), "{limit}: {written} and {lost}");
        assert_eq!(log.damage, []);
    }
}
