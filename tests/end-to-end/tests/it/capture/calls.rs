//! Calls by name: every call that transfers bytes is a message, and no other call; results are the
//! same as without the library.

use end_to_end::capture::{
    TestRecording, python_path, run_successfully, traffic_of, traffic_of_flow,
};
use socket_log::LogRecord;
use socket_log::encode::Direction::{Receive, Send};

#[test]
fn calls_that_transfer_no_bytes_are_no_messages() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import socket, os
a, b = socket.socketpair(); b.setblocking(False)
for _ in range(3):
    try: b.recv(10)
    except BlockingIOError: pass
a.send(b"seen"); assert b.recv(2, socket.MSG_PEEK) == b"se"; assert b.recv(10) == b"seen"
a.send(b""); os.read(b.fileno(), 0)
a.close()
assert b.recv(10) == b""
try: b.send(b"into the void")
except BrokenPipeError: pass
"#,
    );
    let log = recording.only_log();
    assert_eq!(traffic_of_flow(&log, 1, Send), traffic_of(1, 4));
    assert_eq!(traffic_of_flow(&log, 2, Receive), traffic_of(1, 4));
    let rest: Vec<_> = log
        .complete_records()
        .filter(|record| matches!(record, LogRecord::EndOfFile { .. } | LogRecord::Failure { .. }))
        .collect();
    assert_eq!(
        rest,
        [
            &LogRecord::EndOfFile { flow: 2 },
            &LogRecord::Failure { flow: 2, direction: Send, errno: 32 }
        ]
    );
}

#[test]
fn every_call_that_transfers_bytes_is_recorded() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import socket, os, ctypes
a, b = socket.socketpair()
def drain(n):
    while n: n -= len(b.recv(n))
open("file", "wb").write(b"f" * 1000); f = os.open("file", os.O_RDONLY)
os.sendfile(a.fileno(), f, 0, 300); drain(300)
os.writev(a.fileno(), [b"12", b"345"]); x, y = bytearray(3), bytearray(2); os.readv(b.fileno(), [x, y])
a.sendmsg([b"abc", b"d"]); b.recvmsg(10)
a.sendall(b"into"); b.recv_into(bytearray(10))
r, w = os.pipe(); os.write(w, b"p" * 40); os.splice(r, a.fileno(), 40); drain(40)
a.send(b"q" * 50); os.splice(b.fileno(), w, 50)
libc = ctypes.CDLL(None)
libc.syscall(1, a.fileno(), b"by number", 9); drain(9)
libc.syscall(3, os.dup(a.fileno()))
"#,
    );
    let log = recording.only_log();
    assert_eq!(traffic_of_flow(&log, 1, Send), traffic_of(7, 300 + 5 + 4 + 4 + 40 + 50 + 9));
    assert_eq!(traffic_of_flow(&log, 2, Receive).bytes, 300 + 5 + 4 + 4 + 40 + 50 + 9);
    assert!(
        log.complete_records().any(|record| matches!(record, LogRecord::Close { flow: 1, .. })),
        "syscall(SYS_close)"
    );
}

#[test]
fn batches_have_a_record_for_each_message() {
    let recording = TestRecording::new();
    let batches = recording.compile_program("batches");
    run_successfully(&mut recording.recorded_command(batches));
    let log = recording.only_log();
    let sizes = |wanted| {
        log.complete_records()
            .filter_map(|record| match record {
                LogRecord::Datagram { direction, bytes, checksum, .. } if *direction == wanted => {
                    Some((*bytes, *checksum))
                }
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let expected: Vec<_> = (1..=5u8).map(|n| vec![b'a' + n; usize::from(n) * 10]).collect();
    let expected: Vec<_> =
        expected.iter().map(|payload| (payload.len() as u64, crc32fast::hash(payload))).collect();
    // Once by the functions of that name, once by number.
    assert_eq!(sizes(Send), [expected.clone(), expected.clone()].concat());
    assert_eq!(sizes(Receive), [expected.clone(), expected].concat());
}

#[test]
fn the_payload_is_never_written() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import socket
secret = bytes(reversed(b"noitanimreted")) * 8
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    for _ in range(200): a.send(secret); assert b.recv(1000) == secret
"#,
    );
    let log = recording.only_log();
    assert_eq!(
        log.complete_records()
            .filter(|record| matches!(record, LogRecord::Datagram { .. }))
            .count(),
        800
    );
    let bytes = std::fs::read(log.log.path()).unwrap();
    assert!(!bytes.windows(13).any(|window| window == b"determination"));
}

#[test]
fn results_and_errors_are_unchanged() {
    let script = r#"
import socket, os, ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, *arguments):
    ctypes.set_errno(4711 % 127)
    result = getattr(libc, name)(*arguments)
    print(name, result, errno.errorcode.get(ctypes.get_errno()))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s = socket.socket(); a, b = socket.socketpair()
for x in (u, s, a, b): x.setblocking(False)
f = os.open("/dev/null", os.O_RDWR); buffer = ctypes.create_string_buffer(100)
for fd in (-1, 999, 2000000, f, u.fileno(), s.fileno(), a.fileno()):
    for name in ("send", "recv"): attempt(name, fd, buffer, 10, socket.MSG_DONTWAIT)
    if fd != a.fileno() and fd != u.fileno():
        attempt("write", fd, buffer, 10); attempt("read", fd, buffer, 10)
    attempt("connect", fd, buffer, 16); attempt("bind", fd, buffer, 1); attempt("listen", fd, 1)
    attempt("accept4", fd, None, None, socket.SOCK_NONBLOCK) if fd != a.fileno() else None
    attempt("shutdown", fd, 9); attempt("dup2", fd, -1); attempt("sendfile", fd, -1, None, 5)
attempt("close", 999); attempt("dup", 999); attempt("fcntl", 999, 0, 0); attempt("close_range", 9, 3, 0)
attempt("socket", 99, 1, 0); attempt("socketpair", 2, 1, 0, buffer); attempt("execv", b"/nonexistent", None)
attempt("syscall", 3, 999); attempt("syscall", 44, u.fileno(), buffer, 10, 0, None, 0)
attempt("recvmmsg", 999, None, 0, 0, None); attempt("splice", f, None, f, None, 1, 0)
attempt("setuid", -1); attempt("fork_does_not_exist") if False else None
"#;
    let recording = TestRecording::new();
    let recorded = recording.run_python(script);
    let alone = run_successfully(std::process::Command::new(python_path()).arg("-c").arg(script));
    assert_eq!(recorded, alone);
    assert!(recorded.lines().count() > 60);
    recording.only_log();
}
