//! TCP connections between processes, traced at both ends or at one.

use message_trace::MessageId;
use proptest::prelude::*;
use reconcile::Options;
use socket_log::encode::{FlowOrigin, FlowRole};
use socket_log::write::{EPOCH, LogWriter, SocketParameters, TCP, TCP6, mapped_address};

use crate::common::{System, accept, connect, found, log};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:80";

#[test]
fn a_request_and_its_answer_have_times_at_both_ends() {
    let system = System::new();
    let mut client = log(10, "curl");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 10).send(1_001, 1, 200);
    client.receive(1_700, 1, 100).receive(1_800, 1, 400);
    let mut server = log(20, "nginx");
    accept(&mut server, 200, 7, 12, SERVER, CLIENT);
    server.receive(1_100, 7, 150).receive(1_200, 7, 60).send(1_500, 7, 500);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        ["curl => nginx 210/2 1000..1001 1100..1200", "nginx -> curl 500 1500 1700..1800"]
    );
    assert_eq!(
        outcome.endpoints(),
        [format!("{CLIENT} > {SERVER}"), format!("{SERVER} > {CLIENT}")]
    );
    assert_eq!(outcome.flows(), [0, 0]);
    assert_eq!(outcome.counts.both_ends, 2);
    assert_eq!(outcome.counts.stream_bytes.matched, 710);
    assert_eq!(outcome.trace.message(MessageId::from_index(0)).src_tid, Some(10));
    assert_eq!(outcome.trace.message(MessageId::from_index(1)).dst_tid, Some(10));
    assert_eq!(outcome.counts.processes, 2);
}

#[test]
fn turns_and_pauses_separate_messages() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    let mut server = log(20, "server");
    accept(&mut server, 200, 1, 12, SERVER, CLIENT);
    for turn in 0..3 {
        let at = 1_000 * (turn + 1);
        client.send(at, 1, 5);
        server.receive(at + 10, 1, 5).send(at + 20, 1, 1).send(at + 30, 1, 2);
        client.receive(at + 40, 1, 3);
    }
    client.send(10_000, 1, 1).send(200_000_000, 1, 1);
    server.receive(200_000_100, 1, 2);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    let lines = outcome.lines();
    assert_eq!(lines.len(), 8);
    assert_eq!(
        lines[..2],
        ["client => server 5 1000 1010", "server -> client 3/2 1020..1030 1040"]
    );
    assert_eq!(
        lines[6..],
        ["client => server 1 10000 200000100", "client => server 1 200000000 200000100"]
    );
}

#[test]
fn a_server_reached_by_another_name_keeps_its_own() {
    let system = System::new();
    let (service, real) = ("10.9.9.9:80", "10.0.1.1:8080");
    let mut client = log(10, "client");
    let mut server = log(20, "server");
    for flow in 1..=6 {
        let at = 100_000 * u64::from(flow * flow);
        let (mine, cookie) = (format!("10.0.0.1:{}", 40_000 + flow), u64::from(flow));
        connect(&mut client, at, flow, cookie, &mine, service);
        client.send(at + 10, flow, 200).receive(at + 90, flow, 900).close(at + 100, flow);
        accept(
            &mut server,
            at + 5,
            flow,
            50 + cookie,
            real,
            &format!("10.8.8.8:{}", 40_000 + flow),
        );
        server.receive(at + 20, flow, 200).send(at + 70, flow, 900).close(at + 95, flow);
    }
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(outcome.trace.nodes.len(), 2);
    assert_eq!(outcome.lines()[0], "client => server 200 100010 100020");
    assert_eq!(outcome.endpoints()[0], format!("10.0.0.1:40001 > {real}"));
    assert_eq!((outcome.counts.both_ends, outcome.counts.unmatched_streams.len()), (12, 0));
    let found = &outcome.counts.translations;
    let names: Vec<_> =
        found.iter().map(|found| (found.from.as_str(), found.to.as_str(), found.flows)).collect();
    assert_eq!(names, [(service, real, 6), ("10.0.0.1", "10.8.8.8", 6)]);
    assert!(found.iter().all(|found| found.confidence >= 0.8), "{found:?}");

    let alone = system.reconcile_with(&Options { translation: None, ..Options::default() });
    assert_eq!(alone.trace.nodes.len(), 9);
    assert_eq!(
        (alone.counts.both_ends, alone.counts.unmatched_streams["peer not traced"]),
        (0, 12)
    );
    assert!(alone.counts.translations.is_empty());
}

