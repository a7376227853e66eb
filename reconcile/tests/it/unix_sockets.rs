//! Unix streams, pairs and what a process sends to itself.

use reconcile::{InternalMessages, Options};
use socket_log::encode::{Direction, Origin, Role};
use socket_log::write::{LogWriter, UNIX_SEQUENCE, UNIX_STREAM, unix};

use crate::common::{System, datagram, log};

fn connect(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, path: &str, server: u32) {
    log.flow(at, flow, UNIX_STREAM, Origin::Socket, cookie);
    log.endpoints(at + 1, flow, Role::Connect, &unix(""), &unix(path), server);
}

fn accept(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, path: &str, client: u32) {
    log.flow(at, flow, UNIX_STREAM, Origin::Accept, cookie);
    log.endpoints(at, flow, Role::Accept, &unix(path), &unix(""), client);
}

#[test]
fn two_clients_of_one_path_are_told_apart_by_their_pids() {
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
fn connections_accepted_out_of_order_are_told_apart_by_their_times() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    for flow in 1..3 {
        let at = u64::from(flow);
        connect(&mut client, 100 * at, flow, at, "/run/x", 20);
        client.send(1_000_000 * at, flow, 5);
        // Two workers; the second was quicker to tell.
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
fn a_path_is_the_kernel_s_and_an_abstract_name_is_a_namespace_s() {
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
fn many_connections_that_look_alike_are_told_apart_by_their_first_calls() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    // More calls than are looked at.
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
    parent.flow(100, 1, UNIX_STREAM, Origin::Pair, 31).flow(100, 2, UNIX_STREAM, Origin::Pair, 32);
    parent.pair(101, 1, 2).close(200, 2).send(1_000, 1, 5).receive(1_300, 1, 6);
    let mut child = log(11, "child");
    child.flow(150, 1, UNIX_STREAM, Origin::Found, 32).receive(1_100, 1, 5).send(1_200, 1, 6);
    let outcome = system.add("one", "a", &parent).add("one", "b", &child).reconcile();
    assert_eq!(outcome.lines(), ["parent => child 5 1000 1100", "child -> parent 6 1200 1300"]);
    assert_eq!(outcome.endpoints(), ["unix:#10/1 > unix:#10/2", "unix:#10/2 > unix:#10/1"]);
}

#[test]
fn what_a_process_sends_to_itself_is_counted_and_left_out() {
    let system = System::new();
    let mut looper = log(10, "looper");
    looper.flow(100, 1, UNIX_STREAM, Origin::Pair, 31).flow(100, 2, UNIX_STREAM, Origin::Pair, 32);
    looper.pair(101, 1, 2).send(1_000, 1, 1).receive(1_100, 2, 1).send(2_000_000_000, 1, 1);
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
    client.flow(100, 1, UNIX_SEQUENCE, Origin::Socket, 11);
    client.endpoints(101, 1, Role::Connect, &unix(""), &unix("/run/q"), 20);
    server.flow(200, 1, UNIX_SEQUENCE, Origin::Accept, 12);
    server.endpoints(200, 1, Role::Accept, &unix("/run/q"), &unix(""), 10);
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
fn of_a_pair_the_end_that_speaks_first_asks() {
    let system = System::new();
    let mut parent = log(10, "parent");
    parent.flow(100, 1, UNIX_STREAM, Origin::Pair, 31).flow(100, 2, UNIX_STREAM, Origin::Pair, 32);
    parent.pair(101, 1, 2).close(200, 2).receive(1_100, 1, 5).send(1_200, 1, 6);
    let mut child = log(11, "child");
    child.flow(150, 1, UNIX_STREAM, Origin::Found, 32).send(1_000, 1, 5).receive(1_300, 1, 6);
    let outcome = system.add("one", "a", &parent).add("one", "b", &child).reconcile();
    assert_eq!(outcome.lines(), ["child => parent 5 1000 1100", "parent -> child 6 1200 1300"]);
}
