//! What a descriptor's number names, however it came to name it: never is a message logged on
//! another flow than its own.

use std::collections::BTreeMap;

use end_to_end::capture::{Recorded, Recording, Traffic, successful};
use socket_log::Record;
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{Flow, Origin, Role};

/// The flows of a log by number.
fn flows(log: &Recorded) -> BTreeMap<u32, Flow> {
    let flows = log.records().filter_map(|record| match record {
        Record::Flow(flow) => Some((flow.flow, *flow)),
        _ => None,
    });
    flows.collect()
}

fn sum(calls: u64, bytes: u64) -> Traffic {
    Traffic { calls, bytes }
}

#[test]
fn numbers_that_are_closed_behind_our_back_are_not_confused() {
    let recording = Recording::new();
    let printed = successful(&mut recording.command(recording.compile("behind")));
    assert_eq!(printed, "right\n");
    let log = recording.log();
    let flows = flows(&log);
    let traffic = log.traffic();
    let of = |flow: u32, direction| traffic.get(&(flow, direction)).copied().unwrap_or_default();
    let mut pairs = 0;
    for record in log.records() {
        if let Record::Pair { first, second } = record {
            assert_eq!(
                of(*first, Send),
                sum(1, 1),
                "nothing but its own message, before it was closed"
            );
            assert_eq!(of(*second, Receive), sum(1, 1));
            pairs += 1;
        }
    }
    assert_eq!(pairs, 11);
    let rest: Vec<_> = traffic
        .iter()
        .filter(|((flow, _), _)| flows[flow].origin != Origin::Pair)
        .map(|((flow, direction), traffic)| (flows[flow].origin, *direction, *traffic))
        .collect();
    let expected = [
        (Origin::Socket, Send, sum(1, 5)),
        (Origin::Found, Send, sum(1, 7)),
        (Origin::Accept, Receive, sum(1, 7)),
        (Origin::Socket, Send, sum(1, 11)),
        (Origin::Found, Receive, sum(1, 11)),
    ];
    assert_eq!(rest, expected, "a flow each");
}

#[test]
fn a_listening_socket_that_was_handed_down_is_known() {
    let recording = Recording::new();
    recording.python(
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
    let logs = recording.logs();
    let child = &logs[1];
    let flows = flows(child);
    let accepted = flows.values().find(|flow| flow.origin == Origin::Accept).unwrap();
    let listener = flows[&accepted.listener];
    assert_eq!((listener.origin, listener.fd), (Origin::Found, 3));
    assert!(child.records().any(|record| {
        matches!(record, Record::Endpoints { flow, role: Role::Listen, .. } if *flow == listener.flow)
    }));
    let in_parent: Vec<u64> = self::flows(&logs[0]).values().map(|flow| flow.cookie).collect();
    assert!(in_parent.contains(&listener.cookie), "the same socket of the kernel's");
    assert_eq!(child.traffic()[&(accepted.flow, Receive)], sum(1, 8));
    assert_eq!(child.traffic()[&(accepted.flow, Send)], sum(1, 8));
}

#[test]
fn short_writes_resets_and_bytes_thrown_away_are_told_apart() {
    let recording = Recording::new();
    let printed = recording.python(
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
    let log = recording.log();
    let traffic = log.traffic();
    assert_eq!(
        traffic[&(1, Send)],
        sum(1, printed.trim().parse().unwrap()),
        "as much as was taken"
    );
    assert!(traffic[&(1, Send)].bytes < 50_000_000);
    let flows = flows(&log);
    let server = flows.values().find(|flow| flow.origin == Origin::Accept).unwrap().flow;
    assert_eq!(traffic[&(server, Receive)], sum(2, 10));
    let failures: Vec<_> =
        log.records().filter(|record| matches!(record, Record::Failure { .. })).collect();
    assert_eq!(failures, [&Record::Failure { flow: server, direction: Receive, errno: 104 }]);
    assert!(
        !log.records().any(|record| matches!(record, Record::EndOfFile { .. })),
        "a reset is no end"
    );
}
