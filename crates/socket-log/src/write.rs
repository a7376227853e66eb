//! Maker of logs from outside of the process: the same bytes that the preloaded library would
//! leave, from a few calls.
//!
//! It is for tools that observed the sockets in another way (`sockcap import` of `strace` output or
//! of packets), and for tests (feature `write`). It uses [`encode`] and [`layout`](crate::layout)
//! like the real writer, so that there is only one layout. Ticks are nanoseconds of
//! `CLOCK_MONOTONIC`. The wall clock is [`EPOCH`] later, unless [`LogWriter::set_epoch`] changes
//! the difference: with an epoch of 0 ticks are nanoseconds since the Unix epoch.
//!
//! The log is held in memory until it is written, four bytes a word, unless it is spilled
//! ([`LogWriter::spill_full_chunks`]).

mod chunks;
mod header;
mod sockets;
mod spill;

use std::collections::BTreeMap;
use std::mem::offset_of;

use crate::encode::{
    self, ConnectOutcome, DatagramRecord, Direction, FlowOrigin, FlowRecord, FlowRole,
    ProcessEvent, RareWords, SnippetHeader,
};
use crate::layout::{
    ANCHOR_REACH, CHUNK_BYTES, CHUNK_WORDS, FileHeader, HEADER_BYTES, LARGEST_SNIPPET_BYTES, MAGIC,
    SHORT_DATAGRAM_WORDS, VERSION, tick,
};

use crate::tuning::REMEMBERED_PEERS;

pub use sockets::{
    SCTP, SocketParameters, TCP, TCP6, UDP, UNIX_DATAGRAM, UNIX_SEQUENCE, UNIX_STREAM, VSOCK,
    inet_address, mapped_address, unix_address, vsock_address,
};

/// Wall-clock time at tick 0, in nanoseconds since the Unix epoch.
pub const EPOCH: i64 = 1_700_000_000_000_000_000;

/// State of a thread.
#[derive(Clone, Copy, Debug)]
struct ThreadCursor {
    /// Index of the thread's current chunk.
    chunk: usize,
    /// Ticks of the latest anchor in the chunk.
    anchor: u64,
    /// Ticks of the latest transfer or anchor in the chunk.
    latest: u64,
}

/// Log in the making: a process, its flows, and the records of its threads.
#[derive(Clone, Debug)]
pub struct LogWriter {
    /// Bytes of the header page.
    header: Vec<u8>,
    /// Words of each chunk; none for a chunk that was spilled.
    chunks: Vec<Vec<u32>>,
    /// State of each thread, by its id.
    threads: BTreeMap<u32, ThreadCursor>,
    /// Peer of the latest datagram in the long form and its chunk, by thread, flow and direction.
    peers: BTreeMap<(u32, u32, Direction), (usize, Vec<u8>)>,
    /// Id of the thread that writes the next record.
    tid: u32,
    /// Cookie of the network namespace of sockets (`SO_NETNS_COOKIE`).
    namespace: u64,
    /// Wall-clock time at tick 0, in nanoseconds since the Unix epoch.
    epoch: i64,
    /// Beginning of the log, in ticks.
    start: u64,
    /// Indices of full chunks that are not in the file yet.
    full: Vec<usize>,
    /// Indices of chunks of ended threads.
    free: Vec<usize>,
    /// Number of words that must still fit into the chunk after the next record.
    room_after: usize,
}

impl LogWriter {
    /// Log of process `pid`, begun at tick 0, on a host named `host` running `executable`. Records
    /// are written by the thread `pid` until `LogWriter::set_thread` sets another one.
    pub fn new(host: &str, pid: u32, executable: &str) -> LogWriter {
        let mut this = LogWriter {
            header: vec![0; HEADER_BYTES],
            chunks: Vec::new(),
            threads: BTreeMap::new(),
            peers: BTreeMap::new(),
            tid: pid,
            namespace: 0,
            epoch: EPOCH,
            start: 0,
            full: Vec::new(),
            free: Vec::new(),
            room_after: 0,
        };
        this.put_bytes(offset_of!(FileHeader, magic), &MAGIC.to_le_bytes());
        let words = [
            (offset_of!(FileHeader, version), VERSION),
            (offset_of!(FileHeader, header_bytes), HEADER_BYTES as u32),
            (offset_of!(FileHeader, chunk_bytes), CHUNK_BYTES as u32),
            (offset_of!(FileHeader, tick_clock), tick::MONOTONIC),
            (offset_of!(FileHeader, pid), pid),
            (offset_of!(FileHeader, parent_pid), 1),
        ];
        for (at, word) in words {
            this.put_bytes(at, &word.to_le_bytes());
        }
        this.put_bytes(offset_of!(FileHeader, boot_id), &[7; 16]);
        this.put_bytes(offset_of!(FileHeader, host), host.as_bytes());
        this.put_bytes(offset_of!(FileHeader, executable), executable.as_bytes());
        this.set_epoch(EPOCH);
        this
    }