#[test]
fn an_untraced_server_is_one_node_for_all_its_clients() {
    let system = System::new();
    for (pid, port) in [(10, 40_000), (11, 40_001)] {
        let mut client = log(pid, "app");
        connect(&mut client, 100, 1, u64::from(pid), &format!("10.0.0.1:{port}"), SERVER);
        client.send(1_000, 1, 10).send(1_001, 1, 10).receive(2_000, 1, 7);
        system.add("one", &port.to_string(), &client);
    }
    let outcome = system.reconcile();
    let lines = ["app => 10.0.0.2:80 20/2 1000..1001 -", "10.0.0.2:80 -> app 7 - 2000"];
    assert_eq!(outcome.lines(), [lines[0], lines[0], lines[1], lines[1]]);
    assert_eq!(outcome.trace.nodes.len(), 3);
    let node = outcome.trace.nodes.get(message_trace::NodeId::from_index(2)).unwrap();
    assert_eq!((node.host.as_str(), node.traced, node.pid), ("10.0.0.2", false, None));
    assert_eq!(outcome.counts.unmatched_streams["peer not traced"], 2);
    assert_eq!(outcome.counts.send_only["peer not traced"], 2);
    assert_eq!(outcome.counts.receive_only["peer not traced"], 2);
}

#[test]
fn each_untraced_client_is_a_node() {
    let system = System::new();
    let mut server = log(20, "nginx");
    server.flow(1, 1, TCP, FlowOrigin::Socket, 5);
    for (flow, client) in [(2, "10.0.0.9:1000"), (3, "10.0.0.9:1001")] {
        accept(&mut server, 200, flow, u64::from(flow), SERVER, client);
        server.receive(1_000 + u64::from(flow), flow, 10).send(2_000 + u64::from(flow), flow, 20);
    }
    let outcome = system.add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "10.0.0.9 => nginx 10 - 1002",
            "10.0.0.9 => nginx 10 - 1003",
            "nginx -> 10.0.0.9 20 2002 -",
            "nginx -> 10.0.0.9 20 2003 -"
        ]
    );
    assert_eq!(outcome.trace.nodes.len(), 3);
    assert_eq!(outcome.flows(), [0, 1, 0, 1]);
}

#[test]
fn a_child_works_on_the_connection_its_parent_accepted() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 10).receive(2_000, 1, 20);
    let mut parent = log(20, "master");
    accept(&mut parent, 200, 4, 12, SERVER, CLIENT);
    parent.close(300, 4);
    let mut child = log(21, "worker");
    found(&mut child, 250, 1, TCP, 12);
    child.receive(1_100, 1, 10).send(1_900, 1, 20);
    let outcome = system
        .add("one", "a", &client)
        .add("one", "b", &parent)
        .add("one", "c", &child)
        .reconcile();
    assert_eq!(outcome.lines(), ["client => worker 10 1000 1100", "worker -> client 20 1900 2000"]);
    assert_eq!(outcome.endpoints()[0], format!("{CLIENT} > {SERVER}"));
}

#[test]
fn a_stream_read_by_two_processes_is_one_stream() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 10).send(1_010, 1, 10).send(1_020, 1, 10);
    let mut parent = log(20, "master");
    accept(&mut parent, 200, 4, 12, SERVER, CLIENT);
    parent.receive(1_100, 4, 10).receive(1_300, 4, 10);
    let mut child = log(21, "worker");
    found(&mut child, 250, 1, TCP, 12);
    child.receive(1_200, 1, 10);
    let outcome = system
        .add("one", "a", &client)
        .add("one", "b", &parent)
        .add("one", "c", &child)
        .reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "client => master 10 1000 1100",
            "client => worker 10 1010 1200",
            "client => master 10 1020 1300"
        ]
    );
}

