//! The library's records of sockets: flows, their ends, and their messages.

use std::collections::{BTreeMap, BTreeSet};

use end_to_end::capture::{ReadLog, TestRecording, traffic_of, traffic_of_flow};
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{FlowOrigin, FlowRole};
use socket_log::{LogRecord, SocketName};

/// The first flow for which `accept` holds.
fn find_flow(log: &ReadLog, accept: impl Fn(&socket_log::encode::FlowRecord) -> bool) -> u32 {
    let found = log.complete_records().find_map(|record| match record {
        LogRecord::Flow(flow) if accept(flow) => Some(flow.flow),
        _ => None,
    });
    found.expect("such a flow")
}

/// The flow's ends in the latest record with that role.
fn ends_of_flow(
    log: &ReadLog,
    wanted: u32,
    role: FlowRole,
) -> (Option<SocketName>, Option<SocketName>, u32) {
    let found = log.complete_records().filter_map(|record| match record {
        LogRecord::Endpoints { flow, role: has, local, peer, peer_pid, .. }
            if *flow == wanted && *has == role =>
        {
            Some((local.clone(), peer.clone(), *peer_pid))
        }
        _ => None,
    });
    found.last().unwrap_or_else(|| panic!("flow {wanted} is named as {role:?}"))
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
    let recording = TestRecording::new();
    let printed = recording.run_python(TCP);
    let (client_port, listener_port) = printed.trim().split_once(' ').unwrap();
    let log = recording.only_log();
    let listener = find_flow(&log, |flow| flow.origin == FlowOrigin::Socket);
    let client = find_flow(&log, |flow| flow.origin == FlowOrigin::Socket && flow.flow != listener);
    let server = find_flow(&log, |flow| flow.origin == FlowOrigin::Accept);

    let name = |port: &str| Some(SocketName::Inet(format!("127.0.0.1:{port}").parse().unwrap()));
    assert_eq!(
        ends_of_flow(&log, listener, FlowRole::Listen),
        (name(listener_port), None, 0),
        "a dynamic port"
    );
    assert_eq!(
        ends_of_flow(&log, client, FlowRole::Connect),
        (name(client_port), name(listener_port), 0)
    );
    assert_eq!(
        ends_of_flow(&log, server, FlowRole::Accept),
        (name(listener_port), name(client_port), 0)
    );
    assert!(log.complete_records().any(
        |record| matches!(record, LogRecord::Flow(of) if of.flow == server && of.listener == listener)
    ));

    assert_eq!(traffic_of_flow(&log, client, Send), traffic_of(4, 118));
    assert_eq!(traffic_of_flow(&log, server, Receive).bytes, 118);
    assert_eq!(traffic_of_flow(&log, server, Send).bytes, 236);
    assert_eq!(traffic_of_flow(&log, client, Receive).bytes, 236);
    for flow in [client, server] {
        let ends = log
            .complete_records()
            .filter(|record| **record == LogRecord::EndOfFile { flow })
            .count();
        assert_eq!(ends, 1, "each side read the end once");
        assert!(
            log.complete_records()
                .any(|record| matches!(record, LogRecord::Close { flow: of, .. } if *of == flow))
        );
    }
    assert!(
        log.complete_records()
            .any(|record| *record == LogRecord::Shutdown { flow: client, how: 1 })
    );

    let mut cookies: Vec<u64> = log
        .complete_records()
        .filter_map(
            |record| if let LogRecord::Flow(flow) = record { Some(flow.cookie) } else { None },
        )
        .collect();
    cookies.sort_unstable();
    cookies.dedup();
    assert_eq!(cookies.len(), 3, "each socket has the kernel's own id");
    assert!(!cookies.contains(&0));
}

