//! Captured packets become messages: made by hand for every link and format, by one sniffer and by several, whole and
//! damaged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod wire;

use std::net::IpAddr;
use std::path::PathBuf;

use message_trace::{DataDir, MessageTrace};
use reconcile::import::{Captured, Importer, Packets, Summary};
use reconcile::{Options, Reconciliation, reconcile};
use wire::*;

const CLIENT: &str = "10.0.0.9:40000";
const SERVER: &str = "10.0.0.1:80";

/// A directory with captures and a data directory.
struct Bench {
    directory: tempfile::TempDir,
    packets: Packets,
    files: Vec<PathBuf>,
}

struct Outcome {
    summary: Summary,
    counts: Reconciliation,
    trace: MessageTrace,
}

impl Bench {
    fn new() -> Bench {
        Bench { directory: tempfile::tempdir().unwrap(), packets: Packets::default(), files: Vec::new() }
    }

    fn of(sniffers: &[(&str, &Sniffer)]) -> Bench {
        let mut bench = Bench::new();
        for (name, sniffer) in sniffers {
            bench.add(name, &sniffer.bytes());
        }
        bench
    }

    fn add(&mut self, name: &str, bytes: &[u8]) {
        self.files.push(write(self.directory.path(), name, bytes));
    }

    fn data(&self) -> DataDir {
        DataDir::new(self.directory.path().join("data"))
    }

    fn import(&self) -> Result<Summary, reconcile::import::Error> {
        self.packets.import(&self.files, &self.data(), &())
    }

    fn run(&self) -> Outcome {
        let summary = self.import().unwrap();
        let data = self.data();
        let counts = reconcile(&data, &Options::default(), &()).unwrap();
        let trace = MessageTrace::read(&data.messages(), &data.nodes()).unwrap();
        Outcome { summary, counts, trace }
    }

    fn logs(&self) -> Vec<String> {
        let hosts = self.data().hosts();
        let below = |path: &PathBuf| path.strip_prefix(&hosts).unwrap().display().to_string();
        self.data().logs().unwrap().iter().map(below).collect()
    }
}

impl Outcome {
    /// The messages as `host/command => host/command bytes sent received`, times in microseconds from the beginning and
    /// `-` where there is none.
    fn lines(&self) -> Vec<String> {
        let node = |id| {
            let node = self.trace.nodes.get(id).unwrap();
            format!("{}/{}{}", node.host, node.command, if node.traced { "" } else { "?" })
        };
        let time = |time: Option<i64>| {
            time.map_or_else(|| "-".to_owned(), |time| ((time - EPOCH) / 1000).to_string())
        };
        self.trace
            .messages()
            .map(|m| {
                let arrow = if m.direction == 0 { "=>" } else { "->" };
                let (sent, received) = (time(m.send_first), time(m.recv_last));
                format!("{} {arrow} {} {} {sent} {received}", node(m.src), node(m.dst), m.bytes)
            })
            .collect()
    }

    fn endpoints(&self) -> Vec<String> {
        let endpoint = |id| self.trace.endpoint(id).unwrap().to_string();
        self.trace
            .messages()
            .map(|m| format!("{} > {}", endpoint(m.src_endpoint), endpoint(m.dst_endpoint)))
            .collect()
    }

    fn has_note(&self, text: &str) -> bool {
        self.summary.notes.iter().any(|note| note.contains(text))
    }
}

/// One sniffer sees an exchange.
fn exchange(sniffer: &mut Sniffer, client: &str, server: &str) {
    let mut connection = Connection::new(client, server);
    let mut packets = Vec::new();
    let mut send = |time, from, flags, payload: usize| {
        let packet = connection.packet(from, flags, &vec![7; payload]);
        packets.push((time, packet));
    };
    send(0, 0, SYN, 0);
    send(10_000, 1, SYN | ACK, 0);
    send(20_000, 0, ACK, 0);
    send(30_000, 0, PUSH | ACK, 100);
    send(40_000, 1, ACK, 1448);
    send(41_000, 1, ACK, 1448);
    send(42_000, 1, PUSH | ACK, 104);
    send(50_000, 0, FIN | ACK, 0);
    send(60_000, 1, FIN | ACK, 0);
    send(70_000, 0, ACK, 0);
    for (time, packet) in &packets {
        sniffer.see(*time, packet);
    }
}

const EXCHANGE: [&str; 2] = [
    "10.0.0.9/10.0.0.9 => 10.0.0.1/10.0.0.1:80 100 30 30",
    "10.0.0.1/10.0.0.1:80 -> 10.0.0.9/10.0.0.9 3000 40 42",
];

