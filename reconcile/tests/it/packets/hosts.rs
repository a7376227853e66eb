//! Hosts of packets: which host a sniffer was on, which clock times each host, and which nodes
//! there are.

use super::bench::*;
use super::wire::*;

#[test]
fn each_host_is_timed_by_its_own_sniffer() {
    for links in [[Link::Ethernet; 3], [Link::Sll; 3], [Link::Sll2, Link::Ethernet, Link::Raw]] {
        let [client, web, db] = three_hosts(links);
        let bench =
            Bench::from_sniffers(&[("client.pcap", &client), ("web.pcap", &web), ("db.pcap", &db)]);
        let outcome = bench.run();
        let logs = [
            "client/packets-client-all.sclog",
            "db/packets-db-all.sclog",
            "web/packets-web-all.sclog",
        ];
        assert_eq!(bench.logs(), logs, "{links:?}");
        assert_eq!((outcome.trace.len(), outcome.counts.both_ends), (20, 20));
        let hour = 3_600_000_000i64;
        let mut expected: Vec<String> = Vec::new();
        for turn in 0..5 {
            let at = (10 + 20 * turn) * 1000;
            expected.push(format!("client/client => web/web:80 100 {at} {}", hour + at + 1000));
            expected.push(format!(
                "web/web:80 => db/db:5432 50 {} {}",
                hour + at + 2000,
                at + 3000 - 7000
            ));
            expected.push(format!(
                "db/db:5432 -> web/web:80 500 {} {}",
                at + 4000 - 7000,
                hour + at + 5000
            ));
            expected.push(format!(
                "web/web:80 -> client/client 1000 {} {}",
                hour + at + 6000,
                at + 7000
            ));
        }
        let mut found = outcome.lines();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{links:?}");
    }
}

#[test]
fn hosts_and_addresses_have_the_users_names() {
    let sniffers = three_hosts([Link::Ethernet; 3]);
    let mut bench = Bench::new();
    for (name, sniffer) in ["a.pcap", "b.pcap", "c.pcap"].iter().zip(&sniffers) {
        bench.add(name, &sniffer.bytes());
    }
    let files = std::mem::take(&mut bench.files);
    let named = |name: &str, at: usize| (name.to_owned(), files[at].clone());
    bench.packets.hosts = vec![named("one", 0), named("two", 1), named("two", 2)];
    bench.packets.addresses = vec![("four".into(), "10.0.0.2".parse().unwrap())];
    bench.run();
    // Nothing in the second sniffer's two files shows which of the addresses is the host's.
    assert!(bench.logs().contains(&"one/packets-one-all.sclog".to_owned()), "{:?}", bench.logs());
    assert!(bench.logs().iter().any(|log| log.starts_with("four/")), "{:?}", bench.logs());
}

#[test]
fn an_unsniffed_node_is_timed_by_the_sniffer_that_saw_most_of_it() {
    // The database has no sniffer of its own: the sniffer of the web server, which talks to it, is
    // used.
    let [client, web, _] = three_hosts([Link::Ethernet; 3]);
    let bench = Bench::from_sniffers(&[("client.pcap", &client), ("web.pcap", &web)]);
    let outcome = bench.run();
    assert_eq!(outcome.counts.both_ends, 20);
    let hour = 3_600_000_000i64;
    // At the web server's sniffer, it has both been sent and arrived.
    let at = hour + 12_000;
    let expected = format!("web/web:80 => 10.0.0.2/10.0.0.2:5432 50 {at} {at}");
    assert!(outcome.lines().contains(&expected), "{:#?}", outcome.lines());
    assert!(outcome.has_note("by the clock of web: web, 10.0.0.2"), "{:?}", outcome.summary.notes);
}

#[test]
fn two_hosts_that_only_talk_to_each_other_are_distinguished_by_the_delays() {
    for swapped in [false, true] {
        let (mut a, mut b) =
            (Sniffer::new(Link::Ethernet), Sniffer::new(Link::Ethernet).ahead(-90 * MS));
        let mut connection = Connection::new(CLIENT, SERVER);
        connection.open(0, &mut [&mut a, &mut b]);
        for turn in 0..3 {
            connection.exchange((10 + 10 * turn) * MS, 100, 200, &mut [&mut a, &mut b]);
        }
        let files = if swapped {
            [("b.pcap", &b), ("a.pcap", &a)]
        } else {
            [("a.pcap", &a), ("b.pcap", &b)]
        };
        let outcome = Bench::from_sniffers(&files).run();
        let first = format!("a/a => b/b:80 100 10000 {}", 11_000 - 90_000);
        assert!(outcome.lines().contains(&first), "{:#?}", outcome.lines());
    }
}

#[test]
fn a_host_that_only_answers_has_a_node_for_each_service() {
    let mut sniffer = Sniffer::new(Link::Sll2).on(&["10.0.0.1"]);
    exchange(&mut sniffer, CLIENT, "10.0.0.1:80");
    exchange(&mut sniffer, CLIENT, "10.0.0.1:443");
    let bench = Bench::from_sniffers(&[("web.pcap", &sniffer)]);
    bench.run();
    let logs =
        ["10.0.0.9/packets-web-all.sclog", "web/packets-web-443.sclog", "web/packets-web-80.sclog"];
    assert_eq!(bench.logs(), logs);
    // Once it sends requests itself, it is unknown which of them it was.
    exchange(&mut sniffer, "10.0.0.1:40000", "10.0.0.2:5432");
    let bench = Bench::from_sniffers(&[("web.pcap", &sniffer)]);
    let outcome = bench.run();
    assert!(bench.logs().contains(&"web/packets-web-all.sclog".to_owned()), "{:?}", bench.logs());
    let expected = "web/web => 10.0.0.2/10.0.0.2:5432 100 30 30";
    assert!(outcome.lines().iter().any(|line| line == expected), "{:#?}", outcome.lines());
}

#[test]
fn loopback_addresses_are_each_hosts_own() {
    let mut sniffers =
        [Sniffer::new(Link::Sll2Loopback), Sniffer::new(Link::Sll2Loopback).ahead(MS)];
    for sniffer in &mut sniffers {
        exchange(sniffer, "127.0.0.1:40000", "127.0.0.1:80");
    }
    let outcome = Bench::from_sniffers(&[("a.pcap", &sniffers[0]), ("b.pcap", &sniffers[1])]).run();
    // The two ends on one host are two programs.
    let mut lines = outcome.lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            "a/a => a/a:80 100 30 30",
            "a/a:80 -> a/a 3000 40 42",
            "b/b => b/b:80 100 1030 1030",
            "b/b:80 -> b/b 3000 1040 1042"
        ]
    );
}
