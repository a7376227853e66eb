//! Streams between virtual machines and hosts, and over SCTP.

use socket_log::SocketName;
use socket_log::encode::{FlowOrigin, FlowRole};
use socket_log::write::{LogWriter, SCTP, TCP, VSOCK, inet_address, vsock_address};

use crate::common::{System, log};

/// Port of the server.
const PORT: u32 = 5000;

/// The client of a virtual machine does not know the number of its own machine.
fn connect(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, own_port: u32) {
    log.flow(at, flow, VSOCK, FlowOrigin::Socket, cookie);
    let own = vsock_address(SocketName::ANY_CID, own_port);
    log.endpoints(at + 1, flow, FlowRole::Connect, &own, &vsock_address(2, PORT), 0);
}

fn accept(log: &mut LogWriter, at: u64, flow: u32, cookie: u64, (cid, port): (u32, u32)) {
    log.flow(at, flow, VSOCK, FlowOrigin::Accept, cookie);
    log.endpoints(
        at,
        flow,
        FlowRole::Accept,
        &vsock_address(2, PORT),
        &vsock_address(cid, port),
        0,
    );
}

#[test]
fn vsock_connections_are_matched_by_ports_and_the_servers_machine() {
    let system = System::new();
    let mut server = log(20, "server");
    accept(&mut server, 200, 1, 21, (3, 1025));
    accept(&mut server, 210, 2, 22, (3, 1024));
    server.receive(1_100, 2, 5).send(1_200, 2, 7).receive(2_100, 1, 6);
    let (mut first, mut second) = (log(10, "first"), log(11, "second"));
    connect(&mut first, 100, 1, 31, 1024);
    first.send(1_000, 1, 5).receive(1_300, 1, 7);
    connect(&mut second, 110, 1, 32, 1025);
    second.send(2_000, 1, 6);
    let outcome = system
        .add("one", "a", &first)
        .add("one", "b", &second)
        .add("one", "s", &server)
        .reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "first => server 5 1000 1100",
            "server -> first 7 1200 1300",
            "second => server 6 2000 2100"
        ]
    );
    assert_eq!(outcome.endpoints()[0], "vsock:*:1024 > vsock:2:5000");
    assert_eq!(outcome.counts.messages["vsock"], 3);
}

#[test]
fn a_vsock_peer_that_is_not_recorded_is_known_by_its_machine_and_port() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 31, 1024);
    client.send(1_000, 1, 5);
    let outcome = system.add("one", "a", &client).reconcile();
    assert_eq!(outcome.lines(), ["client => vsock:2:5000 5 1000 -"]);
}

#[test]
fn sctp_and_tcp_connections_of_the_same_ports_are_two() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    let names =
        ["127.0.0.1:4000", "127.0.0.1:5000"].map(|name| inet_address(name.parse().unwrap()));
    for (flow, socket) in [(1, SCTP), (2, TCP)] {
        let at = u64::from(flow);
        client.flow(100, flow, socket, FlowOrigin::Socket, at);
        client.endpoints(101, flow, FlowRole::Connect, &names[0], &names[1], 0);
        server.flow(102, flow, socket, FlowOrigin::Accept, 10 + at);
        server.endpoints(102, flow, FlowRole::Accept, &names[1], &names[0], 0);
    }
    client.send(1_000, 1, 5).send(2_000, 2, 6);
    server.receive(1_100, 1, 5).receive(2_100, 2, 6);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(outcome.lines(), ["client => server 5 1000 1100", "client => server 6 2000 2100"]);
    assert_eq!((outcome.counts.messages["sctp"], outcome.counts.messages["tcp"]), (1, 1));
}