const LINKS: [Link; 10] = [
    Link::Ethernet,
    Link::Vlan(1),
    Link::Vlan(2),
    Link::Sll,
    Link::Sll2,
    Link::Raw,
    Link::RawBsd,
    Link::Alone,
    Link::Null,
    Link::Loop,
];

#[test]
fn every_link_in_every_format_gives_the_messages() {
    for link in LINKS {
        for format in FORMATS {
            let mut sniffer = Sniffer { format, ..Sniffer::new(link) };
            exchange(&mut sniffer, CLIENT, SERVER);
            let outcome = Bench::of(&[("switch.pcap", &sniffer)]).run();
            let found: Vec<String> = outcome.lines();
            // A cooked capture says whose each packet is: as no address is its own here, all come in.
            assert_eq!(found, EXCHANGE, "{link:?} {format:?}");
            assert_eq!(outcome.summary.read, 10);
            assert_eq!(outcome.summary.skipped.total(), 0, "{link:?} {:?}", outcome.summary);
        }
    }
}

#[test]
fn version_6_of_ip_with_extension_headers() {
    let (client, server) = ("[fd00::9]:40000", "[fd00::1]:80");
    for link in LINKS {
        let mut sniffer = Sniffer::new(link);
        exchange(&mut sniffer, client, server);
        let outcome = Bench::of(&[("switch.pcap", &sniffer)]).run();
        assert_eq!(outcome.endpoints(), ["[fd00::9]:40000 > [fd00::1]:80", "[fd00::1]:80 > [fd00::9]:40000"]);
        assert_eq!(outcome.lines()[0], "fd00::9/fd00::9 => fd00::1/[fd00::1]:80 100 30 30", "{link:?}");
    }
    let mut sniffer = Sniffer::new(Link::Raw);
    let hop_by_hop_and_destination =
        vec![60, 0, 1, 4, 0, 0, 0, 0, 17, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let packet = Packet {
        extensions: Some((0, hop_by_hop_and_destination)),
        ..udp("[fd00::9]:4000", "[fd00::1]:53", b"question")
    };
    sniffer.see(0, &packet);
    assert_eq!(
        Bench::of(&[("x.pcap", &sniffer)]).run().lines(),
        ["fd00::9/fd00::9 => fd00::1/[fd00::1]:53 8 0 0"]
    );
}

#[test]
fn extension_headers_may_be_cut_off_anywhere() {
    let hop_by_hop = vec![60, 0, 1, 4, 0, 0, 0, 0];
    let destination = vec![44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // A fragment header of a packet that is whole.
    let fragment = vec![17, 0, 0, 0, 0, 0, 0, 9];
    let extensions = [hop_by_hop, destination, fragment].concat();
    let transport = 40 + extensions.len() + 8;
    let packet =
        Packet { extensions: Some((0, extensions)), ..udp("[fd00::9]:4000", "[fd00::1]:53", b"question") };
    for snap in 1..=transport + 8 {
        let mut sniffer = Sniffer::new(Link::Raw).cut(snap);
        sniffer.see(0, &packet);
        let summary = Bench::of(&[("x.pcap", &sniffer)]).import().unwrap();
        let cut = summary.skipped.causes.get("headers cut off").copied().unwrap_or_default();
        assert_eq!((summary.read, cut), (1, u64::from(snap < transport)), "{snap}");
        assert_eq!(summary.made > 0, snap >= transport, "{snap}");
    }
}

#[test]
fn fragments_of_version_6_are_put_together() {
    let whole = udp("[fd00::9]:4000", "[fd00::1]:53", &[7; 3000]);
    let mut sniffer = Sniffer::new(Link::Raw);
    for (place, part) in whole.body.chunks(1400).enumerate() {
        let more = u16::from(part.len() == 1400);
        let [high, low] = ((place as u16 * 1400) | more).to_be_bytes();
        let header = vec![17, 0, high, low, 0, 0, 0, 9];
        sniffer.see(
            place as i64 * 1000,
            &Packet { extensions: Some((44, header)), body: part.to_vec(), ..whole.clone() },
        );
    }
    let outcome = Bench::of(&[("x.pcap", &sniffer)]).run();
    assert_eq!(outcome.lines(), ["fd00::9/fd00::9 => fd00::1/[fd00::1]:53 3000 2 2"]);
}

/// A host that asks, one that asks on, and one that answers; each with a sniffer, of different clocks.
fn three_hosts(links: [Link; 3]) -> [Sniffer; 3] {
    let own = ["10.0.0.9", "10.0.0.1", "10.0.0.2"];
    let mut sniffers = [0, 1, 2].map(|at| Sniffer::new(links[at]).on(&[own[at]]));
    sniffers[1].offset = 3_600_000 * MS;
    sniffers[2].offset = -7 * MS;
    let [client, web, db] = &mut sniffers;
    let mut front = Connection::new(CLIENT, SERVER);
    let mut back = Connection::new("10.0.0.1:50000", "10.0.0.2:5432");
    front.open(0, &mut [client, web]);
    back.open(0, &mut [web, db]);
    for turn in 0..5 {
        let at = (10 + 20 * turn) * MS;
        front.send(at, 0, PUSH | ACK, &[1; 100], &mut [client, web]);
        back.send(at + 2 * MS, 0, PUSH | ACK, &[2; 50], &mut [web, db]);
        back.send(at + 4 * MS, 1, PUSH | ACK, &[3; 500], &mut [web, db]);
        front.send(at + 6 * MS, 1, PUSH | ACK, &[4; 1000], &mut [client, web]);
    }
    front.close(200 * MS, &mut [client, web]);
    back.close(200 * MS, &mut [web, db]);
    sniffers
}

#[test]
fn each_host_is_timed_by_its_own_sniffer() {
    for links in [[Link::Ethernet; 3], [Link::Sll; 3], [Link::Sll2, Link::Ethernet, Link::Raw]] {
        let [client, web, db] = three_hosts(links);
        let bench = Bench::of(&[("client.pcap", &client), ("web.pcap", &web), ("db.pcap", &db)]);
        let outcome = bench.run();
        let logs =
            ["client/packets-client-all.sclog", "db/packets-db-all.sclog", "web/packets-web-all.sclog"];
        assert_eq!(bench.logs(), logs, "{links:?}");
        assert_eq!((outcome.trace.len(), outcome.counts.both_ends), (20, 20));
        let hour = 3_600_000_000i64;
        let mut expected: Vec<String> = Vec::new();
        for turn in 0..5 {
            let at = (10 + 20 * turn) * 1000;
            expected.push(format!("client/client => web/web:80 100 {at} {}", hour + at + 1000));
            expected.push(format!("web/web:80 => db/db:5432 50 {} {}", hour + at + 2000, at + 3000 - 7000));
            expected.push(format!("db/db:5432 -> web/web:80 500 {} {}", at + 4000 - 7000, hour + at + 5000));
            expected.push(format!("web/web:80 -> client/client 1000 {} {}", hour + at + 6000, at + 7000));
        }
        let mut found = outcome.lines();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{links:?}");
    }
}

#[test]
fn hosts_and_addresses_are_called_as_the_user_says() {
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
    // Of the second sniffer's two files nothing says which of the addresses is the host's.
    assert!(bench.logs().contains(&"one/packets-one-all.sclog".to_owned()), "{:?}", bench.logs());
    assert!(bench.logs().iter().any(|log| log.starts_with("four/")), "{:?}", bench.logs());
}

#[test]
fn a_node_that_nobody_sniffed_is_timed_by_who_saw_most_of_it() {
    // The database has no sniffer of its own: the web server's, which speaks to it, stands in.
    let [client, web, _] = three_hosts([Link::Ethernet; 3]);
    let bench = Bench::of(&[("client.pcap", &client), ("web.pcap", &web)]);
    let outcome = bench.run();
    assert_eq!(outcome.counts.both_ends, 20);
    let hour = 3_600_000_000i64;
    // Where the web server's sniffer sees it, it has both been sent and arrived.
    let at = hour + 12_000;
    let expected = format!("web/web:80 => 10.0.0.2/10.0.0.2:5432 50 {at} {at}");
    assert!(outcome.lines().contains(&expected), "{:#?}", outcome.lines());
    assert!(outcome.has_note("by the clock of web: web, 10.0.0.2"), "{:?}", outcome.summary.notes);
}

#[test]
fn two_hosts_that_only_speak_to_each_other_are_told_apart_by_the_delays() {
    for swapped in [false, true] {
        let (mut a, mut b) = (Sniffer::new(Link::Ethernet), Sniffer::new(Link::Ethernet).ahead(-90 * MS));
        let mut connection = Connection::new(CLIENT, SERVER);
        connection.open(0, &mut [&mut a, &mut b]);
        for turn in 0..3 {
            connection.exchange((10 + 10 * turn) * MS, 100, 200, &mut [&mut a, &mut b]);
        }
        let files = if swapped { [("b.pcap", &b), ("a.pcap", &a)] } else { [("a.pcap", &a), ("b.pcap", &b)] };
        let outcome = Bench::of(&files).run();
        let first = format!("a/a => b/b:80 100 10000 {}", 11_000 - 90_000);
        assert!(outcome.lines().contains(&first), "{:#?}", outcome.lines());
    }
}

#[test]
fn translated_addresses_are_found_by_equal_packets() {
    // A load balancer sends what is for the virtual address on to a server, under a name of its own.
    const VIRTUAL: &str = "10.0.0.1:80";
    const GATEWAY: &str = "10.1.0.1:61000";
    const BEHIND: &str = "10.1.0.2:8080";
    let (mut client, mut server) =
        (Sniffer::new(Link::Ethernet), Sniffer::new(Link::Ethernet).ahead(50 * MS));
    let mut connection = Connection::new(CLIENT, VIRTUAL);
    let mut send = |time: i64, from: usize, flags, payload: &[u8]| {
        let near = connection.packet(from, flags, payload);
        let mut far = near.clone();
        let (gateway, behind) = (end(GATEWAY), end(BEHIND));
        // The server sees other ends, and everything that went on has a hop less to go.
        (far.source, far.destination) = if from == 0 { (gateway, behind) } else { (behind, gateway) };
        let [to, back] = [far.source.port().to_be_bytes(), far.destination.port().to_be_bytes()];
        far.body[..2].copy_from_slice(&to);
        far.body[2..4].copy_from_slice(&back);
        let (mut near, mut far) = (near, far);
        if from == 0 {
            far.ttl -= 1
        } else {
            near.ttl -= 1
        }
        let (at_client, at_server) = if from == 0 { (time, time + MS) } else { (time + MS, time) };
        client.see(at_client, &near);
        server.see(at_server, &far);
    };
    send(0, 0, SYN, &[]);
    send(2 * MS, 1, SYN | ACK, &[]);
    send(4 * MS, 0, ACK, &[]);
    send(10 * MS, 0, PUSH | ACK, &[1; 100]);
    send(20 * MS, 1, PUSH | ACK, &[2; 300]);
    let outcome = Bench::of(&[("client.pcap", &client), ("server.pcap", &server)]).run();
    assert_eq!(
        outcome.lines(),
        [
            "client/client => server/server:8080 100 10000 61000",
            "server/server:8080 -> client/client 300 70000 21000"
        ]
    );
    assert_eq!(outcome.endpoints()[0], format!("{CLIENT} > {BEHIND}"));
    assert!(
        outcome.has_note("flows with translated addresses, which go by their ends' own: 1"),
        "{:?}",
        outcome.summary.notes
    );
}

#[test]
fn a_router_sees_each_packet_twice() {
    // One sniffer on both interfaces of a router that translates: still one message each.
    let mut router = Sniffer { format: FORMATS[5], ..Sniffer::new(Link::Ethernet) };
    let mut connection = Connection::new(CLIENT, "10.0.0.1:80");
    for (time, from, flags, payload) in [
        (0, 0, SYN, 0),
        (1, 1, SYN | ACK, 0),
        (3, 0, PUSH | ACK, 100),
        (4, 1, PUSH | ACK, 300),
        (5, 0, ACK, 0),
    ] {
        let before = connection.packet(from, flags, &vec![5; payload]);
        let mut behind = before.clone();
        let server = end("10.1.0.2:80");
        if from == 0 {
            behind.destination = server;
            behind.ttl -= 1;
            router.see_on(0, time * MS, &before);
            router.see_on(1, time * MS + 5_000, &behind);
        } else {
            behind.source = server;
            behind.ttl += 1;
            router.see_on(1, time * MS, &behind);
            router.see_on(0, time * MS + 5_000, &before);
        }
    }
    let outcome = Bench::of(&[("router.pcapng", &router)]).run();
    assert_eq!(
        outcome.lines(),
        [
            "10.0.0.9/10.0.0.9 => 10.1.0.2/10.1.0.2:80 100 3000 3000",
            "10.1.0.2/10.1.0.2:80 -> 10.0.0.9/10.0.0.9 300 4000 4000"
        ]
    );
}

#[test]
fn copies_of_a_datagram_are_one_and_equal_datagrams_are_several() {
    let question = |id| Packet { id, ..udp("10.0.0.9:4000", "10.0.0.1:53", b"question") };
    let mut sniffer = Sniffer { format: FORMATS[5], ..Sniffer::new(Link::Ethernet) };
    // Seen on two interfaces; asked again; and asked again by a system that does not number packets.
    sniffer.see_on(0, 0, &question(7));
    sniffer.see_on(1, 1000, &question(7));
    sniffer.see_on(0, 20 * MS, &question(8));
    sniffer.see_on(0, 40 * MS, &question(0));
    sniffer.see_on(0, 60 * MS, &question(0));
    let outcome = Bench::of(&[("x.pcap", &sniffer)]).run();
    let times: Vec<String> =
        outcome.lines().iter().map(|line| line.split(' ').nth(4).unwrap().to_owned()).collect();
    assert_eq!(times, ["0", "20000", "40000", "60000"]);
    assert_eq!(outcome.summary.skipped.causes["copies of a packet"], 1);
}

#[test]
fn datagrams_lost_and_overtaken_are_told_apart() {
    let (mut client, mut server) =
        (Sniffer::new(Link::Sll).on(&["10.0.0.9"]), Sniffer::new(Link::Sll).on(&["10.0.0.1"]));
    let packet =
        |number: u8| Packet { id: number.into(), ..udp("10.0.0.9:4000", "10.0.0.1:5000", &[number; 20]) };
    for number in 0..10u8 {
        client.see(i64::from(number) * MS, &packet(number));
    }
    for (place, number) in [0u8, 1, 3, 2, 4, 6, 7, 8, 9].into_iter().enumerate() {
        server.see(20 * MS + place as i64 * MS, &packet(number));
    }
    let outcome = Bench::of(&[("client.pcap", &client), ("server.pcap", &server)]).run();
    let datagrams = outcome.counts.datagrams;
    assert_eq!((datagrams.sent, datagrams.received, datagrams.matched, datagrams.reordered), (10, 9, 9, 1));
    assert_eq!(outcome.counts.send_only.values().sum::<u64>(), 1);
}

#[test]
fn fragments_are_put_together() {
    let whole = udp("10.0.0.9:4000", "10.0.0.1:5000", &(0..=255).cycle().take(4000).collect::<Vec<u8>>());
    let mut pieces = Vec::new();
    for (place, part) in whole.body.chunks(1480).enumerate() {
        let more = if part.len() == 1480 { 0x2000 } else { 0 };
        pieces.push(Packet {
            id: 77,
            fragment: more | (place as u16 * 185),
            body: part.to_vec(),
            ..whole.clone()
        });
    }
    let mut at_once = Sniffer::new(Link::Ethernet).ahead(5 * MS);
    at_once.see(0, &Packet { id: 77, ..whole });
    for order in [[0, 1, 2], [2, 0, 1]] {
        let mut sniffer = Sniffer::new(Link::Sll2).on(&["10.0.0.9"]);
        for (time, place) in order.into_iter().enumerate() {
            sniffer.see(time as i64 * 1000, &pieces[place]);
        }
        // It has the checksum of the whole, as the other sniffer has it that saw the whole.
        at_once.own = vec!["10.0.0.1".parse::<IpAddr>().unwrap()];
        let other = Sniffer { link: Link::Sll2, frames: Vec::new(), ..at_once.clone() };
        let mut other = other;
        other.see(
            0,
            &Packet {
                id: 78,
                fragment: 0,
                ..udp("10.0.0.9:4000", "10.0.0.1:5000", &(0..=255).cycle().take(4000).collect::<Vec<u8>>())
            },
        );
        let outcome = Bench::of(&[("a.pcap", &sniffer), ("b.pcap", &other)]).run();
        assert_eq!(outcome.lines(), ["a/a => b/b:5000 4000 2 5000"]);
        assert_eq!(outcome.counts.datagrams.matched, 1);
    }
    let mut sniffer = Sniffer::new(Link::Ethernet);
    sniffer.see(0, &pieces[0]);
    sniffer.see(0, &udp("10.0.0.9:4000", "10.0.0.1:5000", b"x"));
    let outcome = Bench::of(&[("a.pcap", &sniffer)]).run();
    assert_eq!(outcome.summary.skipped.causes["fragments that did not become whole"], 1);
}

#[test]
fn cut_packets_keep_their_sizes() {
    let mut sniffer = Sniffer::new(Link::Ethernet).cut(66);
    exchange(&mut sniffer, CLIENT, SERVER);
    assert_eq!(Bench::of(&[("x.pcap", &sniffer)]).run().lines(), EXCHANGE);
    // Twenty bytes of TCP are enough; fewer are not.
    let mut sniffer = Sniffer::new(Link::Ethernet).cut(54);
    exchange(&mut sniffer, CLIENT, SERVER);
    assert_eq!(Bench::of(&[("x.pcap", &sniffer)]).run().lines(), EXCHANGE);
    let mut sniffer = Sniffer::new(Link::Ethernet).cut(53);
    exchange(&mut sniffer, CLIENT, SERVER);
    sniffer.snap = 100;
    // A datagram that was not captured as a whole is matched by its ends and its size.
    let (mut client, mut server) = (sniffer.clone(), Sniffer::new(Link::Ethernet).cut(80));
    let packet = udp("10.0.0.9:4000", "10.0.0.1:5000", &[5; 500]);
    client.see(MS, &packet);
    server.see(2 * MS, &packet);
    server.see(2 * MS, &udp("10.0.0.1:5000", "10.0.0.7:5000", &[5; 500]));
    let outcome = Bench::of(&[("client.pcap", &client), ("server.pcap", &server)]).run();
    assert_eq!(outcome.summary.skipped.causes["headers cut off"], 10);
    assert!(outcome.has_note("datagrams not captured as a whole: 3"), "{:?}", outcome.summary.notes);
}

#[test]
fn a_connection_joined_in_its_middle_by_one_sniffer_has_the_bytes_of_both() {
    let mut sniffers = three_hosts([Link::Ethernet; 3]);
    // The web server's sniffer was started later, when the first two requests were over.
    let late = EPOCH + sniffers[1].offset + 35 * MS;
    sniffers[1].frames.retain(|frame| frame.time > late);
    let [client, web, db] = &sniffers;
    let outcome = Bench::of(&[("client.pcap", client), ("web.pcap", web), ("db.pcap", db)]).run();
    let hour = 3_600_000_000i64;
    // From then on everything is matched as it is when all is seen.
    for turn in 2..5 {
        let at = (10 + 20 * turn) * 1000;
        let expected = format!("client/client => web/web:80 100 {at} {}", hour + at + 1000);
        assert!(outcome.lines().contains(&expected), "{expected} {:#?}", outcome.lines());
    }
    assert_eq!(outcome.counts.stream_bytes.sent_only + outcome.counts.stream_bytes.received_only, 0);
    assert!(outcome.has_note("connections joined after their beginning: "), "{:?}", outcome.summary.notes);
}

#[test]
fn a_host_that_only_answers_has_a_node_for_each_service() {
    let mut sniffer = Sniffer::new(Link::Sll2).on(&["10.0.0.1"]);
    exchange(&mut sniffer, CLIENT, "10.0.0.1:80");
    exchange(&mut sniffer, CLIENT, "10.0.0.1:443");
    let bench = Bench::of(&[("web.pcap", &sniffer)]);
    bench.run();
    let logs = ["10.0.0.9/packets-web-all.sclog", "web/packets-web-443.sclog", "web/packets-web-80.sclog"];
    assert_eq!(bench.logs(), logs);
    // Once it asks others itself, nobody knows which of them it was.
    exchange(&mut sniffer, "10.0.0.1:40000", "10.0.0.2:5432");
    let bench = Bench::of(&[("web.pcap", &sniffer)]);
    let outcome = bench.run();
    assert!(bench.logs().contains(&"web/packets-web-all.sclog".to_owned()), "{:?}", bench.logs());
    let expected = "web/web => 10.0.0.2/10.0.0.2:5432 100 30 30";
    assert!(outcome.lines().iter().any(|line| line == expected), "{:#?}", outcome.lines());
}

#[test]
fn loopback_addresses_are_each_hosts_own() {
    let mut sniffers = [Sniffer::new(Link::Sll2Loopback), Sniffer::new(Link::Sll2Loopback).ahead(MS)];
    for sniffer in &mut sniffers {
        exchange(sniffer, "127.0.0.1:40000", "127.0.0.1:80");
    }
    let outcome = Bench::of(&[("a.pcap", &sniffers[0]), ("b.pcap", &sniffers[1])]).run();
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

#[test]
fn connections_that_use_a_port_again_are_several() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    let mut connection = Connection::new(CLIENT, SERVER);
    let mut other = Sniffer::new(Link::Ethernet);
    for turn in 0..3 {
        connection.next = [5_000_000 * (turn as u32 + 1), 77 + 1_000_000 * turn as u32];
        let at = turn * 1_000 * MS;
        connection.open(at, &mut [&mut sniffer, &mut other]);
        connection.exchange(at + 10 * MS, 100, 2000, &mut [&mut sniffer, &mut other]);
        // The second is broken off without a word.
        if turn != 1 {
            connection.close(at + 20 * MS, &mut [&mut sniffer, &mut other]);
        }
    }
    let outcome = Bench::of(&[("x.pcap", &sniffer), ("y.pcap", &other)]).run();
    assert_eq!((outcome.counts.flows, outcome.counts.both_ends), (3, 6));
    assert_eq!(outcome.counts.stream_bytes.sent_only + outcome.counts.stream_bytes.received_only, 0);
    assert_eq!(outcome.summary.skipped.total(), 0);
}

#[test]
fn compressed_files_are_read_as_they_are() {
    use std::io::Write;
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    // Much that cannot be made smaller, so that a part of the file says something.
    let mut noise = 1u64;
    for number in 0..1000 {
        let mut byte = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (noise >> 56) as u8
        };
        let payload: Vec<u8> = (0..500).map(|_| byte()).collect();
        sniffer.see(MS + number, &udp("10.0.0.9:1000", "239.1.1.1:1000", &payload));
    }
    let bytes = sniffer.bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    for packed in [gzip.finish().unwrap(), zstd::encode_all(&bytes[..], 0).unwrap()] {
        let mut bench = Bench::new();
        bench.add("x.pcap.packed", &packed);
        let outcome = bench.run();
        assert_eq!((outcome.trace.len(), outcome.summary.skipped.total()), (1002, 0));
        // What is cut off ends with what there is.
        let mut bench = Bench::new();
        bench.add("x.pcap.packed", &packed[..packed.len() / 4 * 3]);
        let summary = bench.import().unwrap();
        assert_eq!(summary.skipped.causes["cannot be read further"], 1, "{summary:?}");
        assert!(summary.read > 400 && summary.read < 1010, "{summary:?}");
    }
}

#[test]
fn damage_is_told_by_file_and_byte_and_the_rest_is_kept() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    for format in FORMATS {
        sniffer.format = format;
        let records: Vec<Vec<u8>> = sniffer.frames.iter().map(|frame| format.record(frame)).collect();
        let header = format.header(1);
        let before: usize = header.len() + records[..8].iter().map(Vec::len).sum::<usize>();
        // Cut off inside the record behind the answer.
        let mut bench = Bench::new();
        bench.add("cut.pcap", &[header.clone(), records[..9].concat()].concat()[..before + 9]);
        let outcome = bench.run();
        assert_eq!(outcome.lines(), EXCHANGE, "{format:?}");
        let told = outcome.summary.skipped.first[0].to_string();
        assert!(told.ends_with(&format!("cut.pcap, byte {before}: the file ends inside a record")), "{told}");
        // A length that cannot be.
        let mut wrong = records[8].clone();
        let at = if format.new { 4 } else { 8 };
        wrong[at..at + 4].copy_from_slice(&[0x7f; 4]);
        let mut bench = Bench::new();
        bench.add(
            "wrong.pcap",
            &[&header[..], &records[..8].concat(), &wrong, &records[9..].concat()].concat(),
        );
        let outcome = bench.run();
        assert_eq!(outcome.lines(), EXCHANGE, "{format:?}");
        let told = outcome.summary.skipped.first[0].to_string();
        assert!(told.contains(&format!("wrong.pcap, byte {before}: ")), "{told}");
        assert_eq!(outcome.summary.skipped.causes["impossible length"], 1);
        // A damaged block is stepped over.
        if format.new {
            let mut wrong = records[8].clone();
            wrong[20..24].copy_from_slice(&[0xff; 4]);
            let mut bench = Bench::new();
            bench.add(
                "wrong.pcapng",
                &[&header[..], &records[..8].concat(), &wrong, &records[9..].concat()].concat(),
            );
            let summary = bench.import().unwrap();
            assert_eq!((summary.skipped.causes["damaged block"], summary.read), (1, 9));
        }
    }
}

