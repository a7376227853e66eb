//! UDP and unix datagrams.

use proptest::prelude::*;
use socket_log::encode::{DatagramRecord, Direction, FlowOrigin, FlowRole, datagram_flag};
use socket_log::write::{LogWriter, UDP, UNIX_DATAGRAM, unix_address};

use crate::common::{Outcome, System, bind, datagram, log, receive_from, send_to};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:53";

/// A client and a server, each bound to its address.
fn pair() -> (LogWriter, LogWriter) {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    bind(&mut client, 100, 1, 11, CLIENT);
    bind(&mut server, 50, 1, 12, SERVER);
    (client, server)
}

fn reconcile(client: &LogWriter, server: &LogWriter) -> Outcome {
    System::new().add("one", "a", client).add("one", "b", server).reconcile()
}

#[test]
fn a_query_and_its_answer() {
    let (mut client, mut server) = pair();
    send_to(&mut client, 1, 1_000, 1, SERVER);
    receive_from(&mut server, 1, 1_100, 1, CLIENT);
    send_to(&mut server, 1, 1_200, 2, CLIENT);
    receive_from(&mut client, 1, 1_300, 2, SERVER);
    let outcome = reconcile(&client, &server);
    assert_eq!(
        outcome.lines(),
        ["client => server 100 1000 1100", "server -> client 100 1200 1300"]
    );
    assert_eq!(outcome.flows(), [0, 0]);
    let counts = outcome.counts.datagrams;
    assert_eq!((counts.sent, counts.received, counts.matched, counts.lost), (2, 2, 2, 0));
}

#[test]
fn datagrams_are_never_merged() {
    let (mut client, mut server) = pair();
    for content in 0..3 {
        send_to(&mut client, 1, 1_000 + u64::from(content), content, SERVER);
        receive_from(&mut server, 1, 1_100 + u64::from(content), content, CLIENT);
    }
    assert_eq!(reconcile(&client, &server).lines().len(), 3);
}

#[test]
fn lost_duplicated_and_overtaken_datagrams_are_distinguished() {
    let (mut client, mut server) = pair();
    for content in 1..=4 {
        send_to(&mut client, 1, 1_000 + u64::from(content), content, SERVER);
    }
    // 2 is lost, 4 overtakes 3, 1 arrives twice.
    for (at, content) in [1, 1, 4, 3].into_iter().enumerate() {
        receive_from(&mut server, 1, 1_100 + at as u64, content, CLIENT);
    }
    let outcome = reconcile(&client, &server);
    assert_eq!(
        outcome.lines(),
        [
            "client => server 100 1001 1100",
            "client => server 100 1002 -",
            "client => server 100 1003 1103",
            "client => server 100 1004 1102"
        ]
    );
    let counts = outcome.counts.datagrams;
    assert_eq!((counts.matched, counts.lost, counts.duplicated, counts.reordered), (3, 1, 1, 1));
    assert_eq!(outcome.counts.send_only["lost"], 1);
}

#[test]
fn the_repetition_of_a_lost_query_arrived() {
    let (mut client, mut server) = pair();
    send_to(&mut client, 1, 1_000, 1, SERVER);
    send_to(&mut client, 1, 9_000, 1, SERVER);
    receive_from(&mut server, 1, 9_100, 1, CLIENT);
    assert_eq!(
        reconcile(&client, &server).lines(),
        ["client => server 100 1000 -", "client => server 100 9000 9100"]
    );
}

#[test]
fn wildcard_sockets_get_the_names_their_peers_see() {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    bind(&mut client, 100, 1, 11, "0.0.0.0:40000");
    bind(&mut server, 50, 1, 12, "0.0.0.0:53");
    send_to(&mut client, 1, 1_000, 1, SERVER);
    receive_from(&mut server, 1, 1_100, 1, CLIENT);
    // A lost one between the same two, and one from somewhere else.
    send_to(&mut server, 1, 1_200, 2, CLIENT);
    receive_from(&mut server, 1, 1_300, 7, "10.0.0.7:99");
    let outcome = reconcile(&client, &server);
    assert_eq!(
        outcome.lines(),
        [
            "client => server 100 1000 1100",
            "server -> client 100 1200 -",
            "10.0.0.7 => server 100 - 1300"
        ]
    );
    assert_eq!(
        outcome.endpoints()[..2],
        [format!("{CLIENT} > {SERVER}"), format!("{SERVER} > {CLIENT}")]
    );
    assert_eq!(outcome.flows(), [0, 0, 1]);
    assert_eq!(outcome.counts.datagrams.lost, 1);
}

