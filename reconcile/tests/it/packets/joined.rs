//! Connections that are older than the capture: the service end is found without the packets of the
//! setup. The result is compared with a capture that has them.

use super::bench::*;
use super::wire::*;

/// Calls on each of these connections, in turn: 12 bytes from the first speaker, and 60 bytes back.
/// Without `whole`, the capture begins when all are open.
fn pool(link: Link, own: &[&str], ends: &[(&str, &str)], whole: bool) -> Sniffer {
    let mut sniffer = Sniffer::new(link).on(own);
    let mut connections: Vec<Connection> =
        ends.iter().map(|(client, server)| Connection::new(client, server)).collect();
    for (place, connection) in connections.iter_mut().enumerate() {
        for (step, (from, flags)) in [(0, SYN), (1, SYN | ACK), (0, ACK)].into_iter().enumerate() {
            let packet = connection.packet(from, flags, &[]);
            if whole {
                sniffer.see((place * 10 + step) as i64, &packet);
            }
        }
    }
    for turn in 0..4 {
        for (place, connection) in connections.iter_mut().enumerate() {
            let at = (10 + turn * 100 + place as i64 * 5) * MS;
            for (after, from, payload) in
                [(0, 0, &[1; 12][..]), (MS, 1, &[2; 60]), (2 * MS, 0, &[])]
            {
                let flags = if payload.is_empty() { ACK } else { PUSH | ACK };
                sniffer.see(at + after, &connection.packet(from, flags, payload));
            }
        }
    }
    sniffer
}

/// The messages, sorted, of a capture on the host `web`.
fn lines(sniffer: &Sniffer) -> Vec<String> {
    let mut bench = Bench::new();
    bench.add("x.pcap", &sniffer.bytes());
    bench.packets.hosts = vec![("web".to_owned(), bench.files.remove(0))];
    let mut lines = bench.run().lines();
    lines.sort();
    lines
}

/// The ends of the messages, each once.
fn ends(sniffer: &Sniffer) -> Vec<String> {
    let first = |line: &String| line.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let mut ends: Vec<String> = lines(sniffer).iter().map(first).collect();
    ends.sort();
    ends.dedup();
    ends
}

#[test]
fn a_pool_on_loopback_that_is_older_than_the_capture_has_a_service() {
    for (address, client) in
        [("127.0.0.1", "127.0.0.1"), ("127.0.0.53", "127.0.0.1"), ("[::1]", "[::1]")]
    {
        // Also with one of the system's own ports for clients: several connections lead to it.
        for port in [19900, 45_000] {
            let server = format!("{address}:{port}");
            let clients: Vec<String> =
                (0..5).map(|number| format!("{client}:{}", 40_000 + number)).collect();
            let pairs: Vec<(&str, &str)> =
                clients.iter().map(|client| (client.as_str(), server.as_str())).collect();
            for link in [Link::Ethernet, Link::Sll2Loopback] {
                let [joined, whole] = [false, true].map(|whole| pool(link, &[], &pairs, whole));
                let service = format!("web/web:{port}");
                assert_eq!(
                    ends(&joined),
                    [format!("web/web => {service}"), format!("{service} -> web/web")],
                    "{server} {link:?}"
                );
                assert_eq!(lines(&joined), lines(&whole), "{server} {link:?}");
                assert_eq!(lines(&joined).len(), 2 * 4 * 5);
            }
        }
    }
}

/// Both addresses are the machine's own, and its programs are one host.
#[test]
fn a_service_that_the_machine_reaches_by_any_of_its_addresses_is_a_node() {
    let own = ["10.0.0.1", "10.0.0.2"];
    let pairs = [
        ("10.0.0.1:40000", "10.0.0.2:80"),
        ("127.0.0.1:40001", "127.0.0.2:80"),
        ("10.0.0.9:40002", "10.0.0.1:80"),
    ];
    for whole in [true, false] {
        let mut sniffer = pool(Link::Sll2, &own, &pairs[2..], whole);
        let inner = pool(Link::Sll2Loopback, &own, &pairs[..2], whole);
        sniffer.frames.extend(inner.frames);
        let expected = [
            "10.0.0.9/10.0.0.9 => web/web:80",
            "web/web => web/web:80",
            "web/web:80 -> 10.0.0.9/10.0.0.9",
            "web/web:80 -> web/web",
        ];
        assert_eq!(ends(&sniffer), expected, "{whole}");
    }
}

#[test]
fn between_hosts_a_joined_connection_equals_a_whole_one() {
    for server in ["10.0.0.1:80", "10.0.0.1:5432", "10.0.0.1:50000"] {
        let pairs = [(CLIENT, server), ("10.0.0.9:40001", server), ("10.0.0.8:45000", server)];
        // One connection has only its ports, and the first speaker.
        for pairs in [&pairs[..], &pairs[..1]] {
            let [joined, whole] =
                [false, true].map(|whole| pool(Link::Ethernet, &[], pairs, whole));
            assert_eq!(lines(&joined), lines(&whole), "{pairs:?}");
        }
    }
}

/// The capture begins in the middle of a call, or the service greets or pushes.
#[test]
fn a_service_that_speaks_first_is_known_by_its_port() {
    for server in ["127.0.0.1:25", "127.0.0.1:5432"] {
        let mut sniffer = pool(Link::Ethernet, &[], &[("127.0.0.1:40000", server)], false);
        sniffer.frames.remove(0);
        let found = ends(&sniffer);
        let service = server.replace("127.0.0.1", "web/web");
        assert_eq!(found, [format!("web/web => {service}"), format!("{service} -> web/web")]);
    }
}

/// Members of a cluster that connect from the port on which they listen: each is a node, and the
/// first speaker is the client.
#[test]
fn peers_with_fixed_ports_are_nodes_each() {
    let pairs = [("127.0.0.1:7002", "127.0.0.1:7001")];
    let found = ends(&pool(Link::Ethernet, &[], &pairs, false));
    assert_eq!(found, ["web/web:7001 -> web/web:7002", "web/web:7002 => web/web:7001"]);
    // Whatever the numbers, an end that talks to several others has a port of its own.
    let ports: Vec<String> = (0..4).map(|port| format!("127.0.0.1:{}", 50_000 + port)).collect();
    let mut pairs = Vec::new();
    for (place, one) in ports.iter().enumerate() {
        pairs.extend(ports[..place].iter().map(|other| (one.as_str(), other.as_str())));
    }
    let found = ends(&pool(Link::Ethernet, &[], &pairs, false));
    assert_eq!(found.len(), 2 * 6, "{found:#?}");
    assert!(found.iter().all(|line| line.matches("web/web:500").count() == 2), "{found:#?}");
}

/// Packets do not identify processes: one that connects to itself is a client and a service, as if
/// the beginning had been seen.
#[test]
fn a_joined_connection_to_itself_equals_a_whole_one() {
    let pairs = [("127.0.0.1:41000", "127.0.0.1:5000"), ("127.0.0.1:41001", "127.0.0.1:5001")];
    let [joined, whole] = [false, true].map(|whole| pool(Link::Ethernet, &[], &pairs, whole));
    assert_eq!(lines(&joined), lines(&whole));
    assert_eq!(ends(&joined).len(), 4);
}
