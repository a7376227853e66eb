//! Unix streams, socket pairs, and messages of a process to itself.

use reconcile::{InternalMessages, Options};
use socket_log::encode::{self, Direction, FlowOrigin, FlowRole};
use socket_log::write::{LogWriter, UNIX_SEQUENCE, UNIX_STREAM, unix_address};

use crate::common::{Outcome, System, datagram, log};

fn connect(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, path: &str, server: u32) {
    log.flow(at, flow, UNIX_STREAM, FlowOrigin::Socket, cookie);
    log.endpoints(at + 1, flow, FlowRole::Connect, &unix_address(""), &unix_address(path), server);
}

fn accept(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, path: &str, client: u32) {
    log.flow(at, flow, UNIX_STREAM, FlowOrigin::Accept, cookie);
    log.endpoints(at, flow, FlowRole::Accept, &unix_address(path), &unix_address(""), client);
}

#[test]
fn two_clients_of_one_path_are_distinguished_by_their_pids() {
    let system = System::new();
    let mut server = log(20, "server");
    // The second client is accepted first.
    accept(&mut server, 300, 1, 21, "/run/x", 11);
    accept(&mut server, 310, 2, 22, "/run/x", 10);
    server.receive(1_100, 1, 5).receive(1_200, 2, 5);
    let mut first = log(10, "first");
    connect(&mut first, 100, 1, 31, "/run/x", 20);
    first.send(1_001, 1, 5);
    let mut second = log(11, "second");
    connect(&mut second, 110, 1, 32, "/run/x", 20);
    second.send(1_000, 1, 5);
    let outcome = system
        .add("one", "a", &first)
        .add("one", "b", &second)
        .add("one", "s", &server)
        .reconcile();
    assert_eq!(outcome.lines(), ["second => server 5 1000 1100", "first => server 5 1001 1200"]);
    assert_eq!(outcome.endpoints(), ["unix:#11/1 > unix:/run/x", "unix:#10/1 > unix:/run/x"]);
}

#[test]
fn connections_of_one_process_go_in_order() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    for flow in 1..4 {
        let at = u64::from(flow);
        connect(&mut client, 100 * at, flow, at, "@bus", 20);
        client.send(1_000 * at, flow, 5 * at);
        accept(&mut server, 500 + at, flow, 10 + at, "@bus", 10);
        server.receive(1_000 * at + 10, flow, 5 * at);
    }
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "client => server 5 1000 1010",
            "client => server 10 2000 2010",
            "client => server 15 3000 3010"
        ]
    );
    assert_eq!(outcome.endpoints()[0], "unix:#10/1 > unix:@bus");
}

#[test]
fn connections_accepted_out_of_order_are_distinguished_by_their_times() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    for flow in 1..3 {
        let at = u64::from(flow);
        connect(&mut client, 100 * at, flow, at, "/run/x", 20);
        client.send(1_000_000 * at, flow, 5);
        // Two workers; the second was logged earlier.
        accept(&mut server, 500 - at, flow, 10 + at, "/run/x", 10);
        server.receive(1_000_000 * at + 10, flow, 5);
    }
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        ["client => server 5 1000000 1000010", "client => server 5 2000000 2000010"]
    );
}

#[test]
fn a_path_belongs_to_the_kernel_and_an_abstract_name_to_a_namespace() {
    for (name, reached) in [("/run/x", true), ("@x", false)] {
        let (mut client, mut server) = (log(10, "client"), log(20, "server"));
        connect(&mut client, 100, 1, 1, name, 20);
        client.set_namespace(1).send(1_000, 1, 5);
        accept(&mut server, 200, 1, 2, name, 10);
        server.set_namespace(2).receive(1_100, 1, 5);
        let outcome = System::new().add("one", "a", &client).add("one", "b", &server).reconcile();
        assert_eq!(outcome.counts.both_ends, u64::from(reached), "{name}");
    }
}

