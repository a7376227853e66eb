//! Datagrams through address translation: the destination is rewritten on the way, or the source,
//! or both.

use reconcile::{Options, TranslatedEnd};
use socket_log::encode::{DatagramRecord, Direction};
use socket_log::write::LogWriter;

use crate::common::{Outcome, System, bind, datagram, log, receive_from, send_to};

const CLIENT: &str = "10.0.0.1:40000";
/// Name of the server in the client's view.
const SERVICE: &str = "172.20.0.10:53";
const SERVER: &str = "10.1.0.2:5353";
/// Name of the client in the server's view, if the source is rewritten.
const GATEWAY: &str = "172.20.0.1:61000";

/// A client and a server, each bound to its address.
fn pair(server: &str) -> (LogWriter, LogWriter) {
    let (mut one, mut other) = (log(10, "client"), log(20, "server"));
    bind(&mut one, 100, 1, 11, CLIENT);
    bind(&mut other, 50, 1, 12, server);
    (one, other)
}

/// Each on a host of its own.
fn reconcile(client: &LogWriter, server: &LogWriter) -> Outcome {
    System::new().add("one", "a", client).add("two", "b", server).reconcile()
}

/// Request and answer number `content`; `from` is the client's name in the server's view.
fn exchange(client: &mut LogWriter, server: &mut LogWriter, content: u32, from: &str) {
    let at = 1_000 * u64::from(content);
    send_to(client, 1, at, content, SERVICE);
    receive_from(server, 1, at + 100, content, from);
    send_to(server, 1, at + 200, 100 + content, from);
    receive_from(client, 1, at + 300, 100 + content, SERVICE);
}

fn translations(outcome: &Outcome) -> Vec<String> {
    let all = outcome.counts.translations.iter();
    all.map(|found| {
        let how = if found.end == TranslatedEnd::Destination { "leads to" } else { "is seen as" };
        assert!(found.confidence >= 0.9, "{found:?}");
        format!("{} {how} {}, {}", found.from, found.to, found.flows)
    })
    .collect()
}

#[test]
fn both_ends_are_rewritten() {
    let (mut client, mut server) = pair(SERVER);
    for content in 1..=3 {
        exchange(&mut client, &mut server, content, GATEWAY);
    }
    // A request is lost on its way.
    send_to(&mut client, 1, 9_000, 9, SERVICE);
    let outcome = reconcile(&client, &server);
    let expected: Vec<String> = (1..=3)
        .flat_map(|content| {
            let at = 1_000 * content;
            [
                format!("client => server 100 {at} {}", at + 100),
                format!("server -> client 100 {} {}", at + 200, at + 300),
            ]
        })
        .chain(["client => 172.20.0.10:53 100 9000 -".to_owned()])
        .collect();
    assert_eq!(outcome.lines(), expected);
    // Each has its own name.
    let (forth, back) = (format!("{CLIENT} > {SERVER}"), format!("{SERVER} > {CLIENT}"));
    assert_eq!(outcome.endpoints()[..2], [forth, back]);
    assert_eq!(
        translations(&outcome),
        ["172.20.0.10:53 leads to 10.1.0.2:5353, 1", "10.0.0.1 is seen as 172.20.0.1, 1"]
    );
    let counts = outcome.counts.datagrams;
    assert_eq!((counts.sent, counts.received, counts.matched), (7, 6, 6));
    assert_eq!(outcome.counts.send_only["peer not traced"], 1);
}

/// The answer goes straight to the client's own name, but the client sees it come from the service.
#[test]
fn only_the_destination_is_rewritten() {
    let (mut client, mut server) = pair(SERVER);
    for content in 1..=2 {
        exchange(&mut client, &mut server, content, CLIENT);
    }
    let outcome = reconcile(&client, &server);
    assert_eq!(outcome.counts.both_ends, 4, "{:?}", outcome.lines());
    assert_eq!(outcome.counts.datagrams.lost, 0);
    assert_eq!(translations(&outcome), ["172.20.0.10:53 leads to 10.1.0.2:5353, 1"]);
}

