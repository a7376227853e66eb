//! Setup times of connections on which the client speaks first: only the first message carries
//! them.

use socket_log::encode::FlowOrigin;
use socket_log::write::{EPOCH, LogWriter, TCP};

use crate::common::{Outcome, System, accept, address, found, log};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:80";

/// A client that called `connect` at 60; the call returned at 100, with the connection or
/// `under_way`. It sends two requests.
fn client(under_way: bool) -> LogWriter {
    let mut client = log(10, "client");
    client.flow(50, 1, TCP, FlowOrigin::Socket, 11);
    let names: [&[u8]; 2] = [&address(CLIENT), &address(SERVER)];
    match under_way {
        true => client.endpoints_connecting(100, 1, 40, names, 0),
        false => client.endpoints_connected(100, 1, 40, names, 0),
    };
    client.send(300, 1, 30).receive(900, 1, 10).send(1000, 1, 30).receive(1900, 1, 10);
    client
}

/// A server that accepted then, on the host of that name, with a clock that is that far ahead.
fn server(host: &str, ahead: u64, accepted: u64) -> LogWriter {
    let mut server = LogWriter::new(host, 20, "/usr/bin/nginx");
    accept(&mut server, ahead + accepted, 7, 12, SERVER, CLIENT);
    server.receive(ahead + 600, 7, 30).send(ahead + 700, 7, 10);
    server.receive(ahead + 1600, 7, 30).send(ahead + 1700, 7, 10);
    server
}

/// Begin and end of the setup in each message.
fn setups_of_messages(outcome: &Outcome) -> Vec<Option<(i64, i64)>> {
    outcome.trace.messages().map(|m| m.connect.map(|c| (c.begin - EPOCH, c.end - EPOCH))).collect()
}

#[test]
fn the_first_message_carries_the_call_and_its_return() {
    let system = System::new();
    system.add("one", "a", &client(false)).add("one", "b", &server("one", 0, 200));
    let outcome = system.reconcile();
    assert_eq!(setups_of_messages(&outcome), [Some((60, 100)), None, None, None]);
    // There is no further message for it.
    assert_eq!((outcome.trace.len(), outcome.counts.connects), (4, 0));
    // The client's end alone is enough, and the server's alone carries nothing.
    let alone = System::new().add("one", "a", &client(false)).reconcile();
    assert_eq!(setups_of_messages(&alone), [Some((60, 100)), None, None, None]);
    let alone = System::new().add("one", "b", &server("one", 0, 200)).reconcile();
    assert_eq!(setups_of_messages(&alone), [None; 4]);
}

#[test]
fn a_nonblocking_call_ends_when_the_other_end_accepts_or_gets_a_request() {
    let of = |accepted| {
        let system = System::new();
        let server = server("one", 0, accepted);
        setups_of_messages(
            &system.add("one", "a", &client(true)).add("one", "b", &server).reconcile(),
        )[0]
    };
    assert_eq!(of(200), Some((60, 200)));
    assert_eq!(of(500), Some((60, 300)), "it was asked before it accepted");
    let alone = System::new().add("one", "a", &client(true)).reconcile();
    assert_eq!(setups_of_messages(&alone)[0], Some((60, 300)));
}

#[test]
fn a_later_call_may_find_the_connection_established() {
    let mut client = log(10, "client");
    client.flow(50, 1, TCP, FlowOrigin::Socket, 11);
    client.endpoints_connecting(100, 1, 40, [&address(CLIENT), &address(SERVER)], 0);
    client.endpoints_connected(150, 1, 2, [&address(CLIENT), &address(SERVER)], 0);
    client.send(300, 1, 30).receive(900, 1, 10);
    let outcome = System::new().add("one", "a", &client).reconcile();
    assert_eq!(setups_of_messages(&outcome)[0], Some((60, 150)));
}

#[test]
fn different_clocks_are_converted_to_the_senders() {
    const HOUR: u64 = 3_600_000_000_000;
    let system = System::new();
    system.add("one", "a", &client(true)).add("two", "b", &server("two", HOUR, 200));
    let (begin, end) = setups_of_messages(&system.reconcile())[0].unwrap();
    // As exactly as the messages allow: they took 300 and 200.
    assert!(begin == 60 && (100..=300).contains(&end), "{begin} {end}");
}

#[test]
fn a_first_speaker_in_another_process_did_not_connect() {
    let mut child = log(30, "child");
    found(&mut child, 240, 4, TCP, 11);
    child.send(300, 4, 30).receive(900, 4, 10);
    let mut client = log(10, "client");
    client.flow(50, 1, TCP, FlowOrigin::Socket, 11);
    client.endpoints_connected(100, 1, 40, [&address(CLIENT), &address(SERVER)], 0);
    let system = System::new();
    system.add("one", "a", &client).add("one", "c", &child).add("one", "b", &server("one", 0, 200));
    assert!(setups_of_messages(&system.reconcile()).iter().all(Option::is_none));
}

#[test]
fn if_the_server_speaks_first_the_setup_is_a_message() {
    let mut client = log(10, "client");
    client.flow(50, 1, TCP, FlowOrigin::Socket, 11);
    client.endpoints_connected(100, 1, 40, [&address(CLIENT), &address(SERVER)], 0);
    client.receive(400, 1, 70).send(500, 1, 30);
    let outcome = System::new().add("one", "a", &client).reconcile();
    assert_eq!((outcome.counts.connects, setups_of_messages(&outcome)), (1, vec![None; 3]));
}

#[test]
fn a_log_without_the_time_of_the_call_has_no_setup() {
    let mut client = log(10, "client");
    client.flow(50, 1, TCP, FlowOrigin::Socket, 11);
    client.endpoints(
        100,
        1,
        socket_log::encode::FlowRole::Connect,
        &address(CLIENT),
        &address(SERVER),
        0,
    );
    client.send(300, 1, 30).receive(900, 1, 10);
    assert_eq!(setups_of_messages(&System::new().add("one", "a", &client).reconcile()), [None; 2]);
}