#[test]
fn sections_of_a_file_may_differ() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    let mut bytes = Vec::new();
    for (frame, format) in
        sniffer.frames.iter().zip([FORMATS[1], FORMATS[3], FORMATS[5], FORMATS[7]].iter().cycle())
    {
        bytes.extend(format.section(1, 1));
        bytes.extend(format.record(frame));
    }
    let mut bench = Bench::new();
    bench.add("joined.pcapng", &bytes);
    assert_eq!(bench.run().lines(), EXCHANGE);
}

#[test]
fn several_files_of_a_host_are_put_together_by_time() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    let mut bench = Bench::new();
    for (name, odd) in [("even.pcap", 0), ("odd.pcap", 1)] {
        let frames =
            sniffer.frames.iter().enumerate().filter(|(at, _)| at % 2 == odd).map(|(_, frame)| frame.clone());
        let part = Sniffer { frames: frames.collect(), ..sniffer.clone() };
        let file = part.write(bench.directory.path(), name);
        bench.packets.hosts.push(("both".into(), file));
    }
    let outcome = bench.run();
    assert_eq!(outcome.lines(), EXCHANGE);
    assert!(
        outcome.summary.notes.iter().all(|note| !note.contains("more than once")),
        "{:?}",
        outcome.summary
    );
}

