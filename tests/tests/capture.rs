//! What the library logs of sockets: flows, their ends, and what went over them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use end_to_end::capture::{Recorded, Recording, Traffic, python, successful};
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{Origin, Role};
use socket_log::{Record, SocketName};

/// The first flow for which `accept` holds.
fn flow(log: &Recorded, accept: impl Fn(&socket_log::encode::Flow) -> bool) -> u32 {
    let found = log.records().find_map(|record| match record {
        Record::Flow(flow) if accept(flow) => Some(flow.flow),
        _ => None,
    });
    found.expect("such a flow")
}

/// What the latest record says of the flow's ends, in the role.
fn ends(log: &Recorded, wanted: u32, role: Role) -> (Option<SocketName>, Option<SocketName>, u32) {
    let found = log.records().filter_map(|record| match record {
        Record::Endpoints { flow, role: has, local, peer, peer_pid } if *flow == wanted && *has == role => {
            Some((local.clone(), peer.clone(), *peer_pid))
        }
        _ => None,
    });
    found.last().unwrap_or_else(|| panic!("flow {wanted} is named as {role:?}"))
}

fn traffic(log: &Recorded, flow: u32, direction: socket_log::encode::Direction) -> Traffic {
    log.traffic().get(&(flow, direction)).copied().unwrap_or_default()
}

fn sum(calls: u64, bytes: u64) -> Traffic {
    Traffic { calls, bytes }
}

const TCP: &str = r#"
import socket, threading, os
listener = socket.socket()
listener.bind(("127.0.0.1", 0)); listener.listen()
def serve():
    connection, _ = listener.accept()
    while data := connection.recv(4096):
        connection.sendall(data * 2)
    connection.close()
server = threading.Thread(target=serve); server.start()
client = socket.socket(); client.connect(listener.getsockname())
print(client.getsockname()[1], listener.getsockname()[1])
for size in (1, 10, 100):
    client.sendall(b"a" * size)
    left = 2 * size
    while left: left -= len(client.recv(4096))
os.write(client.fileno(), b"1234567"); left = 14
while left: left -= len(os.read(client.fileno(), 14))
client.shutdown(socket.SHUT_WR)
assert client.recv(1) == b""
client.close(); server.join()
"#;

#[test]
fn a_connection_is_seen_from_both_ends() {
    let recording = Recording::new();
    let printed = recording.python(TCP);
    let (client_port, listener_port) = printed.trim().split_once(' ').unwrap();
    let log = recording.log();
    let listener = flow(&log, |flow| flow.origin == Origin::Socket);
    let client = flow(&log, |flow| flow.origin == Origin::Socket && flow.flow != listener);
    let server = flow(&log, |flow| flow.origin == Origin::Accept);

    let name = |port: &str| Some(SocketName::Inet(format!("127.0.0.1:{port}").parse().unwrap()));
    assert_eq!(ends(&log, listener, Role::Listen), (name(listener_port), None, 0), "a dynamic port");
    assert_eq!(ends(&log, client, Role::Connect), (name(client_port), name(listener_port), 0));
    assert_eq!(ends(&log, server, Role::Accept), (name(listener_port), name(client_port), 0));
    assert!(
        log.records()
            .any(|record| matches!(record, Record::Flow(of) if of.flow == server && of.listener == listener))
    );

    assert_eq!(traffic(&log, client, Send), sum(4, 118));
    assert_eq!(traffic(&log, server, Receive).bytes, 118);
    assert_eq!(traffic(&log, server, Send).bytes, 236);
    assert_eq!(traffic(&log, client, Receive).bytes, 236);
    for flow in [client, server] {
        let ends = log.records().filter(|record| **record == Record::EndOfFile { flow }).count();
        assert_eq!(ends, 1, "each side read the end once");
        assert!(log.records().any(|record| matches!(record, Record::Close { flow: of, .. } if *of == flow)));
    }
    assert!(log.records().any(|record| *record == Record::Shutdown { flow: client, how: 1 }));

    let mut cookies: Vec<u64> = log
        .records()
        .filter_map(|record| if let Record::Flow(flow) = record { Some(flow.cookie) } else { None })
        .collect();
    cookies.sort_unstable();
    cookies.dedup();
    assert_eq!(cookies.len(), 3, "each socket has the kernel's own id");
    assert!(!cookies.contains(&0));
}

