//! Segmentation offload of UDP: one sniffer sees a send whole, and another one the pieces that a
//! network card has made of it.

use super::bench::*;
use super::wire::*;

const FROM: &str = "10.0.0.9:40000";
const TO: &str = "10.0.0.1:443";

/// The payload of a turn's send, which is in pieces of 500 bytes on the wire.
fn payload(turn: u8) -> Vec<u8> {
    (0..1700u32).map(|at| (at * at / 5 + at + u32::from(turn) * 77) as u8).collect()
}

/// One host sends several datagrams in one call and is answered, in turns; each has a sniffer, of
/// different clocks, without the direction of packets.
fn captures(snap: usize) -> [Sniffer; 2] {
    let mut sender = Sniffer::new(Link::Ethernet).cut(snap);
    let mut receiver = Sniffer::new(Link::Ethernet).ahead(3_600_000 * MS).cut(snap);
    for turn in 0..4 {
        let at = i64::from(turn) * 20 * MS;
        let all = payload(turn);
        sender.see(at + MS, &udp(FROM, TO, &all));
        for (piece, bytes) in all.chunks(500).enumerate() {
            receiver.see(at + (3 + piece as i64) * MS, &udp(FROM, TO, bytes));
        }
        let answer = udp(TO, FROM, &[turn; 40]);
        receiver.see(at + 10 * MS, &answer);
        sender.see(at + 12 * MS, &answer);
    }
    [sender, receiver]
}

#[test]
fn a_send_becomes_the_datagrams_that_the_receiver_saw() {
    // As a whole, and cut off, so that only sizes are known.
    for snap in [usize::MAX, 200] {
        let [sender, receiver] = captures(snap);
        for order in [false, true] {
            let mut both = [("sender.pcap", &sender), ("receiver.pcap", &receiver)];
            if order {
                both.reverse();
            }
            let outcome = Bench::from_sniffers(&both).run();
            let hour = 3_600_000_000i64;
            let mut expected: Vec<String> = (0..4)
                .flat_map(|turn| {
                    let at = turn * 20_000;
                    let piece = move |(piece, bytes): (i64, i64)| {
                        let arrived = hour + at + 3_000 + piece * 1_000;
                        format!(
                            "sender/sender => receiver/receiver:443 {bytes} {} {arrived}",
                            at + 1_000
                        )
                    };
                    let answer = format!(
                        "receiver/receiver:443 -> sender/sender 40 {} {}",
                        hour + at + 10_000,
                        at + 12_000
                    );
                    [(0, 500), (1, 500), (2, 500), (3, 200)].map(piece).into_iter().chain([answer])
                })
                .collect();
            expected.sort();
            let mut lines = outcome.lines();
            lines.sort();
            assert_eq!(lines, expected, "{snap} {order}");
            let counts = outcome.counts.datagrams;
            assert_eq!((counts.sent, counts.received, counts.matched), (20, 20, 20));
        }
    }
}

/// Data that was not cut anywhere is a single message.
#[test]
fn one_sniffer_alone_sees_one_message() {
    let [sender, _] = captures(usize::MAX);
    let outcome = Bench::from_sniffers(&[("sender.pcap", &sender)]).run();
    let of_sender = outcome.lines().iter().filter(|line| line.contains(" 1700 ")).count();
    assert_eq!((of_sender, outcome.trace.len()), (4, 8), "{:#?}", outcome.lines());
}

/// Cut off by the sniffers, so that only sizes are known: a datagram that is whole at both ends
/// stays whole, whatever the sizes of others add up to.
#[test]
fn datagrams_of_a_short_snap_length_are_not_cut() {
    // The captures have the direction of packets, so that each end's times are those of its own
    // sniffer.
    let mut sender = Sniffer::new(Link::Sll).on(&["10.0.0.9"]).cut(100);
    let mut receiver = Sniffer::new(Link::Sll).on(&["10.0.0.1"]).cut(120);
    for (number, size) in [1000, 500, 500, 1500, 300].into_iter().enumerate() {
        let at = number as i64 * MS;
        let packet = udp(FROM, TO, &vec![number as u8; size]);
        sender.see(at, &packet);
        receiver.see(at + 10 * MS, &packet);
    }
    let outcome =
        Bench::from_sniffers(&[("sender.pcap", &sender), ("receiver.pcap", &receiver)]).run();
    let sizes: Vec<i64> = outcome.trace.messages().map(|message| message.bytes).collect();
    assert_eq!((sizes, outcome.counts.both_ends), (vec![1000, 500, 500, 1500, 300], 5));
}