#[test]
fn logs_that_are_written_piece_by_piece_are_whole() {
    let (mut client, mut server) =
        (Sniffer::new(Link::Sll).on(&["10.0.0.9"]), Sniffer::new(Link::Sll).on(&["10.0.0.1"]));
    const MANY: u16 = 12_000;
    for number in 0..MANY {
        let packet = Packet { id: number, ..udp("10.0.0.9:4000", "10.0.0.1:5000", &number.to_be_bytes()) };
        client.see(i64::from(number) * MS, &packet);
        server.see(i64::from(number) * MS + MS / 2, &packet);
    }
    let bench = Bench::of(&[("client.pcap", &client), ("server.pcap", &server)]);
    let outcome = bench.run();
    // More than is held at once, so that it was written in several pieces.
    assert!(bench.data().logs().unwrap().iter().all(|log| log.metadata().unwrap().len() > 150_000));
    assert_eq!((outcome.counts.damaged.len(), outcome.counts.both_ends), (0, MANY.into()));
}

#[test]
fn what_is_no_capture_is_an_error_and_what_is_empty_a_warning() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    for (bytes, told) in [
        (&b"timestamp,source"[..], "neither pcap nor pcapng"),
        (&b"\x0a\x0d\x0d\x0a\x00\x00"[..], "neither pcap nor pcapng"),
        (&b""[..], "it is empty"),
        (&PLAIN.header(1)[..], "no packets in it"),
    ] {
        let mut bench = Bench::new();
        bench.add("x.pcap", bytes);
        let error = bench.import().unwrap_err().to_string();
        assert!(error.contains("x.pcap") && error.contains(told), "{error}");
        assert!(!bench.data().hosts().exists());
    }
    let mut bench = Bench::of(&[("x.pcap", &sniffer)]);
    bench.add("empty.pcap", b"");
    let outcome = bench.run();
    assert_eq!(outcome.lines(), EXCHANGE);
    assert_eq!(outcome.summary.skipped.causes["empty file"], 1);
    bench.files.push(bench.directory.path().join("missing.pcap"));
    assert!(bench.import().unwrap_err().to_string().contains("missing.pcap"));
}

