//! Datagrams: each has its own peer, though most records leave it out, and takes little room.

use std::process::Command;

use end_to_end::capture::{Recording, successful};
use socket_log::encode::Direction::{Receive, Send};
use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES};
use socket_log::{Record, SocketName};

#[test]
fn each_datagram_has_its_own_peer_also_under_signals() {
    let recording = Recording::new();
    let printed = successful(&mut recording.command(recording.compile("datagrams")));
    let numbers: Vec<u64> =
        printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let (ports, sent) = numbers.split_at(4);
    let log = recording.log();
    let mut count = 0;
    for record in log.records() {
        let Record::Datagram { direction: Send, bytes, peer, .. } = record else { continue };
        let Some(SocketName::Inet(peer)) = peer else { panic!("number {count} has no peer") };
        assert_eq!(
            u64::from(peer.port()),
            ports[(bytes - 100) as usize],
            "number {count}, {bytes} bytes"
        );
        count += 1;
    }
    assert_eq!(count, sent[0]);
}

#[test]
fn a_datagram_takes_little_more_than_sixteen_bytes() {
    let recording = Recording::new();
    recording.python(
        "import socket
one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for n in range(2))
one.bind(('127.0.0.1', 0)); other.bind(('127.0.0.1', 0))
for n in range(5000):
    one.sendto(b'question', other.getsockname()); other.sendto(b'answer', other.recvfrom(99)[1]); one.recvfrom(99)",
    );
    let log = recording.log();
    let datagrams =
        log.records().filter(|record| matches!(record, Record::Datagram { .. })).count();
    assert_eq!(datagrams, 20_000);
    let bytes = log.log.chunks().count() * CHUNK_BYTES + HEADER_BYTES;
    // Four of a chunk's 254 name their peers: two sockets, two directions.
    assert!(bytes <= 20 * datagrams, "{bytes} bytes for {datagrams} datagrams");
}

#[test]
fn names_that_were_cut_in_a_batch_are_not_made_up() {
    let recording = Recording::new();
    let program = recording.compile("cut_names");
    let plain = successful(&mut Command::new(&program));
    assert_eq!(successful(&mut recording.command(&program)), plain);
    let log = recording.log();
    let mut peers = Vec::new();
    for record in log.records() {
        if let Record::Datagram { direction: Receive, bytes, peer, .. } = record {
            peers.push((*bytes, peer.is_some()));
        }
    }
    assert_eq!(peers, [(1, true), (2, false), (3, false), (4, false), (5, true)]);
}