#[test]
fn a_connection_under_way_has_its_ends() {
    let recording = Recording::new();
    let printed = recording.python(
        r#"
import socket, select
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen()
client = socket.socket(); client.setblocking(False)
try: client.connect(listener.getsockname())
except BlockingIOError: pass
select.select([], [client], [])
print(client.getsockname()[1], client.getpeername()[1])
refused = socket.socket(); refused.bind(("127.0.0.1", 0)); port = refused.getsockname()[1]
try: socket.create_connection(("127.0.0.1", port))
except ConnectionRefusedError: pass
"#,
    );
    let (local, peer) = printed.trim().split_once(' ').unwrap();
    let log = recording.log();
    let name = |port: &str| Some(SocketName::Inet(format!("127.0.0.1:{port}").parse().unwrap()));
    let client = flow(&log, |flow| flow.flow == 2);
    assert_eq!(ends(&log, client, Role::Connect), (name(local), name(peer), 0));
    assert!(
        log.records().any(|record| matches!(record, Record::Failure { errno: 111, direction: Send, .. }))
    );
}

#[test]
fn datagrams_have_size_checksum_and_peer() {
    let recording = Recording::new();
    let printed = recording.python(
        r#"
import socket, os
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(("127.0.0.1", 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to = a.getsockname()
b.sendto(b"first datagram", to); print(a.recvfrom(100)[0])
b.sendto(b"its sender is not asked for", to); print(a.recv(100))
b.sendto(b"too long for the buffer", to); print(a.recv(8))
b.sendto(b"too long for the message", to); print(a.recvmsg(8)[0], a.recvmsg.__name__)
b.sendto(b"", to); print(a.recv(100))
b.sendto(b"looked at", to); print(a.recv(100, socket.MSG_PEEK), a.recv(100))
b.connect(to); b.send(b"connected"); print(a.recv(100))
b.sendmsg([b"in ", b"two ", b"parts"]); x, y = bytearray(4), bytearray(100); print(a.recvmsg_into([x, y])[0], x, y[:8])
os.write(b.fileno(), b"written"); print(os.read(a.fileno(), 100))
b.sendto(b"true size", to); x = bytearray(4); print(a.recv_into(x, 4, socket.MSG_TRUNC), x)
print(b.getsockname()[1], to[1])
"#,
    );
    let unrecorded = [
        "b'first datagram'",
        "b'its sender is not asked for'",
        "b'too long'",
        "b'too long' recvmsg",
        "b''",
        "b'looked at' b'looked at'",
        "b'connected'",
        "12 bytearray(b'in t') bytearray(b'wo parts')",
        "b'written'",
        "9 bytearray(b'true')",
    ];
    let mut lines: Vec<&str> = printed.lines().collect();
    let (sender, receiver) = lines.pop().unwrap().split_once(' ').unwrap();
    assert_eq!(lines, unrecorded, "the program gets what it would get without the library");

    let log = recording.log();
    let crc = |text: &str| crc32fast::hash(text.as_bytes());
    let name = |port: &str| Some(SocketName::Inet(format!("127.0.0.1:{port}").parse().unwrap()));
    let mut sent = Vec::new();
    let mut received = Vec::new();
    for record in log.records() {
        if let Record::Datagram { direction, bytes, checksum, truncated, peeked, peer, .. } = record {
            if *direction == Send {
                sent.push((*bytes, *checksum, peer.clone()));
            } else {
                received.push((*bytes, *checksum, *truncated, *peeked, peer.clone()));
            }
        }
    }
    let texts = [
        "first datagram",
        "its sender is not asked for",
        "too long for the buffer",
        "too long for the message",
        "",
        "looked at",
        "connected",
        "in two parts",
        "written",
        "true size",
    ];
    let to = name(receiver);
    let expected: Vec<_> = texts
        .iter()
        .map(|text| {
            let connected = ["connected", "in two parts", "written"].contains(text);
            (text.len() as u64, crc(text), if connected { None } else { to.clone() })
        })
        .collect();
    assert_eq!(sent, expected);
    let from = name(sender);
    let whole = |text: &str| (text.len() as u64, crc(text), false, false, from.clone());
    let expected = vec![
        whole(texts[0]),
        whole(texts[1]),
        (texts[2].len() as u64, crc("too long"), true, false, from.clone()),
        (texts[3].len() as u64, crc("too long"), true, false, from.clone()),
        whole(""),
        (texts[5].len() as u64, crc(texts[5]), false, true, from.clone()),
        whole(texts[5]),
        whole(texts[6]),
        whole(texts[7]),
        // `read` has no place for a sender; its flow is that of a socket with a name.
        (texts[8].len() as u64, crc(texts[8]), false, false, None),
        (texts[9].len() as u64, crc("true"), true, false, from.clone()),
    ];
    assert_eq!(received, expected);

    let unbound = flow(&log, |flow| flow.flow == 2);
    let (local, _, _) = ends(&log, unbound, Role::Bind);
    let Some(SocketName::Inet(local)) = local else { panic!("the first send named the socket") };
    assert_eq!(local.port().to_string(), sender);
}

#[test]
fn checksums_are_right_for_every_length_and_alignment() {
    let recording = Recording::new();
    recording.python(
        r#"
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
data = bytes(n * n * 7 + n // 3 & 255 for n in range(70000)); view = memoryview(data)
lengths = [*range(1, 900), 1399, 1400, 1401, 4096, 9001, 65507]
for n, length in enumerate(lengths):
    start = n % 19
    a.send(view[start:start + length]); b.recv(70000)
# In parts, so that a checksum is carried on from one to the next.
for cut in (1, 15, 16, 47, 48, 63, 64, 65, 130, 900):
    a.sendmsg([view[:cut], view[cut:cut + 7], view[cut + 7:1000]])
    b.recvmsg_into([bytearray(cut), bytearray(1000)])
"#,
    );
    let data: Vec<u8> = (0..70_000u64).map(|n| (n * n * 7 + n / 3) as u8).collect();
    let lengths = (1..900).chain([1399, 1400, 1401, 4096, 9001, 65507]);
    let single = lengths.enumerate().map(|(n, length)| &data[n % 19..n % 19 + length]);
    let expected: Vec<u32> =
        single.map(crc32fast::hash).chain([crc32fast::hash(&data[..1000]); 10]).collect();
    let log = recording.log();
    for wanted in [Send, Receive] {
        let found: Vec<u32> = log
            .records()
            .filter_map(|record| match record {
                Record::Datagram { direction, checksum, .. } if *direction == wanted => Some(*checksum),
                _ => None,
            })
            .collect();
        assert_eq!(found, expected, "{wanted:?}");
    }
}

#[test]
fn unix_sockets_name_the_process_at_the_other_end() {
    let recording = Recording::new();
    let printed = recording.python(
        r#"
import socket, os, sys
listener = socket.socket(socket.AF_UNIX); listener.bind("s.sock"); listener.listen()
child = os.fork()
if child == 0:
    client = socket.socket(socket.AF_UNIX); client.connect("s.sock")
    client.sendall(b"question"); client.recv(100); os._exit(0)
connection, _ = listener.accept(); connection.recv(100); connection.sendall(b"the answer")
os.waitpid(child, 0); print(child, os.getpid())
"#,
    );
    let (child, parent) = printed.trim().split_once(' ').unwrap();
    let logs = recording.logs();
    let log = |pid: &str| logs.iter().find(|log| log.log.header().pid.to_string() == pid).unwrap();
    let path = Some(SocketName::Path("s.sock".to_owned()));
    let server = flow(log(parent), |flow| flow.origin == Origin::Accept);
    let (local, _, pid) = ends(log(parent), server, Role::Accept);
    assert_eq!((local, pid.to_string().as_str()), (path.clone(), child));
    assert_eq!(traffic(log(parent), server, Receive), sum(1, 8));
    let client = flow(log(child), |flow| flow.origin == Origin::Socket);
    let (_, peer, pid) = ends(log(child), client, Role::Connect);
    assert_eq!((peer, pid.to_string().as_str()), (path, parent));
    assert_eq!(traffic(log(child), client, Receive), sum(1, 10));
}

#[test]
fn descriptors_lead_to_their_flow_however_they_came() {
    let recording = Recording::new();
    recording.python(
        r#"
import socket, os, fcntl
a, b = socket.socketpair()
def say(fd, size): os.write(fd, b"x" * size); b.recv(100)
d = os.dup(a.fileno()); say(d, 1)
os.dup2(a.fileno(), 50); say(50, 2)
e = fcntl.fcntl(a.fileno(), fcntl.F_DUPFD, 60); say(e, 4)
f = fcntl.fcntl(a.fileno(), fcntl.F_DUPFD_CLOEXEC, 70); say(f, 8)
# Passed by a message, over a number that was something else before.
socket.send_fds(b, [b"!"], [a.fileno()])
got = socket.recv_fds(a, 10, 1)[1][0]; say(got, 16)
# A number that is a file now, and then another socket.
os.close(d); n = os.open("plain", os.O_CREAT | os.O_RDWR); assert n == d
os.write(n, b"not a socket"); os.close(n)
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); assert c.fileno() == d
"#,
    );
    let log = recording.log();
    let (first, second) = log
        .records()
        .find_map(|record| match record {
            Record::Pair { first, second } => Some((*first, *second)),
            _ => None,
        })
        .unwrap();
    assert_eq!(traffic(&log, first, Send), sum(4, 15), "all duplicates");
    let passed = flow(&log, |flow| flow.origin == Origin::Found);
    assert_eq!(traffic(&log, passed, Send), sum(1, 16), "met anew after it was passed");
    let cookie = |number| {
        log.records().find_map(|record| match record {
            Record::Flow(flow) if flow.flow == number => Some(flow.cookie),
            _ => None,
        })
    };
    assert_eq!(cookie(passed), cookie(first), "but the same socket");
    assert_eq!(traffic(&log, second, Receive).bytes, 31);
    let duplicates = log.records().filter(|record| matches!(record, Record::Duplicate { .. })).count();
    assert_eq!(duplicates, 4);
}

#[test]
fn what_moves_no_bytes_is_no_message() {
    let recording = Recording::new();
    recording.python(
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
    let log = recording.log();
    assert_eq!(traffic(&log, 1, Send), sum(1, 4));
    assert_eq!(traffic(&log, 2, Receive), sum(1, 4));
    let rest: Vec<_> = log
        .records()
        .filter(|record| matches!(record, Record::EndOfFile { .. } | Record::Failure { .. }))
        .collect();
    assert_eq!(
        rest,
        [&Record::EndOfFile { flow: 2 }, &Record::Failure { flow: 2, direction: Send, errno: 32 }]
    );
}

#[test]
fn every_way_of_moving_bytes_is_seen() {
    let recording = Recording::new();
    recording.python(
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
    let log = recording.log();
    assert_eq!(traffic(&log, 1, Send), sum(7, 300 + 5 + 4 + 4 + 40 + 50 + 9));
    assert_eq!(traffic(&log, 2, Receive).bytes, 300 + 5 + 4 + 4 + 40 + 50 + 9);
    assert!(
        log.records().any(|record| matches!(record, Record::Close { flow: 1, .. })),
        "syscall(SYS_close)"
    );
}

#[test]
fn batches_have_a_record_for_each_message() {
    let recording = Recording::new();
    let batches = recording.compile("batches");
    successful(&mut recording.command(batches));
    let log = recording.log();
    let sizes = |wanted| {
        log.records()
            .filter_map(|record| match record {
                Record::Datagram { direction, bytes, checksum, .. } if *direction == wanted => {
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
    let recording = Recording::new();
    recording.python(
        r#"
import socket
secret = bytes(reversed(b"noitanimreted")) * 8
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    for _ in range(200): a.send(secret); assert b.recv(1000) == secret
"#,
    );
    let log = recording.log();
    assert_eq!(log.records().filter(|record| matches!(record, Record::Datagram { .. })).count(), 800);
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
    let recording = Recording::new();
    let recorded = recording.python(script);
    let alone = successful(std::process::Command::new(python()).arg("-c").arg(script));
    assert_eq!(recorded, alone);
    assert!(recorded.lines().count() > 60);
    recording.log();
}