#[test]
fn prefork_workers_accept_on_one_listening_socket() {
    let system = System::new();
    let mut master = log(20, "master");
    master.flow(1, 1, TCP, FlowOrigin::Socket, 5);
    master.endpoints(2, 1, FlowRole::Listen, &crate::common::address("0.0.0.0:80"), &[], 0);
    system.add("one", "m", &master);
    for (pid, port) in [(21, 40_001u32), (22, 40_002)] {
        let peer = format!("10.0.0.1:{port}");
        let mut client = log(pid + 10, "client");
        connect(&mut client, 100, 1, u64::from(port), &peer, SERVER);
        client.send(1_000, 1, 10);
        let mut worker = log(pid, &format!("worker{pid}"));
        found(&mut worker, 50, 1, TCP, 5);
        accept(&mut worker, 200, 2, u64::from(port) + 100, SERVER, &peer);
        worker.receive(1_000 + u64::from(pid), 2, 10);
        system.add("one", &format!("c{pid}"), &client).add("one", &format!("w{pid}"), &worker);
    }
    let outcome = system.reconcile();
    assert_eq!(
        outcome.lines(),
        ["client => worker21 10 1000 1021", "client => worker22 10 1000 1022"]
    );
}

#[test]
fn a_reused_port_is_another_connection() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    for turn in 0..3u32 {
        let at = u64::from(turn) * 10_000;
        connect(&mut client, at + 100, turn + 1, u64::from(turn) + 1, CLIENT, SERVER);
        client.send(at + 1_000, turn + 1, 10 + u64::from(turn)).close(at + 2_000, turn + 1);
        // The second was never accepted.
        if turn != 1 {
            accept(&mut server, at + 200, turn + 1, u64::from(turn) + 10, SERVER, CLIENT);
            server.receive(at + 1_100, turn + 1, 10 + u64::from(turn));
        }
    }
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "client => server 10 1000 1100",
            "client => 10.0.0.2:80 11 11000 -",
            "client => server 12 21000 21100"
        ]
    );
    assert_eq!(outcome.flows(), [0, 1, 2]);
}

#[test]
fn a_mapped_address_is_the_one_it_stands_for() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 10);
    let mut server = log(20, "server");
    server.flow(200, 1, TCP6, FlowOrigin::Accept, 12);
    let (local, peer) =
        (mapped_address(SERVER.parse().unwrap()), mapped_address(CLIENT.parse().unwrap()));
    server.endpoints(200, 1, FlowRole::Accept, &local, &peer, 0).receive(1_100, 1, 10);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(outcome.lines(), ["client => server 10 1000 1100"]);
    assert_eq!(outcome.endpoints(), [format!("{CLIENT} > {SERVER}")]);
}

#[test]
fn roles_of_sockets_only_found_in_use_follow_from_the_ports() {
    let system = System::new();
    for (role, listening) in [("listener", true), ("lower port", false)] {
        let (low, high) =
            if listening { ("10.0.0.1:80", "10.0.0.2:4000") } else { (SERVER, CLIENT) };
        let (serving, client) = if listening { (high, low) } else { (low, high) };
        let mut server = log(20, "server");
        if listening {
            server.flow(1, 9, TCP, FlowOrigin::Socket, 99);
            server.endpoints(
                2,
                9,
                FlowRole::Listen,
                &crate::common::address("0.0.0.0:4000"),
                &[],
                0,
            );
        }
        server.flow(200, 1, TCP, FlowOrigin::Found, 12);
        server.endpoints(
            200,
            1,
            FlowRole::Unknown,
            &crate::common::address(serving),
            &crate::common::address(client),
            0,
        );
        server.send(1_000, 1, 10);
        let mut other = log(10, "client");
        other.flow(200, 1, TCP, FlowOrigin::Found, 11);
        other.endpoints(
            200,
            1,
            FlowRole::Unknown,
            &crate::common::address(client),
            &crate::common::address(serving),
            0,
        );
        other.receive(1_100, 1, 10);
        let outcome = system.add("one", "b", &server).add("one", "a", &other).reconcile();
        assert_eq!(outcome.lines(), ["server -> client 10 1000 1100"], "{role}");
    }
}

#[test]
fn an_early_close_leaves_an_unread_message() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 10).send(1_010, 1, 10);
    let mut server = log(20, "server");
    accept(&mut server, 200, 1, 12, SERVER, CLIENT);
    server.receive(1_100, 1, 10);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(outcome.lines(), ["client => server 10 1000 1100", "client => server 10 1010 -"]);
    assert_eq!(outcome.counts.stream_bytes.sent_only, 10);
    assert_eq!(outcome.counts.send_only["not read by the receiver"], 1);
}

#[test]
fn a_connection_that_was_not_accepted_is_counted_as_such() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, "127.0.0.1:40000", "127.0.0.1:80");
    client.send(1_000, 1, 10);
    let mut server = log(20, "server");
    server.flow(1, 1, TCP, FlowOrigin::Socket, 5);
    server.endpoints(2, 1, FlowRole::Listen, &crate::common::address("0.0.0.0:80"), &[], 0);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(outcome.lines(), ["client => 127.0.0.1:80 10 1000 -"]);
    assert_eq!(outcome.counts.unmatched_streams["not accepted"], 1);
    assert_eq!(outcome.counts.send_only["not accepted"], 1);
}