#[test]
fn a_connection_being_made_has_its_ends() {
    let recording = TestRecording::new();
    let printed = recording.run_python(
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
    let log = recording.only_log();
    let name = |port: &str| Some(SocketName::Inet(format!("127.0.0.1:{port}").parse().unwrap()));
    let client = find_flow(&log, |flow| flow.flow == 2);
    assert_eq!(ends_of_flow(&log, client, FlowRole::Connect), (name(local), name(peer), 0));
    assert!(
        log.complete_records()
            .any(|record| matches!(record, LogRecord::Failure { errno: 111, direction: Send, .. }))
    );
}

#[test]
fn datagrams_have_size_checksum_and_peer() {
    let recording = TestRecording::new();
    let printed = recording.run_python(
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

    let log = recording.only_log();
    let crc = |text: &str| crc32fast::hash(text.as_bytes());
    let name = |port: &str| Some(SocketName::Inet(format!("127.0.0.1:{port}").parse().unwrap()));
    let mut sent = Vec::new();
    let mut received = Vec::new();
    for record in log.complete_records() {
        if let LogRecord::Datagram { direction, bytes, checksum, truncated, peeked, peer, .. } =
            record
        {
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
        // `read` has no room for a sender; its flow is that of a socket with a name.
        (texts[8].len() as u64, crc(texts[8]), false, false, None),
        (texts[9].len() as u64, crc("true"), true, false, from.clone()),
    ];
    assert_eq!(received, expected);

    let unbound = find_flow(&log, |flow| flow.flow == 2);
    let (local, _, _) = ends_of_flow(&log, unbound, FlowRole::Bind);
    let Some(SocketName::Inet(local)) = local else { panic!("the first send named the socket") };
    assert_eq!(local.port().to_string(), sender);
}

#[test]
fn checksums_are_right_for_every_length_and_alignment() {
    let recording = TestRecording::new();
    recording.run_python(
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
    let log = recording.only_log();
    for wanted in [Send, Receive] {
        let found: Vec<u32> = log
            .complete_records()
            .filter_map(|record| match record {
                LogRecord::Datagram { direction, checksum, .. } if *direction == wanted => {
                    Some(*checksum)
                }
                _ => None,
            })
            .collect();
        assert_eq!(found, expected, "{wanted:?}");
    }
}

#[test]
fn unix_sockets_name_the_process_at_the_other_end() {
    let recording = TestRecording::new();
    let printed = recording.run_python(
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
    let logs = recording.read_logs();
    let log = |pid: &str| logs.iter().find(|log| log.log.header().pid.to_string() == pid).unwrap();
    let path = Some(SocketName::Path("s.sock".to_owned()));
    let server = find_flow(log(parent), |flow| flow.origin == FlowOrigin::Accept);
    let (local, _, pid) = ends_of_flow(log(parent), server, FlowRole::Accept);
    assert_eq!((local, pid.to_string().as_str()), (path.clone(), child));
    assert_eq!(traffic_of_flow(log(parent), server, Receive), traffic_of(1, 8));
    let client = find_flow(log(child), |flow| flow.origin == FlowOrigin::Socket);
    let (_, peer, pid) = ends_of_flow(log(child), client, FlowRole::Connect);
    assert_eq!((peer, pid.to_string().as_str()), (path, parent));
    assert_eq!(traffic_of_flow(log(child), client, Receive), traffic_of(1, 10));
}

#[test]
fn descriptors_refer_to_their_flow_however_they_were_obtained() {
    let recording = TestRecording::new();
    recording.run_python(
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
    let log = recording.only_log();
    let (first, second) = log
        .complete_records()
        .find_map(|record| match record {
            LogRecord::Pair { first, second } => Some((*first, *second)),
            _ => None,
        })
        .unwrap();
    assert_eq!(traffic_of_flow(&log, first, Send), traffic_of(4, 15), "all duplicates");
    let passed = find_flow(&log, |flow| flow.origin == FlowOrigin::Found);
    assert_eq!(
        traffic_of_flow(&log, passed, Send),
        traffic_of(1, 16),
        "met anew after it was passed"
    );
    let cookie = |number| {
        log.complete_records().find_map(|record| match record {
            LogRecord::Flow(flow) if flow.flow == number => Some(flow.cookie),
            _ => None,
        })
    };
    assert_eq!(cookie(passed), cookie(first), "but the same socket");
    assert_eq!(traffic_of_flow(&log, second, Receive).bytes, 31);
    let duplicates = log
        .complete_records()
        .filter(|record| matches!(record, LogRecord::Duplicate { .. }))
        .count();
    assert_eq!(duplicates, 4);
}

/// The local name in the latest record of each flow's ends, by flow.
fn local_names(log: &ReadLog) -> BTreeMap<u32, SocketName> {
    let names = log.complete_records().filter_map(|record| match record {
        LogRecord::Endpoints { flow, local, .. } => Some((*flow, local.clone()?)),
        _ => None,
    });
    names.collect()
}

#[test]
fn unix_sockets_have_the_local_names_that_the_kernel_reports() {
    let recording = TestRecording::new();
    // Listeners that take turns, a client that is bound, and one that the kernel binds as it
    // connects because it wants to know the senders.
    let printed = recording.run_python(
        r#"
import socket
sockets = []
def made(each): sockets.append(each); return each
def listen(name):
    listener = made(socket.socket(socket.AF_UNIX)); listener.bind(name); listener.listen()
    return listener
one, two = listen("./one.sock"), listen("\0two" * 8)
def connect(listener, prepare=None):
    client = made(socket.socket(socket.AF_UNIX))
    if prepare: prepare(client)
    client.connect(listener.getsockname())
for _ in range(3):
    connect(one); connect(two); made(one.accept()[0]); made(two.accept()[0])
connect(one, lambda client: client.bind("client.sock")); made(one.accept()[0])
connect(one, lambda client: client.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1))
made(one.accept()[0])
# The first thread's listener is closed, and another one has its number.
number = one.fileno(); one.close(); sockets.remove(one)
three = listen("three.sock"); assert three.fileno() == number
connect(three); made(three.accept()[0])
for each in sockets: print(each.fileno(), ascii(each.getsockname()))
"#,
    );
    let log = recording.only_log();
    let names = local_names(&log);
    let fds: BTreeMap<i32, u32> = log
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::Flow(flow) => Some((flow.fd, flow.flow)),
            _ => None,
        })
        .collect();
    let logged: Vec<String> = printed
        .lines()
        .map(|line| {
            let fd = line.split_once(' ').unwrap().0;
            let name = match &names[&fds[&fd.parse().unwrap()]] {
                SocketName::Path(path) => format!("'{path}'"),
                SocketName::Abstract(name) => format!("b'\\x00{}'", name.replace('\0', "\\x00")),
                SocketName::Unnamed => "''".to_owned(),
                other => panic!("{other:?}"),
            };
            format!("{fd} {name}")
        })
        .collect();
    assert_eq!(logged, printed.lines().collect::<Vec<_>>());
    assert!(printed.contains("client.sock") && printed.contains("three.sock"), "{printed}");
}

#[test]
fn sockets_have_the_network_namespaces_that_the_kernel_reports() {
    let recording = TestRecording::new();
    // A thread that moves between two namespaces makes and accepts sockets in both.
    let printed = recording.run_python(
        r#"
import ctypes, os, socket
libc = ctypes.CDLL(None)
NEW_NETWORK, COOKIE = 0x40000000, 71
def made(each):
    namespace = each.getsockopt(socket.SOL_SOCKET, COOKIE, 8)
    print(int.from_bytes(namespace, "little"), flush=True); sockets.append(each)
    return each
sockets, home = [], os.open("/proc/self/ns/net", os.O_RDONLY)
path, inet = made(socket.socket(socket.AF_UNIX)), made(socket.socket())
path.bind("s.sock"); path.listen(); inet.bind(("127.0.0.1", 0)); inet.listen()
def connect(listener):
    client = made(socket.socket(listener.family)); client.connect(listener.getsockname())
for _ in range(3): connect(inet)
for _ in range(2): connect(path)
made(path.accept()[0]); made(inet.accept()[0])
assert libc.unshare(NEW_NETWORK) == 0
for _ in range(2): connect(path)
for _ in range(2): made(path.accept()[0]); made(inet.accept()[0])
made(path.accept()[0])
assert libc.setns(home, NEW_NETWORK) == 0
for each in socket.socketpair(): made(each)
connect(path); made(path.accept()[0])
if os.fork() == 0:
    assert libc.unshare(NEW_NETWORK) == 0
    made(socket.socket()); os._exit(0)
os.wait()
"#,
    );
    let logged: Vec<String> = recording
        .read_logs()
        .iter()
        .flat_map(ReadLog::complete_records)
        .filter_map(|record| match record {
            LogRecord::Flow(flow) if flow.origin != FlowOrigin::Found => {
                Some(flow.namespace.to_string())
            }
            _ => None,
        })
        .collect();
    assert_eq!(logged, printed.lines().collect::<Vec<_>>());
    let different: BTreeSet<&String> = logged.iter().collect();
    assert_eq!(different.len(), 3);
}
