//! Machines of sockets: machines and network namespaces have loopback addresses of their own.

use socket_log::encode::{FlowOrigin, FlowRole};
use socket_log::write::{LogWriter, TCP};

use crate::common::{System, accept, address, connect, log};

#[test]
fn loopback_addresses_are_each_machines_own() {
    let system = System::new();
    let (here, there) = ("127.0.0.1:40000", "127.0.0.1:80");
    for (host, boot) in [("one", 1), ("two", 2)] {
        let mut client = LogWriter::new(host, 10, &format!("/bin/client-{host}"));
        client.set_boot(boot);
        connect(&mut client, 100, 1, 11, here, there);
        client.send(1_000, 1, 10);
        let mut server = LogWriter::new(host, 20, &format!("/bin/server-{host}"));
        server.set_boot(boot);
        accept(&mut server, 200, 1, 12, there, here);
        server.receive(1_100, 1, 10);
        system.add(host, "a", &client).add(host, "b", &server);
    }
    assert_eq!(
        system.reconcile().lines(),
        ["client-one => server-one 10 1000 1100", "client-two => server-two 10 1000 1100"]
    );
}

#[test]
fn loopback_connections_do_not_cross_machines() {
    let system = System::new();
    let (here, there) = ("127.0.0.1:40000", "127.0.0.1:80");
    let mut client = LogWriter::new("one", 10, "/bin/client");
    client.set_boot(1);
    connect(&mut client, 100, 1, 11, here, there);
    client.send(1_000, 1, 10);
    let mut server = LogWriter::new("two", 20, "/bin/server");
    server.set_boot(2);
    accept(&mut server, 200, 1, 12, there, here);
    server.receive(1_100, 1, 10);
    let outcome = system.add("one", "a", &client).add("two", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        ["client => 127.0.0.1:80 10 1000 -", "127.0.0.1 => server 10 - 1100"]
    );
    assert_eq!(outcome.flows(), [0, 1]);
}

#[test]
fn two_hosts_of_one_machine_share_its_loopback() {
    let system = System::new();
    let (here, there) = ("127.0.0.1:40000", "127.0.0.1:80");
    let mut client = LogWriter::new("one", 10, "/bin/client");
    connect(&mut client, 100, 1, 11, here, there);
    client.send(1_000, 1, 10);
    let mut server = LogWriter::new("two", 20, "/bin/server");
    accept(&mut server, 200, 1, 12, there, here);
    server.receive(1_100, 1, 10);
    let outcome = system.add("one", "a", &client).add("two", "b", &server).reconcile();
    assert_eq!(outcome.lines(), ["client => server 10 1000 1100"]);
}

#[test]
fn network_namespaces_of_one_kernel_have_loopback_addresses_of_their_own() {
    let system = System::new();
    let (here, there) = ("127.0.0.1:40000", "127.0.0.1:80");
    for namespace in [1u32, 2] {
        let mut client = log(10 + namespace, &format!("client{namespace}"));
        client.set_namespace(u64::from(namespace));
        connect(&mut client, 100, 1, 10 + u64::from(namespace), here, there);
        client.send(1_000 + u64::from(namespace), 1, 10);
        let mut server = log(20 + namespace, &format!("server{namespace}"));
        server.set_namespace(u64::from(namespace));
        accept(&mut server, 200, 1, 20 + u64::from(namespace), there, here);
        server.receive(1_100, 1, 10);
        system.add("one", &format!("c{namespace}"), &client).add(
            "one",
            &format!("s{namespace}"),
            &server,
        );
    }
    assert_eq!(
        system.reconcile().lines(),
        ["client1 => server1 10 1001 1100", "client2 => server2 10 1002 1100"]
    );
}

/// A server that accepts a connection and has it served by a process in a network namespace of its
/// own, which only found it. The kernel reports the sockets' namespace, or not.
fn served_elsewhere(namespace: u64) -> Vec<LogWriter> {
    let (here, there) = ("127.0.0.1:40000", "127.0.0.1:21");
    let mut client = log(10, "client");
    connect(client.set_namespace(7).sockets_in(namespace), 100, 1, 11, here, there);
    client.send(1_000, 1, 5).receive(1_300, 1, 6);
    let mut server = log(20, "server");
    accept(server.set_namespace(7).sockets_in(namespace), 110, 1, 12, there, here);
    let mut child = log(21, "child");
    child.set_namespace(8).sockets_in(namespace).flow(200, 1, TCP, FlowOrigin::Found, 12);
    child.endpoints(200, 1, FlowRole::Unknown, &address(there), &address(here), 0);
    child.receive(1_100, 1, 5).send(1_200, 1, 6);
    vec![client, server, child]
}

#[test]
fn a_socket_stays_where_it_was_made_wherever_its_users_are() {
    // The kernel reports the namespace of sockets, or is too old to do so.
    for namespace in [900, 0] {
        let system = System::new();
        for (log, name) in served_elsewhere(namespace).iter().zip(["a", "b", "c"]) {
            system.add("one", name, log);
        }
        let lines = system.reconcile().lines();
        assert_eq!(
            lines,
            ["client => child 5 1000 1100", "child -> client 6 1200 1300"],
            "{namespace}"
        );
    }
}

#[test]
fn a_socket_is_placed_in_its_namespace_without_its_maker() {
    let system = System::new();
    let logs = served_elsewhere(900);
    let lines = system.add("one", "a", &logs[0]).add("one", "c", &logs[2]).reconcile().lines();
    assert_eq!(lines, ["client => child 5 1000 1100", "child -> client 6 1200 1300"]);
    // The process knows its own namespace only.
    let system = System::new();
    let logs = served_elsewhere(0);
    let outcome = system.add("one", "a", &logs[0]).add("one", "c", &logs[2]).reconcile();
    assert_eq!(outcome.counts.both_ends, 0);
}

#[test]
fn numbers_counted_per_namespace_are_of_different_sockets() {
    // On an older kernel: two namespaces have given the same number to a socket that was made in
    // each.
    let system = System::new();
    for (log, name) in served_elsewhere(0).iter().zip(["a", "b", "c"]) {
        system.add("one", name, log);
    }
    let mut other = log(30, "other");
    connect(other.set_namespace(8), 100, 1, 11, "10.0.0.1:1", "10.0.0.2:2");
    let outcome = system.add("one", "d", &other).reconcile();
    assert_eq!(outcome.counts.both_ends, 0, "{:?}", outcome.lines());
}
