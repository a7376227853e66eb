//! Flows of packets: datagrams lost and overtaken, connections joined in their middle, and several
//! connections of the same names.

use super::bench::*;
use super::wire::*;

#[test]
fn lost_and_overtaken_datagrams_are_distinguished() {
    let (mut client, mut server) =
        (Sniffer::new(Link::Sll).on(&["10.0.0.9"]), Sniffer::new(Link::Sll).on(&["10.0.0.1"]));
    let packet = |number: u8| Packet {
        id: number.into(),
        ..udp("10.0.0.9:4000", "10.0.0.1:5000", &[number; 20])
    };
    for number in 0..10u8 {
        client.see(i64::from(number) * MS, &packet(number));
    }
    for (place, number) in [0u8, 1, 3, 2, 4, 6, 7, 8, 9].into_iter().enumerate() {
        server.see(20 * MS + place as i64 * MS, &packet(number));
    }
    let outcome = Bench::from_sniffers(&[("client.pcap", &client), ("server.pcap", &server)]).run();
    let datagrams = outcome.counts.datagrams;
    assert_eq!(
        (datagrams.sent, datagrams.received, datagrams.matched, datagrams.reordered),
        (10, 9, 9, 1)
    );
    assert_eq!(outcome.counts.send_only.values().sum::<u64>(), 1);
}

#[test]
fn a_connection_joined_in_its_middle_by_one_sniffer_has_the_bytes_of_both() {
    let mut sniffers = three_hosts([Link::Ethernet; 3]);
    // The web server's sniffer was started later, when the first two requests were over.
    let late = EPOCH + sniffers[1].offset + 35 * MS;
    sniffers[1].frames.retain(|frame| frame.time > late);
    let [client, web, db] = &sniffers;
    let outcome =
        Bench::from_sniffers(&[("client.pcap", client), ("web.pcap", web), ("db.pcap", db)]).run();
    let hour = 3_600_000_000i64;
    // From then on everything is matched as if all had been seen.
    for turn in 2..5 {
        let at = (10 + 20 * turn) * 1000;
        let expected = format!("client/client => web/web:80 100 {at} {}", hour + at + 1000);
        assert!(outcome.lines().contains(&expected), "{expected} {:#?}", outcome.lines());
    }
    assert_eq!(
        outcome.counts.stream_bytes.sent_only + outcome.counts.stream_bytes.received_only,
        0
    );
    assert!(
        outcome.has_note("connections joined after their beginning: "),
        "{:?}",
        outcome.summary.notes
    );
}

#[test]
fn connections_that_reuse_a_port_are_separate() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    let mut connection = Connection::new(CLIENT, SERVER);
    let mut other = Sniffer::new(Link::Ethernet);
    for turn in 0..3 {
        connection.next = [5_000_000 * (turn as u32 + 1), 77 + 1_000_000 * turn as u32];
        let at = turn * 1_000 * MS;
        connection.open(at, &mut [&mut sniffer, &mut other]);
        connection.exchange(at + 10 * MS, 100, 2000, &mut [&mut sniffer, &mut other]);
        // The second breaks off without a close.
        if turn != 1 {
            connection.close(at + 20 * MS, &mut [&mut sniffer, &mut other]);
        }
    }
    let outcome = Bench::from_sniffers(&[("x.pcap", &sniffer), ("y.pcap", &other)]).run();
    assert_eq!((outcome.counts.flows, outcome.counts.both_ends), (3, 6));
    assert_eq!(
        outcome.counts.stream_bytes.sent_only + outcome.counts.stream_bytes.received_only,
        0
    );
    assert_eq!(outcome.summary.skipped.total(), 0);
}
