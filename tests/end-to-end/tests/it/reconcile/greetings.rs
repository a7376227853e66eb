//! Servers that speak first, on real sockets: the setup of each connection is a message, from the
//! time when the client called `connect` to the time when the server's `accept` returned.

use std::fs;

use end_to_end::capture::TestRecording;
use message_trace::{DataDir, Message, MessageTrace, TransportProtocol};
use reconcile::{Options, reconcile};

/// Three connections to a server in a child: over TCP, over a unix socket with a full queue so that
/// `connect` waits for the server, and over TCP to a server that waits for a request. The parent
/// prints the time right before and right after it connected, the child writes to a file the time
/// before and after it accepted. Sockets are created long before, so that their creation reveals
/// nothing.
const TALK: &str = r#"
import os, socket, sys, time
now = time.time_ns
tcp, silent = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
local = socket.socket(socket.AF_UNIX); local.bind("local"); local.listen(0)
waiting = socket.socket(socket.AF_UNIX); waiting.connect("local")
if os.fork() == 0:
    with open("accepted", "w") as out:
        for listener, greets in ((tcp, True), (local, False), (local, True), (silent, False)):
            before = now()
            if listener is local: time.sleep(0.1)
            peer, _ = listener.accept()
            if greets: print(before, now(), file=out)
            if greets: peer.sendall(b"hello"); assert peer.recv(100) == b"name"
            elif listener is silent: assert peer.recv(100) == b"ask"
            peer.sendall(b"done")
    os._exit(0)
ends = [socket.socket(), socket.socket(socket.AF_UNIX), socket.socket()]
time.sleep(0.15)
for end, server in zip(ends, (tcp, local, silent)):
    before = now()
    end.connect(server.getsockname())
    if server is not silent:
        print(before, now())
        assert end.recv(5) == b"hello"; end.sendall(b"name")
    else: end.sendall(b"ask")
    assert end.recv(4) == b"done"
assert os.wait()[1] == 0
"#;

/// Pairs of numbers, a line each.
fn parse_spans(text: &str) -> Vec<[i64; 2]> {
    let pair = |line: &str| {
        line.split_once(' ').map(|(one, other)| [one, other].map(|n| n.parse().unwrap()))
    };
    text.lines().map(|line| pair(line).unwrap()).collect()
}

#[test]
fn the_setup_of_a_connection_is_a_message() {
    let recording = TestRecording::new();
    let connected = parse_spans(&recording.run_python(TALK));
    let accepted = parse_spans(&fs::read_to_string(recording.file_path("accepted")).unwrap());
    let data = DataDir::new(recording.data_dir());
    let outcome = reconcile(&data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let makings: Vec<Message> = trace.messages().filter(Message::is_connect).collect();
    // The first connection to the unix socket received only an unrequested response: it counts,
    // too.
    assert_eq!((makings.len(), outcome.connects), (3, 3), "{makings:#?}");
    let of = |protocol| {
        let mut all: Vec<&Message> =
            makings.iter().filter(|making| making.protocol == protocol).collect();
        all.sort_by_key(|making| making.send_ts);
        *all.last().unwrap()
    };
    for (protocol, connected, accepted) in [
        (TransportProtocol::Tcp, connected[0], accepted[0]),
        (TransportProtocol::UnixStream, connected[1], accepted[1]),
    ] {
        let making = of(protocol);
        let (called, returned) = (making.send_ts.unwrap(), making.recv_ts.unwrap());
        // The duration of the call is known to a 32nd.
        let slack = (connected[1] - connected[0]) / 32 + 1_000_000;
        assert!(
            (connected[0]..=connected[0] + slack).contains(&called),
            "{connected:?} {making:#?}"
        );
        assert!((accepted[0]..=accepted[1]).contains(&returned), "{accepted:?} {making:#?}");
        assert_eq!((making.bytes, making.direction), (0, 0));
        let greeting =
            trace.messages().find(|message| message.flow == making.flow && message.direction == 1);
        let greeting = greeting.unwrap();
        assert_eq!((greeting.bytes, greeting.src, greeting.dst), (5, making.dst, making.src));
        assert!(greeting.send_ts > making.recv_ts && greeting.arrival_time() > making.send_ts);
    }
}
