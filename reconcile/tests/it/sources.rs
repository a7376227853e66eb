//! Captures of different kinds of one system: a message that two of them saw is one message.

use socket_log::encode::{FlowOrigin, FlowRole};
use socket_log::layout::source;
use socket_log::write::{LogWriter, TCP, UNIX_STREAM, unix_address};

use crate::common::{System, accept, address, bind, connect, log, receive_from, send_to};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:80";

/// A client under the library, and packets of both ends.
fn system(host: &str, epoch: i64) -> System {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 10).receive(2_000, 1, 20).close(3_000, 1);
    system.add("one", "a", &client);
    for (name, role, own, peer, sends) in [
        ("seen-client", FlowRole::Connect, CLIENT, SERVER, true),
        ("seen-server", FlowRole::Accept, SERVER, CLIENT, false),
    ] {
        let mut packets = LogWriter::new(host, 0, &format!("/{name}"));
        packets.set_source(source::PACKETS).set_boot(if sends { 8 } else { 9 }).set_epoch(epoch);
        packets.flow(150, 1, TCP, FlowOrigin::Found, 0);
        packets.endpoints(150, 1, role, &address(own), &address(peer), 0);
        if sends {
            packets.send(1_010, 1, 10).receive(1_990, 1, 20);
        } else {
            packets.receive(1_100, 1, 10).send(1_900, 1, 20);
        }
        system.add(host, name, &packets.close(3_010, 1).clone());
    }
    system
}

#[test]
fn an_end_recorded_by_the_library_is_not_duplicated_from_packets() {
    for (host, epoch) in [("one", socket_log::write::EPOCH), ("sniffer", 5_000_000_000_000)] {
        let outcome = system(host, epoch).reconcile();
        let shift = epoch - socket_log::write::EPOCH;
        assert_eq!(
            outcome.lines().into_iter().collect::<std::collections::BTreeSet<_>>(),
            [
                format!("client => seen-server 10 1000 {}", 1_100 + shift),
                format!("seen-server -> client 20 {} 2000", 1_900 + shift)
            ]
            .into(),
            "{host}"
        );
        assert_eq!(outcome.counts.seen_twice["packets"], 1);
        assert_eq!(outcome.counts.both_ends, 2);
    }
}

#[test]
fn a_later_connection_seen_only_in_packets_is_kept() {
    let system = system("one", socket_log::write::EPOCH);
    let (mut client, mut server) = (log(0, "late-client"), log(0, "late-server"));
    let at = 5_000_000_000;
    connect(&mut client, at, 1, 0, CLIENT, SERVER);
    accept(&mut server, at + 10, 1, 0, SERVER, CLIENT);
    client.set_source(source::PACKETS).send(at + 100, 1, 5);
    server.set_source(source::PACKETS).receive(at + 200, 1, 5);
    let outcome = system.add("one", "y", &client).add("one", "z", &server).reconcile();
    assert_eq!(outcome.lines().len(), 3);
    assert_eq!(outcome.lines()[2], "late-client => late-server 5 5000000100 5000000200");
    assert_eq!(outcome.counts.seen_twice["packets"], 1);
}

#[test]
fn datagrams_of_a_socket_bound_to_all_addresses_are_not_duplicated() {
    let (mut server, mut client) = (log(20, "server"), log(10, "client"));
    bind(&mut server, 50, 1, 12, "0.0.0.0:53");
    server.flow(51, 2, TCP, FlowOrigin::Accept, 13);
    server.endpoints(51, 2, FlowRole::Accept, &address("10.0.0.2:80"), &address("10.0.0.9:1"), 0);
    bind(&mut client, 60, 1, 11, CLIENT);
    send_to(&mut client, 1, 1_000, 1, "10.0.0.2:53");
    receive_from(&mut server, 1, 1_100, 1, CLIENT);
    let mut packets = LogWriter::new("one", 0, "/packets");
    packets.set_source(source::PACKETS).set_boot(9);
    bind(&mut packets, 55, 1, 0, "10.0.0.2:53");
    receive_from(&mut packets, 1, 1_050, 1, CLIENT);
    let outcome = System::new()
        .add("one", "a", &client)
        .add("one", "b", &server)
        .add("one", "p", &packets)
        .reconcile();
    assert_eq!(outcome.lines(), ["client => server 100 1000 1100"]);
    let datagrams = outcome.counts.datagrams;
    assert_eq!(
        (datagrams.received, datagrams.copies, outcome.counts.seen_twice["packets"]),
        (1, 0, 1)
    );
}

/// A log of an unrecorded program of host `one`, without the kernel's id.
fn traced(pid: u32, name: &str) -> LogWriter {
    let mut log = LogWriter::new("one", pid, &format!("/{name}"));
    log.set_source(source::STRACE).set_boot(0);
    log
}

#[test]
fn a_recorded_program_and_a_traced_one_are_on_one_machine() {
    const OWN: [&str; 2] = ["127.0.0.1:40000", "127.0.0.1:80"];
    let (mut client, mut server) = (log(10, "client"), traced(20, "server"));
    client.set_namespace(77);
    connect(&mut client, 100, 1, 11, OWN[0], OWN[1]);
    client.send(1_000, 1, 10).close(3_000, 1);
    // strace has its own ids for sockets.
    accept(&mut server, 200, 1, 11, OWN[1], OWN[0]);
    server.receive(1_100, 1, 10).close(3_000, 1);
    let system = System::new();
    system.add("one", "a", &client).add("one", "b", &server);
    assert_eq!(system.reconcile().lines(), ["client => server 10 1000 1100"]);

    // With another recorded program in another namespace, the location of the traced one is
    // unknown.
    let mut other = log(30, "other");
    other.set_namespace(78);
    let outcome = system.add("one", "c", &other).reconcile();
    assert_eq!(outcome.counts.both_ends, 0);
}

#[test]
fn unix_sockets_recorded_by_the_library_are_not_duplicated_from_strace() {
    let system = System::new();
    for (source, name) in [(source::LIBRARY, "recorded"), (source::STRACE, "traced")] {
        let program = |pid, program: &str| match source {
            source::LIBRARY => log(pid, program),
            _ => traced(pid, program),
        };
        let (mut client, mut server) = (program(10, "client"), program(20, "server"));
        for (flow, cookie) in [(1, 100), (2, 200)] {
            let id = cookie + u64::from(source);
            client.flow(100 * u64::from(flow), flow, UNIX_STREAM, FlowOrigin::Socket, id);
            client.endpoints(
                100 * u64::from(flow) + 1,
                flow,
                FlowRole::Connect,
                &unix_address(""),
                &unix_address("/s"),
                20,
            );
            server.flow(100 * u64::from(flow) + 2, flow, UNIX_STREAM, FlowOrigin::Accept, id + 7);
            server.endpoints(
                100 * u64::from(flow) + 3,
                flow,
                FlowRole::Accept,
                &unix_address("/s"),
                &unix_address(""),
                10,
            );
            client.send(1_000 * u64::from(flow), flow, 5);
            server.receive(1_000 * u64::from(flow) + 100, flow, 5);
        }
        system.add("one", &format!("{name}-client"), &client).add(
            "one",
            &format!("{name}-server"),
            &server,
        );
    }
    let outcome = system.reconcile();
    assert_eq!(outcome.lines(), ["client => server 5 1000 1100", "client => server 5 2000 2100"]);
    assert_eq!(outcome.counts.seen_twice["strace"], 4);
}