    /// Sets the thread that writes the following records.
    pub fn set_thread(&mut self, tid: u32) -> &mut LogWriter {
        self.tid = tid;
        self
    }

    /// Sets the cookie (`SO_NETNS_COOKIE`) of the network namespace of the following sockets. It is
    /// not the inode that [`set_namespace`](LogWriter::set_namespace) sets.
    pub fn sockets_in(&mut self, namespace: u64) -> &mut LogWriter {
        self.namespace = namespace;
        self
    }

    /// Writes a flow that the process obtained by `origin`.
    pub fn flow(
        &mut self,
        ticks: u64,
        flow: u32,
        socket: SocketParameters,
        origin: FlowOrigin,
        cookie: u64,
    ) -> &mut LogWriter {
        let SocketParameters { domain, kind, protocol } = socket;
        let (fd, namespace) = (flow as i32 + 2, self.namespace);
        let flow =
            FlowRecord { flow, fd, domain, kind, protocol, origin, cookie, listener: 0, namespace };
        self.raw_record(ticks, encode::flow_record(ticks, &flow).as_slice())
    }

    /// Writes the names of a flow's ends, raw `sockaddr`s as from [`inet_address`] and
    /// [`unix_address`].
    pub fn endpoints(
        &mut self,
        ticks: u64,
        flow: u32,
        role: FlowRole,
        local: &[u8],
        peer: &[u8],
        peer_pid: u32,
    ) -> &mut LogWriter {
        self.raw_record(
            ticks,
            encode::endpoints_record(ticks, flow, role, local, peer, peer_pid, None).as_slice(),
        )
    }

    /// Writes the names of the ends of a flow that was connected by a call which began `took` ticks
    /// before.
    pub fn endpoints_connected(
        &mut self,
        ticks: u64,
        flow: u32,
        took: u64,
        [local, peer]: [&[u8]; 2],
        peer_pid: u32,
    ) -> &mut LogWriter {
        let connect = Some(ConnectOutcome { took, under_way: false });
        let words = encode::endpoints_record(
            ticks,
            flow,
            FlowRole::Connect,
            local,
            peer,
            peer_pid,
            connect,
        );
        self.raw_record(ticks, words.as_slice())
    }

    /// Writes the names of the ends of a flow with a connection in progress, begun `took` ticks
    /// before by a call that has returned.
    pub fn endpoints_connecting(
        &mut self,
        ticks: u64,
        flow: u32,
        took: u64,
        [local, peer]: [&[u8]; 2],
        peer_pid: u32,
    ) -> &mut LogWriter {
        let connect = Some(ConnectOutcome { took, under_way: true });
        let words = encode::endpoints_record(
            ticks,
            flow,
            FlowRole::Connect,
            local,
            peer,
            peer_pid,
            connect,
        );
        self.raw_record(ticks, words.as_slice())
    }

    /// Writes bytes sent or received on a stream.
    pub fn transfer(
        &mut self,
        ticks: u64,
        flow: u32,
        direction: Direction,
        bytes: u64,
    ) -> &mut LogWriter {
        match encode::transfer_common(direction, flow, ticks, bytes, 0) {
            Some(words) => self.raw_record(ticks, &words),
            None => self.raw_record(
                ticks,
                encode::transfer_long(direction, flow, ticks, bytes, 0).as_slice(),
            ),
        }
    }

    /// Writes bytes sent or received on a stream, and hashes of rare words among them.
    pub fn transfer_with_words(
        &mut self,
        ticks: u64,
        flow: u32,
        direction: Direction,
        bytes: u64,
        words: &RareWords,
    ) -> &mut LogWriter {
        let record: Vec<u32> = [encode::rare_words_head(direction, flow, words.as_slice().len())]
            .into_iter()
            .chain(words.as_slice().iter().copied())
            .collect();
        self.room_after = record.len();
        self.transfer(ticks, flow, direction, bytes);
        self.room_after = 0;
        if words.as_slice().is_empty() { self } else { self.raw_record(ticks, &record) }
    }

    /// Writes bytes sent on a stream.
    pub fn send(&mut self, ticks: u64, flow: u32, bytes: u64) -> &mut LogWriter {
        self.transfer(ticks, flow, Direction::Send, bytes)
    }

    /// Writes bytes received on a stream.
    pub fn receive(&mut self, ticks: u64, flow: u32, bytes: u64) -> &mut LogWriter {
        self.transfer(ticks, flow, Direction::Receive, bytes)
    }