#[test]
fn a_flow_that_its_log_does_not_describe_is_counted() {
    let system = System::new();
    let mut client = log(10, "client");
    client.send(1_000, 1, 10).receive(1_001, 1, 10);
    client
        .flow(1, 2, SocketParameters { domain: 16, kind: 3, protocol: 0 }, FlowOrigin::Socket, 5)
        .send(1_002, 2, 9);
    let outcome = system.add("one", "a", &client).reconcile();
    assert_eq!(outcome.lines(), Vec::<String>::new());
    assert_eq!(outcome.counts.ignored["flow not described in its log"], 2);
    assert_eq!(outcome.counts.ignored["address family 16"], 1);
}

#[test]
fn equal_logs_give_equal_files() {
    let read = || {
        let system = System::new();
        for pid in 10..14 {
            let mut client = log(pid, "app");
            let local = format!("10.0.0.1:{}", 40_000 + pid);
            connect(&mut client, 100, 1, u64::from(pid), &local, SERVER);
            client.send(1_000, 1, 10).receive(2_000, 1, 7);
            system.add("one", &pid.to_string(), &client);
        }
        system.reconcile();
        let data = system.data();
        [data.messages_path(), data.nodes_path(), data.reconciliation_path(), data.clocks_path()]
            .map(|p| std::fs::read(p).unwrap())
    };
    assert_eq!(read(), read());
}

/// Cuts `total` bytes into calls at the given sizes, over and over.
fn cut(total: u64, sizes: &[u64]) -> Vec<u64> {
    let mut left = total;
    let mut calls = Vec::new();
    for size in sizes.iter().cycle() {
        if left == 0 {
            break;
        }
        calls.push(left.min(*size));
        left -= left.min(*size);
    }
    calls
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A conversation in turns: however each turn is cut into writes and reads, it is one message,
    /// with the times of its first and last write and read; and no byte is lost.
    #[test]
    fn every_turn_of_a_conversation_is_one_message(
        turns in prop::collection::vec(
            (1u64..5_000, prop::collection::vec(100u64..2_000, 1..4), prop::collection::vec(100u64..2_000, 1..4)),
            1..12,
        ),
        clock in -1_000_000_000i64..1_000_000_000,
    ) {
        let (mut client, mut server) = (log(10, "client"), LogWriter::new("two", 20, "/bin/server"));
        // The server is on another machine with a clock that is off by up to a second.
        server.set_boot(9).set_epoch(EPOCH + clock);
        connect(&mut client, 100, 1, 11, CLIENT, SERVER);
        accept(&mut server, 200, 1, 12, SERVER, CLIENT);
        let mut at = 1_000;
        let mut expected = Vec::new();
        for (turn, (bytes, writes, reads)) in turns.iter().enumerate() {
            let (from, to) = if turn % 2 == 0 { (&mut client, &mut server) } else { (&mut server, &mut client) };
            let mut times = [Vec::new(), Vec::new()];
            for bytes in cut(*bytes, writes) {
                from.send(at, 1, bytes);
                times[0].push(at);
                at += 10;
            }
            for bytes in cut(*bytes, reads) {
                to.receive(at, 1, bytes);
                times[1].push(at);
                at += 10;
            }
            let ends = [0, 1].map(|side: usize| {
                let at_server = side != turn % 2;
                let shift = EPOCH + if at_server { clock } else { 0 };
                times[side].first().zip(times[side].last()).map(|(a, b)| (*a as i64 + shift, *b as i64 + shift))
            });
            expected.push((turn as i8 % 2, *bytes as i64, ends[0], ends[1]));
        }
        let outcome = System::new().add("one", "a", &client).add("two", "b", &server).reconcile();
        let mut found: Vec<_> = outcome
            .trace
            .messages()
            .map(|m| {
                (m.direction, m.bytes, m.send_first.zip(m.send_last), m.recv_first.zip(m.recv_last))
            })
            .collect();
        // In the order of the client's clock.
        found.sort_by_key(|(direction, _, sent, received)| if *direction == 0 { *sent } else { *received });
        prop_assert_eq!(found, expected);
    }
}