#[test]
fn many_similar_connections_are_distinguished_by_their_first_calls() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    // More calls than are compared.
    const EACH: u64 = 5_000;
    for flow in 1..3u32 {
        let at = u64::from(flow);
        connect(&mut client, 100 * at, flow, at, "/run/x", 20);
        accept(&mut server, 500 - at, flow, 10 + at, "/run/x", 10);
    }
    for flow in 1..3u32 {
        for call in 0..EACH {
            let at = 10_000_000 * u64::from(flow) + 1_000 * call;
            client.send(at, flow, 5);
            server.receive(at + 10, flow, 5);
        }
    }
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(outcome.counts.stream_bytes.matched, 10 * EACH);
    let late = outcome.trace.messages().filter(|m| m.recv_last < m.send_last).count();
    assert_eq!((late, outcome.flows().iter().max()), (0, Some(&1)));
}

#[test]
fn a_pair_lives_on_across_fork() {
    let system = System::new();
    let mut parent = log(10, "parent");
    parent.flow(100, 1, UNIX_STREAM, FlowOrigin::Pair, 31).flow(
        100,
        2,
        UNIX_STREAM,
        FlowOrigin::Pair,
        32,
    );
    parent.socket_pair(101, 1, 2).close(200, 2).send(1_000, 1, 5).receive(1_300, 1, 6);
    let mut child = log(11, "child");
    child.flow(150, 1, UNIX_STREAM, FlowOrigin::Found, 32).receive(1_100, 1, 5).send(1_200, 1, 6);
    let outcome = system.add("one", "a", &parent).add("one", "b", &child).reconcile();
    assert_eq!(outcome.lines(), ["parent => child 5 1000 1100", "child -> parent 6 1200 1300"]);
    assert_eq!(outcome.endpoints(), ["unix:#10/1 > unix:#10/2", "unix:#10/2 > unix:#10/1"]);
}

#[test]
fn messages_of_a_process_to_itself_are_counted_and_left_out() {
    let system = System::new();
    let mut looper = log(10, "looper");
    looper.flow(100, 1, UNIX_STREAM, FlowOrigin::Pair, 31).flow(
        100,
        2,
        UNIX_STREAM,
        FlowOrigin::Pair,
        32,
    );
    looper.socket_pair(101, 1, 2).send(1_000, 1, 1).receive(1_100, 2, 1).send(2_000_000_000, 1, 1);
    system.add("one", "a", &looper);
    let outcome = system.reconcile();
    assert_eq!(outcome.lines(), Vec::<String>::new());
    assert_eq!((outcome.counts.internal.flows, outcome.counts.internal.messages), (1, 2));
    let kept =
        system.reconcile_with(&Options { internal: InternalMessages::Kept, ..Options::default() });
    assert_eq!(kept.lines(), ["looper => looper 1 1000 1100", "looper => looper 1 2000000000 -"]);
}

#[test]
fn untraced_peers_are_known_by_path_or_pid() {
    let system = System::new();
    let mut middle = log(10, "middle");
    connect(&mut middle, 100, 1, 31, "/run/db", 99);
    accept(&mut middle, 50, 2, 32, "/run/front", 77);
    middle.receive(900, 2, 3).send(1_000, 1, 5).receive(1_100, 1, 6).send(1_200, 2, 4);
    let outcome = system.add("one", "a", &middle).reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "pid 77 => middle 3 - 900",
            "middle => unix:/run/db 5 1000 -",
            "unix:/run/db -> middle 6 - 1100",
            "middle -> pid 77 4 1200 -"
        ]
    );
}

#[test]
fn messages_in_sequence_are_matched_whole() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    client.flow(100, 1, UNIX_SEQUENCE, FlowOrigin::Socket, 11);
    client.endpoints(101, 1, FlowRole::Connect, &unix_address(""), &unix_address("/run/q"), 20);
    server.flow(200, 1, UNIX_SEQUENCE, FlowOrigin::Accept, 12);
    server.endpoints(200, 1, FlowRole::Accept, &unix_address("/run/q"), &unix_address(""), 10);
    for content in 0..2 {
        client.datagram(&datagram(Direction::Send, 1, 1_000 + u64::from(content), content, &[]));
        server.datagram(&datagram(Direction::Receive, 1, 1_100 + u64::from(content), content, &[]));
    }
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        ["client => server 100 1000 1100", "client => server 100 1001 1101"]
    );
    assert_eq!(outcome.counts.messages["unix-seqpacket"], 2);
}

