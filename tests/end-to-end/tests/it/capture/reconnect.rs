//! The boundary between one connection of a socket and the next.

use end_to_end::capture::{ReadLog, TestRecording};
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{Direction, FlowRole};
use socket_log::{LogRecord, SocketName};

/// For each flow on which bytes were sent: the ports to which it was connected, and the bytes of
/// each message.
fn connections_of_flows(log: &ReadLog) -> Vec<(Vec<u16>, Vec<u64>)> {
    let flows = log.complete_records().filter_map(|record| match record {
        LogRecord::Flow(flow) => Some(flow.flow),
        _ => None,
    });
    let of = |wanted: u32| {
        let mut ports = Vec::new();
        let mut sent = Vec::new();
        for record in log.complete_records() {
            match record {
                LogRecord::Endpoints {
                    flow,
                    role: FlowRole::Connect,
                    peer: Some(SocketName::Inet(peer)),
                    ..
                } if *flow == wanted => {
                    ports.push(peer.port());
                }
                LogRecord::Transfer { direction: Send, flow, bytes, .. }
                | LogRecord::Datagram { direction: Send, flow, bytes, .. }
                    if *flow == wanted =>
                {
                    sent.push(*bytes);
                }
                _ => {}
            }
        }
        (ports, sent)
    };
    flows.map(of).filter(|(_, sent)| !sent.is_empty()).collect()
}

/// Connects one socket of `kind` to two listeners, one after the other, and sends by two
/// descriptors.
const TWICE: &str = r#"
import ctypes, os, socket, select
kind = getattr(socket, "KIND")
libc = ctypes.CDLL(None)
def name():
    s = socket.socket(socket.AF_INET, kind); s.bind(("127.0.0.1", 0))
    if kind == socket.SOCK_STREAM: s.listen()
    return s
one, two = name(), name()
print(one.getsockname()[1], two.getsockname()[1])
c = socket.socket(socket.AF_INET, kind); d = c.dup()
c.connect(one.getsockname()); c.send(b"one"); d.send(b"more")
if DISCONNECTS: assert libc.connect(c.fileno(), bytes(16), 16) == 0
c.connect(two.getsockname()); c.send(b"seconds"); d.send(b"and more")
if kind == socket.SOCK_DGRAM: c.connect(two.getsockname()); c.send(b"no other")
"#;

#[test]
fn a_reconnected_socket_has_a_new_flow() {
    for (kind, disconnects) in
        [("SOCK_STREAM", "True"), ("SOCK_DGRAM", "True"), ("SOCK_DGRAM", "False")]
    {
        let recording = TestRecording::new();
        let script = TWICE.replace("KIND", kind).replace("DISCONNECTS", disconnects);
        let printed = recording.run_python(&script);
        let ports: Vec<u16> =
            printed.split_whitespace().map(|port| port.parse().unwrap()).collect();
        let log = recording.only_log();
        let found = connections_of_flows(&log);
        let [(first, sent), (second, sent_then)] = &found[..] else { panic!("{kind}: {found:?}") };
        assert_eq!((&first[..1], &sent[..]), (&ports[..1], &[3, 4][..]), "{kind}");
        assert_eq!((second[0], &sent_then[..2]), (ports[1], &[7, 8][..]), "{kind}");
        assert_eq!(
            sent_then.len(),
            if kind == "SOCK_DGRAM" { 3 } else { 2 },
            "the same peer, the same flow"
        );
        let cookies: Vec<_> = log
            .complete_records()
            .filter_map(|record| match record {
                LogRecord::Flow(flow) if flow.cookie == 0 => Some(flow.flow),
                _ => None,
            })
            .collect();
        let again = if kind == "SOCK_DGRAM" && disconnects == "True" { 1..=2 } else { 1..=1 };
        assert!(
            again.contains(&cookies.len()),
            "{kind}: the new flow must not pass for the old one"
        );
    }
}

#[test]
fn two_calls_for_one_connection_are_one_flow() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import select, socket
listener = socket.create_server(("127.0.0.1", 0))
c = socket.socket(); c.setblocking(False)
c.connect_ex(listener.getsockname()); select.select([], [c], []); c.connect_ex(listener.getsockname())
c.connect_ex(listener.getsockname()); c.send(b"x")
"#,
    );
    assert_eq!(connections_of_flows(&recording.only_log()).len(), 1);
    let flows = recording
        .only_log()
        .complete_records()
        .filter(|record| matches!(record, LogRecord::Flow(_)))
        .count();
    assert_eq!(flows, 2, "with the listener");
}

const PACKETS: &str = r#"
import os, socket
for kind in (socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    for receive in (lambda s: s.recv(10), lambda s: os.read(s.fileno(), 10), lambda s: s.recvmsg(10)[0]):
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        a.send(b"data"); assert receive(b) == b"data"
        if kind == socket.SOCK_DGRAM: a.send(b"")
        else: a.close()
        assert receive(b) == b""
"#;

#[test]
fn the_end_of_a_packet_connection_is_no_empty_packet() {
    let recording = TestRecording::new();
    recording.run_python(PACKETS);
    let log = recording.only_log();
    let datagrams = |wanted: u64, towards: Direction| {
        let is = |record: &&LogRecord| matches!(record, LogRecord::Datagram { bytes, direction, .. } if *bytes == wanted && *direction == towards);
        log.complete_records().filter(is).count()
    };
    assert_eq!(
        log.complete_records()
            .filter(|record| matches!(record, LogRecord::EndOfFile { .. }))
            .count(),
        3
    );
    assert_eq!((datagrams(4, Send), datagrams(4, Receive)), (6, 6));
    assert_eq!((datagrams(0, Send), datagrams(0, Receive)), (3, 3), "an empty datagram is one");
}
