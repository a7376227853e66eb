//! Connections on which the accepting side speaks first, as with databases, mail and file servers:
//! their setup is a message. On all others it is not.

use message_trace::MessageId;
use socket_log::encode::{FlowOrigin, FlowRole};
use socket_log::write::{LogWriter, TCP, UNIX_STREAM, unix_address};

use crate::common::{System, accept, address, found, log};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:3306";

/// A client that called `connect` at 60; the call returned at 100.
fn client() -> LogWriter {
    let mut client = log(10, "client");
    client.flow(50, 1, TCP, FlowOrigin::Socket, 11);
    client.endpoints_connected(100, 1, 40, [&address(CLIENT), &address(SERVER)], 0);
    client
}

/// Calls of a client that is greeted.
fn greeted(client: &mut LogWriter) {
    client.receive(400, 1, 70).send(500, 1, 30).receive(900, 1, 10);
}

/// Calls of a server that greets.
fn greets(server: &mut LogWriter) {
    server.send(300, 7, 70).receive(600, 7, 30).send(700, 7, 10);
}

#[test]
fn the_setup_lasts_from_the_call_to_connect_to_the_return_of_accept() {
    let system = System::new();
    let (mut client, mut server) = (client(), log(20, "mysqld"));
    greeted(&mut client);
    accept(server.set_thread(21), 200, 7, 12, SERVER, CLIENT);
    greets(&mut server);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "client => mysqld 0/0 60 200",
            "mysqld -> client 70 300 400",
            "client => mysqld 30 500 600",
            "mysqld -> client 10 700 900",
        ]
    );
    let [first, second] = [0, 1].map(MessageId::from_index);
    assert!(outcome.trace.is_connect(first) && !outcome.trace.is_connect(second));
    assert_eq!(outcome.flows(), [0; 4]);
    assert_eq!(outcome.endpoints()[0], format!("{CLIENT} > {SERVER}"));
    let making = outcome.trace.message(first);
    assert_eq!((making.src_tid, making.dst_tid), (Some(10), Some(21)));
    // The setup is counted apart from messages with data.
    let counts = &outcome.counts;
    assert_eq!((counts.connects, counts.total_messages(), counts.both_ends), (1, 3, 3));
}

#[test]
fn an_end_that_was_not_seen_has_no_time() {
    let system = System::new();
    let mut client = client();
    greeted(&mut client);
    let outcome = system.add("one", "a", &client).reconcile();
    assert_eq!(
        outcome.lines()[..2],
        ["client => 10.0.0.2:3306 0/0 60 -", "10.0.0.2:3306 -> client 70 - 400"]
    );
    assert!(outcome.counts.send_only.values().all(|count| *count == 1), "{:?}", outcome.counts);

    let system = System::new();
    let mut server = log(20, "mysqld");
    accept(&mut server, 200, 7, 12, SERVER, CLIENT);
    greets(&mut server);
    let outcome = system.add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines()[..2],
        ["10.0.0.1 => mysqld 0/0 - 200", "mysqld -> 10.0.0.1 70 300 -"]
    );
    assert_eq!(outcome.trace.message(MessageId::from_index(0)).src_tid, None);
    assert_eq!(outcome.counts.connects, 1);
}

#[test]
fn a_client_that_speaks_first_connects_without_a_message() {
    let system = System::new();
    let (mut client, mut server) = (client(), log(20, "nginx"));
    client.send(300, 1, 30).receive(900, 1, 10);
    accept(&mut server, 200, 7, 12, SERVER, CLIENT);
    server.receive(600, 7, 30).send(700, 7, 10);
    let both = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(both.lines(), ["client => nginx 30 300 600", "nginx -> client 10 700 900"]);
    let alone = System::new().add("one", "b", &server).reconcile();
    assert_eq!(alone.lines(), ["10.0.0.1 => nginx 30 - 600", "nginx -> 10.0.0.1 10 700 -"]);
    assert_eq!((both.counts.connects, alone.counts.connects), (0, 0));
}

#[test]
fn both_sides_may_speak_at_the_same_time() {
    // The client need not wait: the server's first message is a greeting nonetheless, as it had
    // received nothing.
    let system = System::new();
    let (mut client, mut server) = (client(), log(20, "sshd"));
    client.send(250, 1, 21).receive(400, 1, 22);
    accept(&mut server, 200, 7, 12, SERVER, CLIENT);
    server.send(300, 7, 22).receive(310, 7, 21);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines(),
        ["client => sshd 0/0 60 200", "client => sshd 21 250 310", "sshd -> client 22 300 400"]
    );
}