#[test]
fn the_first_speaker_of_a_socket_pair_is_the_client() {
    let system = System::new();
    let mut parent = log(10, "parent");
    parent.flow(100, 1, UNIX_STREAM, FlowOrigin::Pair, 31).flow(
        100,
        2,
        UNIX_STREAM,
        FlowOrigin::Pair,
        32,
    );
    parent.socket_pair(101, 1, 2).close(200, 2).receive(1_100, 1, 5).send(1_200, 1, 6);
    let mut child = log(11, "child");
    child.flow(150, 1, UNIX_STREAM, FlowOrigin::Found, 32).send(1_000, 1, 5).receive(1_300, 1, 6);
    let outcome = system.add("one", "a", &parent).add("one", "b", &child).reconcile();
    assert_eq!(outcome.lines(), ["child => parent 5 1000 1100", "parent -> child 6 1200 1300"]);
}

/// A socket that was found in use, with the id `other` at its other end; 0 if unknown.
fn found(log: &mut LogWriter, flow: u32, cookie: u64, [local, peer]: [&str; 2], other: u64) {
    let at = u64::from(flow);
    log.flow(at, flow, UNIX_STREAM, FlowOrigin::Found, cookie);
    log.endpoints(at, flow, FlowRole::Unknown, &unix_address(local), &unix_address(peer), 1);
    if other != 0 {
        log.raw_record(at, encode::other_end_record(at, flow, other).as_slice());
    }
}

fn look(log: &mut LogWriter, at: u64, flow: u32, bytes: u32) {
    log.raw_record(at, encode::queued_record(at, flow, bytes, 200).as_slice());
}

/// Two connections between two processes that were open before these were recorded, the server
/// first. `bytes` are in the queue of the first at the first look.
fn open_before(knows_other_end: bool, bytes: u32) -> Outcome {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    for flow in 1..3 {
        let cookies = [u64::from(flow), 10 + u64::from(flow)];
        let [of_client, of_server] = if knows_other_end { cookies } else { [0; 2] };
        found(&mut client, flow, cookies[0], ["", "/run/x"], of_server);
        found(&mut server, flow, cookies[1], ["/run/x", ""], of_client);
    }
    look(&mut server, 90_000, 1, 0);
    server.receive(100_000, 1, 40);
    for (flow, at, bytes) in [
        (1, 1_000_000, bytes),
        (2, 1_500_000, 5),
        (1, 2_000_000, 5),
        (2, 2_500_000, 5),
        (1, 3_000_000, 5),
    ] {
        client.send(at, flow, 5);
        look(&mut server, at + 100_000, flow, bytes);
        server.receive(at + 110_000, flow, 5).send(at + 200_000, flow, 7);
        look(&mut client, at + 300_000, flow, 7);
        client.receive(at + 310_000, flow, 7);
    }
    system.add("one", "c", &client).add("one", "s", &server).reconcile()
}

#[test]
fn unix_streams_that_were_open_are_placed_by_looks_at_their_queues() {
    let of_second = [
        "client => server 5 1500000 1610000",
        "server -> client 7 1700000 1810000",
        "client => server 5 2500000 2610000",
        "server -> client 7 2700000 2810000",
    ];
    let of_first = [
        "client => server 40 - 100000",
        "client => server 5 1000000 1110000",
        "server -> client 7 1200000 1310000",
        "client => server 5 2000000 2110000",
        "server -> client 7 2200000 2310000",
        "client => server 5 3000000 3110000",
        "server -> client 7 3200000 3310000",
    ];
    let sorted = |outcome: &Outcome| {
        let mut lines = outcome.lines();
        lines.sort();
        lines
    };
    let mut all = [&of_first[..], &of_second].concat();
    all.sort_unstable();
    let outcome = open_before(true, 5);
    assert_eq!(sorted(&outcome), all);
    assert!(outcome.counts.unplaced_streams.is_empty());
    // A look that contradicts another: that connection is left out.
    let outcome = open_before(true, 6);
    assert_eq!(outcome.lines(), of_second);
    assert_eq!(outcome.counts.unplaced_streams["unix:/run/x"], 1);
    // The socket at the other end is unknown, as in older logs: each is shown by itself.
    let outcome = open_before(false, 5);
    let has_one_end = |line: &String| line.contains(" - ") || line.ends_with(" -");
    assert!(outcome.lines().iter().all(has_one_end), "{:?}", outcome.lines());
    assert!(outcome.lines().len() >= 16 && outcome.counts.unplaced_streams.is_empty());
}