#[test]
fn importing_again_replaces_what_was_there() {
    let mut sniffer = Sniffer::new(Link::Sll2).on(&["10.0.0.1"]);
    exchange(&mut sniffer, CLIENT, "10.0.0.1:80");
    exchange(&mut sniffer, CLIENT, "10.0.0.1:443");
    let mut bench = Bench::of(&[("web.pcap", &sniffer)]);
    assert!(!bench.import().unwrap().replaced);
    let logs: Vec<Vec<u8>> =
        bench.data().logs().unwrap().iter().map(|log| std::fs::read(log).unwrap()).collect();
    assert!(bench.import().unwrap().replaced);
    let again: Vec<Vec<u8>> =
        bench.data().logs().unwrap().iter().map(|log| std::fs::read(log).unwrap()).collect();
    assert!(logs == again && logs.len() == 3);
    // Nodes that are others now leave nothing behind; other logs stay.
    let other = bench.data().hosts().join("web/1-2.sclog");
    std::fs::write(&other, b"").unwrap();
    exchange(&mut sniffer, "10.0.0.1:40000", "10.0.0.2:5432");
    bench.files.clear();
    bench.add("web.pcap", &sniffer.bytes());
    assert!(bench.import().unwrap().replaced);
    let logs = [
        "10.0.0.2/packets-web-all.sclog",
        "10.0.0.9/packets-web-all.sclog",
        "web/1-2.sclog",
        "web/packets-web-all.sclog",
    ];
    assert_eq!(bench.logs(), logs);
}

