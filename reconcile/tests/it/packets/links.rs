//! From the bytes of a link to the payload of IP: every link in every format, extension headers,
//! fragments, packets that were cut off, and packets that carry no messages.

use std::net::IpAddr;

use importers::SnifferReport;

use super::bench::*;
use super::wire::*;

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
            let outcome = Bench::from_sniffers(&[("switch.pcap", &sniffer)]).run();
            let found: Vec<String> = outcome.lines();
            // A cooked capture marks the direction of each packet: as no address is its own here,
            // all come in.
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
        let outcome = Bench::from_sniffers(&[("switch.pcap", &sniffer)]).run();
        assert_eq!(
            outcome.endpoints(),
            ["[fd00::9]:40000 > [fd00::1]:80", "[fd00::1]:80 > [fd00::9]:40000"]
        );
        assert_eq!(
            outcome.lines()[0],
            "fd00::9/fd00::9 => fd00::1/[fd00::1]:80 100 30 30",
            "{link:?}"
        );
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
        Bench::from_sniffers(&[("x.pcap", &sniffer)]).run().lines(),
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
    let packet = Packet {
        extensions: Some((0, extensions)),
        ..udp("[fd00::9]:4000", "[fd00::1]:53", b"question")
    };
    for snap in 1..=transport + 8 {
        let mut sniffer = Sniffer::new(Link::Raw).cut(snap);
        sniffer.see(0, &packet);
        let imported = Bench::from_sniffers(&[("x.pcap", &sniffer)]).import();
        if snap < transport {
            let error = imported.unwrap_err().to_string();
            assert!(error.contains("truncated headers: 1"), "{snap}: {error}");
            continue;
        }
        let summary = imported.unwrap();
        assert_eq!((summary.read, summary.skipped.total()), (1, 0), "{snap}");
        assert!(summary.made > 0, "{snap}");
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
    let outcome = Bench::from_sniffers(&[("x.pcap", &sniffer)]).run();
    assert_eq!(outcome.lines(), ["fd00::9/fd00::9 => fd00::1/[fd00::1]:53 3000 2 2"]);
}

#[test]
fn fragments_are_put_together() {
    let whole =
        udp("10.0.0.9:4000", "10.0.0.1:5000", &(0..=255).cycle().take(4000).collect::<Vec<u8>>());
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
        // The reassembled datagram has the checksum of the whole, like that of the other sniffer,
        // which saw the whole.
        at_once.own = vec!["10.0.0.1".parse::<IpAddr>().unwrap()];
        let other = Sniffer { link: Link::Sll2, frames: Vec::new(), ..at_once.clone() };
        let mut other = other;
        other.see(
            0,
            &Packet {
                id: 78,
                fragment: 0,
                ..udp(
                    "10.0.0.9:4000",
                    "10.0.0.1:5000",
                    &(0..=255).cycle().take(4000).collect::<Vec<u8>>(),
                )
            },
        );
        let outcome = Bench::from_sniffers(&[("a.pcap", &sniffer), ("b.pcap", &other)]).run();
        assert_eq!(outcome.lines(), ["a/a => b/b:5000 4000 2 5000"]);
        assert_eq!(outcome.counts.datagrams.matched, 1);
    }
    let mut sniffer = Sniffer::new(Link::Ethernet);
    sniffer.see(0, &pieces[0]);
    sniffer.see(0, &udp("10.0.0.9:4000", "10.0.0.1:5000", b"x"));
    let outcome = Bench::from_sniffers(&[("a.pcap", &sniffer)]).run();
    assert_eq!(outcome.summary.skipped.causes["fragments of incomplete packets"], 1);
}

#[test]
fn cut_packets_keep_their_sizes() {
    let mut sniffer = Sniffer::new(Link::Ethernet).cut(66);
    exchange(&mut sniffer, CLIENT, SERVER);
    assert_eq!(Bench::from_sniffers(&[("x.pcap", &sniffer)]).run().lines(), EXCHANGE);
    // Twenty bytes of TCP are enough; fewer are not.
    let mut sniffer = Sniffer::new(Link::Ethernet).cut(54);
    exchange(&mut sniffer, CLIENT, SERVER);
    assert_eq!(Bench::from_sniffers(&[("x.pcap", &sniffer)]).run().lines(), EXCHANGE);
    let mut sniffer = Sniffer::new(Link::Ethernet).cut(53);
    exchange(&mut sniffer, CLIENT, SERVER);
    sniffer.snap = 100;
    // A datagram that was not captured as a whole is matched by its ends and its size.
    let (mut client, mut server) = (sniffer.clone(), Sniffer::new(Link::Ethernet).cut(80));
    let packet = udp("10.0.0.9:4000", "10.0.0.1:5000", &[5; 500]);
    client.see(MS, &packet);
    server.see(2 * MS, &packet);
    server.see(2 * MS, &udp("10.0.0.1:5000", "10.0.0.7:5000", &[5; 500]));
    let outcome = Bench::from_sniffers(&[("client.pcap", &client), ("server.pcap", &server)]).run();
    assert_eq!(outcome.summary.skipped.causes["truncated headers"], 10);
    assert!(
        outcome.has_note("datagrams not captured as a whole: 3"),
        "{:?}",
        outcome.summary.notes
    );
}

#[test]
fn packets_without_messages_are_counted() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    let mut arp = sniffer.frames[0].clone();
    arp.bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    let ping = Packet { protocol: 1, ..udp(CLIENT, SERVER, b"") };
    sniffer.frames.push(arp);
    sniffer.see(80_000, &ping);
    sniffer.see(80_000, &Packet { protocol: 132, ..ping.clone() });
    sniffer.see(80_000, &Packet { body: vec![0; 20], ..tcp(CLIENT, SERVER, 1, 1, ACK, b"") });
    let bench = Bench::from_sniffers(&[("x.pcap", &sniffer)]);
    let outcome = bench.run();
    assert_eq!(outcome.lines(), EXCHANGE);
    let causes = outcome.summary.skipped.causes;
    for cause in ["not IP", "ICMP", "other protocol than TCP and UDP", "damaged TCP header"] {
        assert_eq!(causes.get(cause), Some(&1), "{cause}");
    }
    let captured = SnifferReport::read_all(&bench.data()).unwrap();
    assert_eq!(captured[0].skipped.get("ICMP"), Some(&1));
    assert_eq!((captured[0].frames, captured[0].packets, captured.len()), (14, 10, 1));
    assert_eq!((captured[0].sniffer.as_str(), captured[0].hosts.len()), ("x", 2));
    let unknown = PLAIN.file(105, &sniffer.frames);
    let mut bench = Bench::new();
    bench.add("wireless.pcap", &unknown);
    let error = bench.import().unwrap_err().to_string();
    assert!(error.contains("unknown link type: 14") && error.contains("IEEE 802.11"), "{error}");
}