#[test]
fn wildcard_sockets_on_loopback_are_on_loopback() {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    bind(&mut client, 100, 1, 11, "0.0.0.0:40000");
    bind(&mut server, 50, 1, 12, "0.0.0.0:53");
    send_to(&mut client, 1, 1_000, 1, "127.0.0.1:53");
    receive_from(&mut server, 1, 1_100, 1, "127.0.0.1:40000");
    send_to(&mut client, 1, 1_200, 2, "127.0.0.1:54");
    let outcome = reconcile(&client, &server);
    assert_eq!(
        outcome.endpoints(),
        ["127.0.0.1:40000 > 127.0.0.1:53", "127.0.0.1:40000 > 127.0.0.1:54"]
    );
    assert_eq!(outcome.counts.send_only["peer not traced"], 1);
}

#[test]
fn a_connected_socket_need_not_name_its_peer() {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    client.flow(100, 1, UDP, FlowOrigin::Socket, 11);
    client.endpoints(
        110,
        1,
        FlowRole::Connect,
        &crate::common::address(CLIENT),
        &crate::common::address(SERVER),
        0,
    );
    bind(&mut server, 50, 1, 12, "0.0.0.0:53");
    client.datagram(&datagram(Direction::Send, 1, 1_000, 1, &[]));
    receive_from(&mut server, 1, 1_100, 1, CLIENT);
    send_to(&mut server, 1, 1_200, 2, CLIENT);
    client.datagram(&datagram(Direction::Receive, 1, 1_300, 2, &[]));
    let outcome = reconcile(&client, &server);
    assert_eq!(
        outcome.lines(),
        ["client => server 100 1000 1100", "server -> client 100 1200 1300"]
    );
    assert_eq!(outcome.endpoints()[1], format!("{SERVER} > {CLIENT}"));
}

#[test]
fn a_receive_that_does_not_ask_for_the_sender_is_matched_by_content() {
    let (mut client, mut server) = pair();
    send_to(&mut client, 1, 1_000, 1, SERVER);
    server.datagram(&datagram(Direction::Receive, 1, 1_100, 1, &[]));
    let outcome = reconcile(&client, &server);
    assert_eq!(outcome.lines(), ["client => server 100 1000 1100"]);
}

#[test]
fn truncated_and_peeked_datagrams() {
    let (mut client, mut server) = pair();
    send_to(&mut client, 1, 1_000, 1, SERVER);
    let peer = crate::common::address(CLIENT);
    let part = |flags, ticks| DatagramRecord {
        bytes: 40,
        flags,
        ..datagram(Direction::Receive, 1, ticks, 99, &peer)
    };
    server.datagram(&part(datagram_flag::PEEKED, 1_050));
    server.datagram(&part(datagram_flag::TRUNCATED, 1_100));
    let outcome = reconcile(&client, &server);
    assert_eq!(outcome.lines(), ["client => server 100 1000 1100"]);
    assert_eq!((outcome.counts.datagrams.peeked, outcome.counts.datagrams.truncated), (1, 1));
}

#[test]
fn an_untraced_server_is_not_a_loss() {
    let mut client = log(10, "client");
    bind(&mut client, 100, 1, 11, CLIENT);
    send_to(&mut client, 1, 1_000, 1, SERVER);
    receive_from(&mut client, 1, 1_300, 2, SERVER);
    let outcome = System::new().add("one", "a", &client).reconcile();
    assert_eq!(
        outcome.lines(),
        ["client => 10.0.0.2:53 100 1000 -", "10.0.0.2:53 -> client 100 - 1300"]
    );
    assert_eq!((outcome.counts.datagrams.lost, outcome.flows()), (0, vec![0, 0]));
}

#[test]
fn many_receivers_of_one_datagram_each_get_a_message() {
    let system = System::new();
    let mut client = log(10, "client");
    bind(&mut client, 100, 1, 11, CLIENT);
    send_to(&mut client, 1, 1_000, 1, "224.0.0.5:99");
    system.add("one", "a", &client);
    for pid in [20, 21] {
        let mut server = log(pid, &format!("server{pid}"));
        bind(&mut server, 50, 1, u64::from(pid), "0.0.0.0:99");
        receive_from(&mut server, 1, 1_080 + u64::from(pid), 1, CLIENT);
        system.add("one", &pid.to_string(), &server);
    }
    let outcome = system.reconcile();
    assert_eq!(
        outcome.lines(),
        ["client => server20 100 1000 1100", "client => server21 100 1000 1101"]
    );
    assert_eq!((outcome.counts.datagrams.copies, outcome.counts.datagrams.duplicated), (1, 0));
}