#[test]
fn what_carries_no_messages_is_counted() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    let mut arp = sniffer.frames[0].clone();
    arp.bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    let ping = Packet { protocol: 1, ..udp(CLIENT, SERVER, b"") };
    sniffer.frames.push(arp);
    sniffer.see(80_000, &ping);
    sniffer.see(80_000, &Packet { protocol: 132, ..ping.clone() });
    sniffer.see(80_000, &Packet { body: vec![0; 20], ..tcp(CLIENT, SERVER, 1, 1, ACK, b"") });
    let bench = Bench::of(&[("x.pcap", &sniffer)]);
    let outcome = bench.run();
    assert_eq!(outcome.lines(), EXCHANGE);
    let causes = outcome.summary.skipped.causes;
    for cause in ["not IP", "ICMP", "other protocol than TCP and UDP", "damaged TCP header"] {
        assert_eq!(causes.get(cause), Some(&1), "{cause}");
    }
    let captured = Captured::all(&bench.data()).unwrap();
    assert_eq!(captured[0].skipped.get("ICMP"), Some(&1));
    assert_eq!((captured[0].frames, captured[0].packets, captured.len()), (14, 10, 1));
    assert_eq!((captured[0].sniffer.as_str(), captured[0].hosts.len()), ("x", 2));
    let unknown = PLAIN.file(105, &sniffer.frames);
    let mut bench = Bench::new();
    bench.add("wireless.pcap", &unknown);
    let summary = bench.import().unwrap();
    assert_eq!((summary.made, summary.skipped.causes["unknown link type"]), (0, 14));
}
