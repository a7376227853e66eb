//! Joined datagrams: one side saw them joined, with a size that it could not see, and the other
//! side did not. Segmentation offload in the records of strace and packets.

use socket_log::encode::{DatagramRecord, Direction, datagram_flag};
use socket_log::write::LogWriter;

use crate::common::{Outcome, System, address, bind, log};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:53";
const JOINED: u8 = datagram_flag::JOINED;
const UNCHECKED: u8 = JOINED | datagram_flag::NO_CHECKSUM;

/// The bytes of a stream of datagrams: no two places are alike.
fn bytes(from: usize, to: usize) -> Vec<u8> {
    (from..to).map(|at| (at * at / 7 + at) as u8).collect()
}

/// A client that sends and a server that receives datagrams with these bytes, at these times.
struct Pair {
    client: LogWriter,
    server: LogWriter,
}

impl Pair {
    fn new() -> Pair {
        let (mut client, mut server) = (log(10, "client"), log(20, "server"));
        bind(&mut client, 100, 1, 11, CLIENT);
        bind(&mut server, 50, 1, 12, SERVER);
        client.set_source(socket_log::layout::source::STRACE);
        server.set_source(socket_log::layout::source::STRACE);
        Pair { client, server }
    }

    fn moved(&mut self, direction: Direction, ticks: u64, (from, to): (usize, usize), flags: u8) {
        let (log, peer) = match direction {
            Direction::Send => (&mut self.client, SERVER),
            Direction::Receive => (&mut self.server, CLIENT),
        };
        let is_checked = flags & datagram_flag::NO_CHECKSUM == 0;
        log.datagram(&DatagramRecord {
            direction,
            flow: 1,
            ticks,
            duration: 1,
            bytes: (to - from) as u64,
            checksum: if is_checked { crc32fast::hash(&bytes(from, to)) } else { 0 },
            flags,
            peer: &address(peer),
        });
    }

    fn sends(mut self, ticks: u64, place: (usize, usize), flags: u8) -> Pair {
        self.moved(Direction::Send, ticks, place, flags);
        self
    }

    fn receives(mut self, ticks: u64, place: (usize, usize), flags: u8) -> Pair {
        self.moved(Direction::Receive, ticks, place, flags);
        self
    }

    fn reconcile(&self) -> Outcome {
        System::new().add("one", "a", &self.client).add("one", "b", &self.server).reconcile()
    }

    /// Expects these messages, all with both ends.
    fn check(&self, lines: &[&str]) {
        let outcome = self.reconcile();
        assert_eq!(outcome.lines(), lines);
        let counts = outcome.counts.datagrams;
        let all = lines.len() as u64;
        assert_eq!((counts.sent, counts.received, counts.matched, counts.lost), (all, all, all, 0));
    }
}

#[test]
fn a_joined_send_is_cut_as_it_was_received() {
    Pair::new()
        .sends(1000, (0, 250), JOINED)
        .sends(2000, (250, 300), 0)
        .sends(3000, (300, 520), JOINED)
        .receives(1010, (0, 100), 0)
        .receives(1020, (100, 200), 0)
        .receives(1030, (200, 250), 0)
        .receives(2010, (250, 300), 0)
        .receives(3010, (300, 410), 0)
        .receives(3020, (410, 520), 0)
        .check(&[
            "client => server 100 1000 1010",
            "client => server 100 1000 1020",
            "client => server 50 1000 1030",
            "client => server 50 2000 2010",
            "client => server 110 3000 3010",
            "client => server 110 3000 3020",
        ]);
}

#[test]
fn a_joined_receive_is_cut_as_it_was_sent() {
    Pair::new()
        .sends(1000, (0, 100), 0)
        .sends(1001, (100, 200), 0)
        .sends(1002, (200, 230), 0)
        .receives(1010, (0, 230), JOINED)
        .check(&[
            "client => server 100 1000 1010",
            "client => server 100 1001 1010",
            "client => server 30 1002 1010",
        ]);
}