#[test]
fn unix_datagrams_go_by_path() {
    let (mut client, mut server) = (log(10, "client"), log(20, "syslogd"));
    client.flow(100, 1, UNIX_DATAGRAM, FlowOrigin::Socket, 11);
    client.endpoints(110, 1, FlowRole::Connect, &unix_address(""), &unix_address("/dev/log"), 20);
    server.flow(50, 1, UNIX_DATAGRAM, FlowOrigin::Socket, 12);
    server.endpoints(60, 1, FlowRole::Bind, &unix_address("/dev/log"), &[], 0);
    client.datagram(&datagram(Direction::Send, 1, 1_000, 1, &[]));
    server.datagram(&datagram(Direction::Receive, 1, 1_100, 1, &unix_address("")));
    client.datagram(&datagram(Direction::Send, 1, 2_000, 2, &[]));
    let outcome = reconcile(&client, &server);
    assert_eq!(
        outcome.lines(),
        ["client => syslogd 100 1000 1100", "client => syslogd 100 2000 -"]
    );
    assert_eq!(outcome.endpoints()[0], "unix:#10/1 > unix:/dev/log");
    assert_eq!((outcome.counts.datagrams.lost, outcome.flows()), (1, vec![0, 0]));
}

/// A client and a server with the same names and datagrams as all others.
fn alike(place: u32, namespace: u64, start: u64) -> [LogWriter; 2] {
    let (mut client, mut server) =
        (log(10 + place, &format!("client{place}")), log(20 + place, &format!("server{place}")));
    for (log, cookie, name) in [(&mut client, 10, "/run/client"), (&mut server, 20, "/run/server")]
    {
        log.set_namespace(namespace);
        log.flow(start, 1, UNIX_DATAGRAM, FlowOrigin::Socket, cookie + u64::from(place));
        log.endpoints(start, 1, FlowRole::Bind, &unix_address(name), &[], 0);
    }
    for at in (0..3).map(|round| start + 1_000 * (round + 1)) {
        client.datagram(&datagram(Direction::Send, 1, at, 1, &unix_address("/run/server")));
        server.datagram(&datagram(
            Direction::Receive,
            1,
            at + 100,
            1,
            &unix_address("/run/client"),
        ));
    }
    [client, server]
}

/// Two pairs with logs that are read in either order.
fn two_alike(pairs: [[LogWriter; 2]; 2]) {
    for swapped in [false, true] {
        let system = System::new();
        for (place, [client, server]) in pairs.iter().enumerate() {
            let name = if swapped { 9 - place } else { place };
            system.add("one", &format!("{name}"), client).add(
                "one",
                &format!("{}", 19 - name),
                server,
            );
        }
        let outcome = system.reconcile();
        let lines = outcome.lines();
        for place in [1, 2] {
            let own = format!("client{place} => server{place} 100");
            assert_eq!(
                lines.iter().filter(|line| line.starts_with(&own)).count(),
                3,
                "{swapped} {lines:#?}"
            );
        }
        assert_eq!(outcome.counts.datagrams.matched, 6);
    }
}

#[test]
fn successive_sockets_of_equal_names_are_distinguished_by_time() {
    for later in [500, 2_500, 50_000] {
        two_alike([alike(1, 7, 0), alike(2, 7, later)]);
    }
}

#[test]
fn very_many_sockets_of_one_name_are_matched_without_comparison() {
    // More than 2^20 possible pairs.
    const SOCKETS: [u32; 2] = [1_100, 1_000];
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    for at in 0..SOCKETS[0] {
        client.flow(1, at, UNIX_DATAGRAM, FlowOrigin::Socket, 10_000 + u64::from(at));
        client.datagram(&datagram(Direction::Send, at, 1_000, 1, &unix_address("/run/server")));
    }
    for at in 0..SOCKETS[1] {
        server.flow(1, at, UNIX_DATAGRAM, FlowOrigin::Socket, 20_000 + u64::from(at));
        server.endpoints(1, at, FlowRole::Bind, &unix_address("/run/server"), &[], 0);
        server.datagram(&datagram(Direction::Receive, at, 2_000, 1, &unix_address("")));
    }
    let counts = reconcile(&client, &server).counts.datagrams;
    assert_eq!((counts.matched, counts.lost, counts.duplicated), (1_000, 100, 0));
}

