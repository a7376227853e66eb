//! Datagrams: each has its own peer, though most records omit it, and takes little room.

use std::process::Command;

use end_to_end::capture::{TestRecording, run_successfully};
use socket_log::encode::Direction::{Receive, Send};
use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES};
use socket_log::{LogRecord, SocketName};

#[test]
fn each_datagram_has_its_own_peer_also_under_signals() {
    let recording = TestRecording::new();
    let printed =
        run_successfully(&mut recording.recorded_command(recording.compile_program("datagrams")));
    let numbers: Vec<u64> =
        printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let (ports, sent) = numbers.split_at(4);
    let log = recording.only_log();
    let mut count = 0;
    for record in log.complete_records() {
        let LogRecord::Datagram { direction: Send, bytes, peer, .. } = record else { continue };
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
    let recording = TestRecording::new();
    recording.run_python(
        "import socket
one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for n in range(2))
one.bind(('127.0.0.1', 0)); other.bind(('127.0.0.1', 0))
for n in range(5000):
    one.sendto(b'question', other.getsockname()); other.sendto(b'answer', other.recvfrom(99)[1]); one.recvfrom(99)",
    );
    let log = recording.only_log();
    let datagrams = log
        .complete_records()
        .filter(|record| matches!(record, LogRecord::Datagram { .. }))
        .count();
    assert_eq!(datagrams, 20_000);
    let bytes = log.log.chunks().count() * CHUNK_BYTES + HEADER_BYTES;
    // Four of a chunk's 254 name their peers: two sockets, two directions.
    assert!(bytes <= 20 * datagrams, "{bytes} bytes for {datagrams} datagrams");
}

#[test]
fn truncated_names_in_a_batch_are_not_invented() {
    let recording = TestRecording::new();
    let program = recording.compile_program("cut_names");
    let plain = run_successfully(&mut Command::new(&program));
    assert_eq!(run_successfully(&mut recording.recorded_command(&program)), plain);
    let log = recording.only_log();
    let mut peers = Vec::new();
    for record in log.complete_records() {
        if let LogRecord::Datagram { direction: Receive, bytes, peer, .. } = record {
            peers.push((*bytes, peer.is_some()));
        }
    }
    assert_eq!(peers, [(1, true), (2, false), (3, false), (4, false), (5, true)]);
}