    /// Writes a datagram. A datagram to the same peer as the previous one takes the common form, as
    /// in the real writer.
    pub fn datagram(&mut self, datagram: &DatagramRecord) -> &mut LogWriter {
        let place = (self.tid, datagram.flow, datagram.direction);
        let fits = |thread: &&ThreadCursor| {
            self.chunks
                .get(thread.chunk)
                .is_some_and(|chunk| chunk.len() + SHORT_DATAGRAM_WORDS <= CHUNK_WORDS)
                && datagram.ticks.abs_diff(thread.anchor) <= ANCHOR_REACH
        };
        let chunk = self.threads.get(&self.tid).filter(fits).map(|thread| thread.chunk);
        let is_same =
            |(known, peer): &(usize, Vec<u8>)| Some(*known) == chunk && peer == datagram.peer;
        match encode::datagram_short(datagram)
            .filter(|_| self.peers.get(&place).is_some_and(is_same))
        {
            Some(words) => self.raw_record(datagram.ticks, &words),
            None => {
                self.raw_record(datagram.ticks, encode::datagram_long(datagram).as_slice());
                if self.peers.len() >= REMEMBERED_PEERS {
                    self.peers.clear();
                }
                if let Some(thread) = self.threads.get(&self.tid) {
                    self.peers.insert(place, (thread.chunk, datagram.peer.to_vec()));
                }
                self
            }
        }
    }

    /// Writes the bytes of a snippet, in as many records as needed; `head` has all other facts.
    pub fn snippet(&mut self, head: &SnippetHeader, bytes: &[u8]) -> &mut LogWriter {
        let parts = bytes.len().div_ceil(LARGEST_SNIPPET_BYTES).max(1);
        let mut rest = bytes;
        for part in 0..parts {
            let (piece, after) = rest.split_at(rest.len().min(LARGEST_SNIPPET_BYTES));
            let words = encode::snippet_header(&SnippetHeader {
                offset: head.offset.saturating_add((part * LARGEST_SNIPPET_BYTES) as u32),
                length: piece.len() as u32,
                continues: head.continues || part > 0,
                cut: head.cut && part + 1 == parts,
                ..*head
            });
            let words: Vec<u32> = words.into_iter().chain(encode::padded_words(piece)).collect();
            self.raw_record(head.ticks, &words);
            rest = after;
        }
        self
    }

    /// Writes that two flows are the ends of one `socketpair`.
    pub fn socket_pair(&mut self, ticks: u64, first: u32, second: u32) -> &mut LogWriter {
        self.raw_record(ticks, encode::socket_pair_record(ticks, first, second).as_slice())
    }

    /// Writes that a descriptor of a flow was closed.
    pub fn close(&mut self, ticks: u64, flow: u32) -> &mut LogWriter {
        self.raw_record(ticks, encode::close_record(ticks, flow, flow as i32 + 2).as_slice())
    }

    /// Writes an event of the process.
    pub fn process_event(&mut self, ticks: u64, event: ProcessEvent, value: i32) -> &mut LogWriter {
        self.raw_record(ticks, encode::process_record(ticks, event, value).as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogRecord, SocketLog};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
        /// Whichever of several threads, flows and directions a datagram belongs to, its peer is
        /// read back, and most records to one peer in succession omit it.
        #[test]
        fn the_peers_of_datagrams_are_read_back(
            what in prop::collection::vec((1u32..3, 1u32..3, any::<bool>(), 0usize..4, 1u64..2_000_000_000), 0..400),
        ) {
            let names = [
                Vec::new(),
                inet_address("10.0.0.1:53".parse().unwrap()),
                inet_address("[fe80::1]:53".parse().unwrap()),
                unix_address("/run/log"),
            ];
            let mut writer = LogWriter::new("h", 1, "/x");
            let (mut expected, mut ticks) = (Vec::new(), 0);
            for (index, (tid, flow, sent, peer, pause)) in what.into_iter().enumerate() {
                // Sometimes so long that an anchor comes in between.
                ticks += if index % 16 == 0 { pause } else { 100 };
                let direction = if sent { Direction::Send } else { Direction::Receive };
                let datagram = DatagramRecord {
                    direction, flow, ticks, duration: 5, bytes: 70, checksum: index as u32, flags: 0, peer: &names[peer],
                };
                writer.set_thread(tid).datagram(&datagram);
                expected.push((index as u32, tid, ticks, flow, direction, crate::SocketName::from_sockaddr(&names[peer])));
            }
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.sclog");
            writer.write_file(&path).unwrap();
            let mut found = Vec::new();
            let damage = SocketLog::open(&path).unwrap().for_each(|entry| {
                if let LogRecord::Datagram { direction, flow, bytes: 70, checksum, peer, .. } = entry.record {
                    found.push((checksum, entry.tid, entry.ticks, flow, direction, peer));
                }
            });
            found.sort_by_key(|found| found.0);
            prop_assert_eq!(damage, []);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_datagram_to_the_same_peer_takes_sixteen_bytes() {
        let mut writer = LogWriter::new("h", 1, "/x");
        let peer = inet_address("10.0.0.1:53".parse().unwrap());
        for ticks in 0..240 {
            let datagram = DatagramRecord {
                direction: Direction::Send,
                flow: 1,
                ticks,
                duration: 0,
                bytes: 9,
                checksum: 1,
                flags: 0,
                peer: &peer,
            };
            writer.datagram(&datagram);
        }
        assert_eq!(writer.to_bytes().len(), HEADER_BYTES + CHUNK_BYTES);
    }
}