#[test]
fn both_sides_are_cut_at_the_boundaries_of_either() {
    Pair::new()
        .sends(1000, (0, 200), JOINED)
        .sends(1001, (200, 400), JOINED)
        .receives(1010, (0, 100), 0)
        .receives(1020, (100, 300), JOINED)
        .receives(1030, (300, 400), 0)
        .check(&[
            "client => server 100 1000 1010",
            "client => server 100 1000 1020",
            "client => server 100 1001 1020",
            "client => server 100 1001 1030",
        ]);
}

#[test]
fn sends_of_several_threads_may_arrive_in_another_order() {
    Pair::new()
        .sends(1000, (0, 200), JOINED)
        .sends(1001, (200, 400), JOINED)
        .receives(1010, (200, 300), 0)
        .receives(1011, (300, 400), 0)
        .receives(1020, (0, 100), 0)
        .receives(1021, (100, 200), 0)
        .check(&[
            "client => server 100 1000 1020",
            "client => server 100 1000 1021",
            "client => server 100 1001 1010",
            "client => server 100 1001 1011",
        ]);
}

#[test]
fn without_checksums_sizes_decide() {
    Pair::new()
        .sends(1000, (0, 250), UNCHECKED)
        .sends(2000, (250, 500), UNCHECKED)
        .receives(1010, (0, 100), datagram_flag::NO_CHECKSUM)
        .receives(1020, (100, 200), datagram_flag::NO_CHECKSUM)
        .receives(1030, (200, 250), datagram_flag::NO_CHECKSUM)
        .receives(2010, (250, 350), 0)
        .receives(2020, (350, 450), 0)
        .receives(2030, (450, 500), 0)
        .check(&[
            "client => server 100 1000 1010",
            "client => server 100 1000 1020",
            "client => server 50 1000 1030",
            "client => server 100 2000 2010",
            "client => server 100 2000 2020",
            "client => server 50 2000 2030",
        ]);
}

#[test]
fn without_checksums_sizes_decide_for_receives_too() {
    Pair::new()
        .sends(1000, (0, 100), datagram_flag::NO_CHECKSUM)
        .sends(1001, (100, 200), datagram_flag::NO_CHECKSUM)
        .sends(1002, (200, 230), 0)
        .receives(1010, (0, 230), UNCHECKED)
        .check(&[
            "client => server 100 1000 1010",
            "client => server 100 1001 1010",
            "client => server 30 1002 1010",
        ]);
}

#[test]
fn datagrams_that_are_not_joined_are_not_cut() {
    let outcome = Pair::new()
        .sends(1000, (0, 200), 0)
        .sends(2000, (600, 800), JOINED)
        .receives(1010, (0, 100), 0)
        .receives(1020, (100, 200), 0)
        .receives(2010, (600, 700), 0)
        .receives(2020, (700, 800), 0)
        .reconcile();
    assert_eq!(outcome.counts.datagrams.matched, 2, "{:?}", outcome.lines());
    // Other bytes, of the same sizes, and received before they were sent, by more time than strace
    // needs to write a line.
    let outcome = Pair::new()
        .sends(5_000_000, (0, 200), JOINED)
        .receives(900, (300, 400), 0)
        .receives(910, (400, 500), 0)
        .reconcile();
    assert_eq!(outcome.counts.datagrams.matched, 0, "{:?}", outcome.lines());
    // A remaining one of others is no evidence for this one.
    let outcome =
        Pair::new().sends(1000, (0, 900), JOINED).receives(1010, (900, 1000), 0).reconcile();
    assert_eq!(outcome.lines().len(), 2, "{:?}", outcome.lines());
    assert_eq!(outcome.counts.datagrams.matched, 0, "{:?}", outcome.lines());
}

#[test]
fn some_of_the_joined_datagrams_may_be_lost() {
    let outcome = Pair::new()
        .sends(1000, (0, 250), JOINED)
        .receives(1010, (0, 100), 0)
        .receives(1030, (200, 250), 0)
        .reconcile();
    assert_eq!(
        outcome.lines(),
        [
            "client => server 100 1000 -",
            "client => server 100 1000 1010",
            "client => server 50 1000 1030",
        ]
    );
    let counts = outcome.counts.datagrams;
    assert_eq!((counts.sent, counts.received, counts.matched, counts.lost), (3, 2, 2, 1));
}