/// Each request from a socket of its own, to a server that is bound to all addresses.
#[test]
fn each_request_from_another_socket() {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    bind(&mut server, 50, 1, 12, "0.0.0.0:5353");
    for content in 1..=3u32 {
        let (at, flow) = (1_000 * u64::from(content), content);
        bind(
            &mut client,
            at - 10,
            flow,
            100 + u64::from(content),
            &format!("10.0.0.1:{}", 40_000 + content),
        );
        send_to(&mut client, flow, at, content, SERVICE);
        receive_from(
            &mut server,
            1,
            at + 100,
            content,
            &format!("172.20.0.1:{}", 61_000 + content),
        );
    }
    let outcome = reconcile(&client, &server);
    assert_eq!(outcome.counts.both_ends, 3, "{:?}", outcome.lines());
    assert_eq!(translations(&outcome)[1..], ["10.0.0.1 is seen as 172.20.0.1, 3"]);
}

/// Once two contents have shown where the name leads, equal ones are matched in order.
#[test]
fn equal_contents_follow_a_known_translation() {
    let (mut client, mut server) = pair(SERVER);
    for (at, content) in [(1_000, 1), (2_000, 2), (3_000, 7), (4_000, 7), (5_000, 7)] {
        send_to(&mut client, 1, at, content, SERVICE);
        receive_from(&mut server, 1, at + 100, content, GATEWAY);
    }
    let expected: Vec<String> =
        (1..=5).map(|at| format!("client => server 100 {}000 {}100", at, at)).collect();
    assert_eq!(reconcile(&client, &server).lines(), expected);
}

/// Two clients send equal contents to one name of the server: the names that the server sees
/// distinguish them.
#[test]
fn equal_contents_of_two_clients_are_distinguished() {
    let (mut first, mut second, mut server) =
        (log(10, "first"), log(11, "second"), log(20, "server"));
    bind(&mut first, 100, 1, 11, "10.0.0.1:40000");
    bind(&mut second, 100, 1, 13, "10.0.0.2:40000");
    bind(&mut server, 50, 1, 12, SERVER);
    // The second is received first, so that its name comes first.
    let seen = ["172.20.0.1:61002", "172.20.0.1:61001"];
    for (at, content) in [(1_000, 1), (2_000, 2), (3_000, 7), (4_000, 7)] {
        for (which, client) in [(0, &mut second), (1, &mut first)] {
            let (at, content) =
                (at + 10 * which, if content < 7 { content + 10 * which as u32 } else { 7 });
            send_to(client, 1, at, content, SERVICE);
            receive_from(&mut server, 1, at + 100, content, seen[which as usize]);
        }
    }
    let system = System::new();
    system.add("one", "a", &first).add("three", "b", &second).add("two", "c", &server);
    let lines = system.reconcile().lines();
    let expected: Vec<String> = [1_000, 2_000, 3_000, 4_000]
        .into_iter()
        .flat_map(|at| {
            let line = |name: &str, at: u64| format!("{name} => server 100 {at} {}", at + 100);
            [line("second", at), line("first", at + 10)]
        })
        .collect();
    assert_eq!(lines, expected);
}

/// One content is not enough: a datagram to an untraced peer and one from an untraced peer may look
/// alike.
#[test]
fn a_chance_equality_is_not_a_translation() {
    let (mut client, mut server) = pair(SERVER);
    send_to(&mut client, 1, 1_000, 1, SERVICE);
    receive_from(&mut server, 1, 1_100, 1, GATEWAY);
    // Nor are many short contents.
    let (to, from) = (crate::common::address(SERVICE), crate::common::address(GATEWAY));
    for content in 10..20 {
        let short = |direction, at, peer| DatagramRecord {
            bytes: 4,
            ..datagram(direction, 1, at, content, peer)
        };
        client.datagram(&short(Direction::Send, 2_000 + 10 * u64::from(content), &to));
        server.datagram(&short(Direction::Receive, 2_005 + 10 * u64::from(content), &from));
    }
    let outcome = reconcile(&client, &server);
    assert_eq!((outcome.counts.both_ends, outcome.counts.translations.len()), (0, 0));
    assert_eq!(outcome.lines().len(), 22);
}

#[test]
fn translation_can_be_switched_off() {
    let (mut client, mut server) = pair(SERVER);
    for content in 1..=3 {
        exchange(&mut client, &mut server, content, GATEWAY);
    }
    let system = System::new();
    let outcome = system
        .add("one", "a", &client)
        .add("two", "b", &server)
        .reconcile_with(&Options { translation: None, ..Options::default() });
    assert_eq!((outcome.counts.both_ends, outcome.counts.translations.len()), (0, 0));
}