#[test]
fn sockets_of_equal_paths_in_two_containers_are_distinguished_by_their_namespaces() {
    two_alike([alike(1, 7, 0), alike(2, 8, 50)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Datagrams of different content on a network that arbitrarily delays, loses and duplicates
    /// them: every arrival is matched with its own send, and the counts are the network's.
    #[test]
    fn any_permutation_loss_and_duplication_is_recognised(
        fates in prop::collection::vec(prop::collection::vec(1u64..100_000, 0..3), 1..40),
    ) {
        let (mut client, mut server) = pair();
        let mut arrivals: Vec<(u64, u32)> = Vec::new();
        for (content, delays) in fates.iter().enumerate() {
            let sent = 1_000 + 1_000 * content as u64;
            send_to(&mut client, 1, sent, content as u32, SERVER);
            arrivals.extend(delays.iter().map(|delay| (sent + delay, content as u32)));
        }
        arrivals.sort_unstable();
        for (at, content) in &arrivals {
            receive_from(&mut server, 1, *at, *content, CLIENT);
        }
        let outcome = reconcile(&client, &server);
        let expected: Vec<String> = fates
            .iter()
            .enumerate()
            .map(|(content, delays)| {
                let sent = 1_000 + 1_000 * content as u64;
                let received = delays.iter().min().map_or("-".to_owned(), |delay| (sent + delay).to_string());
                format!("client => server 100 {sent} {received}")
            })
            .collect();
        prop_assert_eq!(outcome.lines(), expected);
        let count = |f: &dyn Fn(usize) -> usize| fates.iter().map(|delays| f(delays.len())).sum::<usize>() as u64;
        let counts = outcome.counts.datagrams;
        prop_assert_eq!(counts.lost, count(&|copies| usize::from(copies == 0)));
        prop_assert_eq!(counts.duplicated, count(&|copies| copies.saturating_sub(1)));
        prop_assert_eq!(counts.matched, count(&|copies| copies.min(1)));
    }
}

/// A datagram of `bytes` bytes; `None` is an unknown checksum.
fn sized<'a>(
    direction: Direction,
    flow: u32,
    ticks: u64,
    (bytes, checksum): (u64, Option<u32>),
    peer: &'a [u8],
) -> DatagramRecord<'a> {
    let flags = if checksum.is_some() { 0 } else { datagram_flag::NO_CHECKSUM };
    DatagramRecord {
        direction,
        flow,
        ticks,
        duration: 0,
        bytes,
        checksum: checksum.unwrap_or(0),
        flags,
        peer,
    }
}

#[test]
fn without_checksums_ends_size_and_order_decide() {
    let known = Some(7);
    // The sender's, the receiver's, or both checksums are missing.
    for (at_sender, at_receiver) in [(None, known), (known, None), (None, None)] {
        let mut client = log(1, "client");
        bind(&mut client, 0, 1, 1, CLIENT);
        let mut server = log(2, "server");
        bind(&mut server, 0, 1, 2, SERVER);
        let (to, from) = (crate::common::address(SERVER), crate::common::address(CLIENT));
        for (ticks, bytes) in [(10, 100), (20, 200), (30, 100), (40, 300)] {
            client.datagram(&sized(Direction::Send, 1, ticks, (bytes, at_sender), &to));
        }
        // The third is lost; another with a size that was never sent arrives.
        for (ticks, bytes) in [(15, 100), (25, 200), (45, 300), (50, 400)] {
            server.datagram(&sized(Direction::Receive, 1, ticks, (bytes, at_receiver), &from));
        }
        // Checksums that are known on both sides take precedence.
        client.datagram(&sized(Direction::Send, 1, 60, (100, Some(1)), &to));
        client.datagram(&sized(Direction::Send, 1, 70, (100, Some(2)), &to));
        server.datagram(&sized(Direction::Receive, 1, 80, (100, Some(2)), &from));
        server.datagram(&sized(Direction::Receive, 1, 90, (100, Some(1)), &from));
        let system = System::new();
        system.add("one", "1", &client).add("one", "2", &server);
        let outcome = system.reconcile();
        let expected = [
            "client => server 100 10 15",
            "client => server 200 20 25",
            "client => server 100 30 -",
            "client => server 300 40 45",
            "10.0.0.1 => server 400 - 50",
            "client => server 100 60 90",
            "client => server 100 70 80",
        ];
        assert_eq!(outcome.lines(), expected, "{at_sender:?} {at_receiver:?}");
        let missing = 4 * u64::from(at_sender.is_none()) + 4 * u64::from(at_receiver.is_none());
        assert_eq!(outcome.counts.datagrams.unchecked, missing);
        assert_eq!((outcome.counts.datagrams.lost, outcome.counts.datagrams.duplicated), (1, 0));
    }
}

/// A field of zero is not the checksum zero.
#[test]
fn no_checksum_is_not_the_checksum_zero() {
    let (mut client, mut server) = pair();
    let (to, from) = (crate::common::address(SERVER), crate::common::address(CLIENT));
    client.datagram(&sized(Direction::Send, 1, 1_010, (100, Some(0)), &to));
    client.datagram(&sized(Direction::Send, 1, 1_020, (100, None), &to));
    server.datagram(&sized(Direction::Receive, 1, 1_030, (100, Some(0)), &from));
    server.datagram(&sized(Direction::Receive, 1, 1_040, (100, Some(7)), &from));
    let lines = reconcile(&client, &server).lines();
    assert_eq!(lines, ["client => server 100 1010 1030", "client => server 100 1020 1040"]);
}
