//! Numbers of descriptors, however they were assigned: a message is never logged on another flow
//! than its own.

use std::collections::BTreeMap;

use end_to_end::capture::{FlowTraffic, ReadLog, TestRecording, run_successfully};
use socket_log::LogRecord;
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{FlowOrigin, FlowRecord, FlowRole};

/// The flows of a log by number.
fn flows_by_number(log: &ReadLog) -> BTreeMap<u32, FlowRecord> {
    let flows = log.complete_records().filter_map(|record| match record {
        LogRecord::Flow(flow) => Some((flow.flow, *flow)),
        _ => None,
    });
    flows.collect()
}

fn traffic_of(calls: u64, bytes: u64) -> FlowTraffic {
    FlowTraffic { calls, bytes }
}

#[test]
fn descriptors_closed_unnoticed_are_not_confused() {
    let recording = TestRecording::new();
    let printed =
        run_successfully(&mut recording.recorded_command(recording.compile_program("raw_closes")));
    assert_eq!(printed, "right\n");
    let log = recording.only_log();
    let flows = flows_by_number(&log);
    let traffic = log.traffic_by_flow();
    let of = |flow: u32, direction| traffic.get(&(flow, direction)).copied().unwrap_or_default();
    let mut pairs = 0;
    for record in log.complete_records() {
        if let LogRecord::Pair { first, second } = record {
            assert_eq!(
                of(*first, Send),
                traffic_of(1, 1),
                "nothing but its own message, before it was closed"
            );
            assert_eq!(of(*second, Receive), traffic_of(1, 1));
            pairs += 1;
        }
    }
    assert_eq!(pairs, 11);
    let rest: Vec<_> = traffic
        .iter()
        .filter(|((flow, _), _)| flows[flow].origin != FlowOrigin::Pair)
        .map(|((flow, direction), traffic)| (flows[flow].origin, *direction, *traffic))
        .collect();
    let expected = [
        (FlowOrigin::Socket, Send, traffic_of(1, 5)),
        (FlowOrigin::Found, Send, traffic_of(1, 7)),
        (FlowOrigin::Accept, Receive, traffic_of(1, 7)),
        (FlowOrigin::Socket, Send, traffic_of(1, 11)),
        (FlowOrigin::Found, Receive, traffic_of(1, 11)),
    ];
    assert_eq!(rest, expected, "a flow each");
}

#[test]
fn an_inherited_listening_socket_is_known() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import os, socket, subprocess, sys
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen()
# As a service manager does it: the socket is descriptor 3.
os.dup2(listener.fileno(), 3)
child = subprocess.Popen([sys.executable, "-c", '''
import os, socket
assert os.environ["LISTEN_FDS"] == "1"
listener = socket.socket(fileno=3); connection, _ = listener.accept()
connection.sendall(b"x" * len(connection.recv(100)))
'''], pass_fds=[3], env={"LISTEN_FDS": "1"})
client = socket.create_connection(listener.getsockname()); client.sendall(b"question")
assert len(client.recv(100)) == 8
assert child.wait() == 0
"#,
    );
    let logs = recording.read_logs();
    let child = &logs[1];
    let flows = flows_by_number(child);
    let accepted = flows.values().find(|flow| flow.origin == FlowOrigin::Accept).unwrap();
    let listener = flows[&accepted.listener];
    assert_eq!((listener.origin, listener.fd), (FlowOrigin::Found, 3));
    assert!(child.complete_records().any(|record| {
        matches!(record, LogRecord::Endpoints { flow, role: FlowRole::Listen, .. } if *flow == listener.flow)
    }));
    let in_parent: Vec<u64> =
        self::flows_by_number(&logs[0]).values().map(|flow| flow.cookie).collect();
    assert!(in_parent.contains(&listener.cookie), "the same socket of the kernel's");
    assert_eq!(child.traffic_by_flow()[&(accepted.flow, Receive)], traffic_of(1, 8));
    assert_eq!(child.traffic_by_flow()[&(accepted.flow, Send)], traffic_of(1, 8));
}

#[test]
fn short_writes_resets_and_discarded_bytes_are_distinguished() {
    let recording = TestRecording::new();
    let printed = recording.run_python(
        r#"
import socket, struct
a, b = socket.socketpair(); a.setblocking(False)
sent = a.send(bytes(50_000_000))
try: a.send(b"more"); assert False
except BlockingIOError: pass
print(sent)
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen()
client = socket.create_connection(listener.getsockname()); server, _ = listener.accept()
client.sendall(b"0123456789"); assert server.recv(4, socket.MSG_TRUNC | socket.MSG_WAITALL)
assert server.recv(100) == b"456789"
client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); client.close()
try: server.recv(10); assert False
except ConnectionResetError: pass
"#,
    );
    let log = recording.only_log();
    let traffic = log.traffic_by_flow();
    assert_eq!(
        traffic[&(1, Send)],
        traffic_of(1, printed.trim().parse().unwrap()),
        "as much as was taken"
    );
    assert!(traffic[&(1, Send)].bytes < 50_000_000);
    let flows = flows_by_number(&log);
    let server = flows.values().find(|flow| flow.origin == FlowOrigin::Accept).unwrap().flow;
    assert_eq!(traffic[&(server, Receive)], traffic_of(2, 10));
    let failures: Vec<_> = log
        .complete_records()
        .filter(|record| matches!(record, LogRecord::Failure { .. }))
        .collect();
    assert_eq!(failures, [&LogRecord::Failure { flow: server, direction: Receive, errno: 104 }]);
    assert!(
        !log.complete_records().any(|record| matches!(record, LogRecord::EndOfFile { .. })),
        "a reset is no end"
    );
}