#[test]
fn a_log_without_the_time_of_the_call_uses_the_sockets() {
    for (opened, begin) in [(50, 50), (200_000_000, 190)] {
        // If it was opened long before it is used, the socket does not bound the setup, and the
        // connection is made when it is accepted.
        let system = System::new();
        let (mut client, mut server) = (log(10, "client"), log(20, "mysqld"));
        let at = opened.max(100) + 200_000_000 * u64::from(opened > 50);
        client.flow(opened, 1, TCP, FlowOrigin::Socket, 11);
        client.endpoints(at, 1, FlowRole::Connect, &address(CLIENT), &address(SERVER), 0);
        client.receive(at + 300, 1, 70);
        // Accept returned before connect did.
        accept(&mut server, at - 10, 7, 12, SERVER, CLIENT);
        server.send(at + 200, 7, 70);
        let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
        let begin = if opened == 50 { begin } else { at - 10 };
        assert_eq!(outcome.lines()[0], format!("client => mysqld 0/0 {begin} {}", at - 10));
    }
}

#[test]
fn the_greeting_process_is_the_end_of_the_setup() {
    // A master accepts, and a child that it starts for the connection does the rest.
    let system = System::new();
    let (mut client, mut master, mut child) = (client(), log(20, "master"), log(21, "ftpd"));
    greeted(&mut client);
    accept(&mut master, 200, 7, 12, SERVER, CLIENT);
    master.close(250, 7);
    found(&mut child, 240, 7, TCP, 12);
    greets(&mut child);
    system.add("one", "a", &client).add("one", "b", &master).add("one", "c", &child);
    let outcome = system.reconcile();
    assert_eq!(outcome.lines()[..2], ["client => ftpd 0/0 60 200", "ftpd -> client 70 300 400"]);
    assert_eq!(outcome.trace.message(MessageId::from_index(0)).dst_tid, Some(21));
}

#[test]
fn unix_sockets_are_connections_too() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "mysqld"));
    client.flow(50, 1, UNIX_STREAM, FlowOrigin::Socket, 11);
    client.endpoints_connected(100, 1, 40, [&[], &unix_address("/run/mysqld.sock")], 20);
    greeted(&mut client);
    server.flow(10, 1, UNIX_STREAM, FlowOrigin::Socket, 5);
    server.endpoints(11, 1, FlowRole::Listen, &unix_address("/run/mysqld.sock"), &[], 0);
    server.flow(200, 7, UNIX_STREAM, FlowOrigin::Accept, 12);
    server.endpoints(200, 7, FlowRole::Accept, &unix_address("/run/mysqld.sock"), &[], 10);
    greets(&mut server);
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    assert_eq!(
        outcome.lines()[..2],
        ["client => mysqld 0/0 60 200", "mysqld -> client 70 300 400"]
    );
}

#[test]
fn a_connection_found_in_use_has_no_setup() {
    let system = System::new();
    let mut server = log(20, "mysqld");
    server.flow(200, 7, TCP, FlowOrigin::Found, 12);
    server.endpoints(200, 7, FlowRole::Unknown, &address(SERVER), &address(CLIENT), 0);
    greets(&mut server);
    let outcome = system.add("one", "b", &server).reconcile();
    assert_eq!((outcome.counts.connects, outcome.lines().len()), (0, 3));
}

#[test]
fn hosts_with_different_clocks_keep_their_own_times() {
    // The server's clock is an hour ahead: the setup is converted to the common clock like any
    // message.
    const HOUR: u64 = 3_600_000_000_000;
    let system = System::new();
    let (mut client, mut server) = (client(), LogWriter::new("two", 20, "/usr/bin/mysqld"));
    greeted(&mut client);
    accept(&mut server, HOUR + 200, 7, 12, SERVER, CLIENT);
    server.send(HOUR + 300, 7, 70).receive(HOUR + 600, 7, 30).send(HOUR + 700, 7, 10);
    let outcome = system.add("one", "a", &client).add("two", "b", &server).reconcile();
    let line = format!("client => mysqld 0/0 60 {}", HOUR + 200);
    assert_eq!(outcome.lines()[0], line);
    let making = outcome.trace.message(MessageId::from_index(0));
    assert!(making.recv_ts.unwrap() - making.send_ts.unwrap() < 1_000_000, "{making:?}");
}
