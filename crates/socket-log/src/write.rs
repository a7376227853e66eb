//! Maker of logs from outside of the process: the same bytes that the preloaded library would
//! leave, from a few calls.
//!
//! It is for tools that saw the sockets in another way (`sockcap import` of `strace` output or of
//! packets), and for tests (feature `write`). It goes through [`encode`] and
//! [`layout`](crate::layout) like the real writer, so that there is one layout only. Ticks are
//! nanoseconds of `CLOCK_MONOTONIC`. The wall clock is [`EPOCH`] later, unless
//! [`LogWriter::set_epoch`] says otherwise: with an epoch of 0 ticks are nanoseconds since the Unix
//! epoch.
//!
//! The log is held in memory until it is written, four bytes a word, unless it is spilled
//! ([`LogWriter::spill`]).

mod header;
mod sockets;
mod spill;

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::mem::offset_of;

use data_files::DataPath;

use crate::duration;
use crate::encode::{self, Connect, Datagram, Direction, Flow, Head, Origin, ProcessEvent, Role};
use crate::layout::{
    ANCHOR_REACH, Anchor, CHUNK_BYTES, CHUNK_HEADER_WORDS, CHUNK_MAGIC, CHUNK_WORDS, FileHeader,
    HEADER_BYTES, LARGEST_HEAD_BYTES, MAGIC, SHORT_DATAGRAM_WORDS, SHORT_REACH, TRANSFER_WORDS,
    VERSION, kind, tick,
};

use crate::tuning::{NEW_FILE_MODE, REMEMBERED_PEERS};

pub use sockets::{
    SCTP, Socket, TCP, TCP6, UDP, UNIX_DATAGRAM, UNIX_SEQUENCE, UNIX_STREAM, VSOCK, inet, mapped,
    unix, vsock,
};

/// Wall-clock time at tick 0, in nanoseconds since the Unix epoch.
pub const EPOCH: i64 = 1_700_000_000_000_000_000;

/// State of a thread.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// Index of its current chunk.
    chunk: usize,
    /// Ticks of the latest anchor in it.
    anchor: u64,
    /// Ticks of the latest transfer or anchor in it.
    latest: u64,
}

/// Log in the making: a process, its flows, and the records of its threads.
#[derive(Clone, Debug)]
pub struct LogWriter {
    header: Vec<u8>,
    chunks: Vec<Vec<u32>>,
    threads: BTreeMap<u32, Thread>,
    /// Peer of the latest datagram in the long form and its chunk, by thread, flow and direction.
    peers: BTreeMap<(u32, u32, Direction), (usize, Vec<u8>)>,
    tid: u32,
    /// Network namespace of sockets.
    namespace: u64,
    epoch: i64,
    start: u64,
    /// Indices of chunks that no thread goes on in and that are not in the file yet.
    full: Vec<usize>,
    /// Indices of chunks whose thread has ended.
    free: Vec<usize>,
}

impl LogWriter {
    /// Log of process `pid`, begun at tick 0, on a host named `host` running `executable`. Records
    /// are written by the thread `pid` until [`LogWriter::thread`] names another.
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
        };
        this.put(offset_of!(FileHeader, magic), &MAGIC.to_le_bytes());
        let words = [
            (offset_of!(FileHeader, version), VERSION),
            (offset_of!(FileHeader, header_bytes), HEADER_BYTES as u32),
            (offset_of!(FileHeader, chunk_bytes), CHUNK_BYTES as u32),
            (offset_of!(FileHeader, tick_clock), tick::MONOTONIC),
            (offset_of!(FileHeader, pid), pid),
            (offset_of!(FileHeader, parent_pid), 1),
        ];
        for (at, word) in words {
            this.put(at, &word.to_le_bytes());
        }
        this.put(offset_of!(FileHeader, boot_id), &[7; 16]);
        this.put(offset_of!(FileHeader, host), host.as_bytes());
        this.put(offset_of!(FileHeader, executable), executable.as_bytes());
        this.set_epoch(EPOCH);
        this
    }

    /// Sets the thread that writes the following records.
    pub fn thread(&mut self, tid: u32) -> &mut LogWriter {
        self.tid = tid;
        self
    }

    /// Sets the kernel's id of the network namespace of the sockets from here on.
    pub fn sockets_in(&mut self, namespace: u64) -> &mut LogWriter {
        self.namespace = namespace;
        self
    }

    /// Writes a flow that the process came to by `origin`.
    pub fn flow(
        &mut self,
        ticks: u64,
        flow: u32,
        socket: Socket,
        origin: Origin,
        cookie: u64,
    ) -> &mut LogWriter {
        let Socket { domain, kind, protocol } = socket;
        let (fd, namespace) = (flow as i32 + 2, self.namespace);
        let flow =
            Flow { flow, fd, domain, kind, protocol, origin, cookie, listener: 0, namespace };
        self.record(ticks, encode::flow(ticks, &flow).as_slice())
    }

    /// Writes the names of a flow's ends, see [`inet`] and [`unix`].
    pub fn endpoints(
        &mut self,
        ticks: u64,
        flow: u32,
        role: Role,
        local: &[u8],
        peer: &[u8],
        peer_pid: u32,
    ) -> &mut LogWriter {
        self.record(
            ticks,
            encode::endpoints(ticks, flow, role, local, peer, peer_pid, None).as_slice(),
        )
    }

    /// Writes the names of the ends of a flow that connected by a call `took` ticks before.
    pub fn connected(
        &mut self,
        ticks: u64,
        flow: u32,
        took: u64,
        [local, peer]: [&[u8]; 2],
        peer_pid: u32,
    ) -> &mut LogWriter {
        let connect = Some(Connect { took, under_way: false });
        let words = encode::endpoints(ticks, flow, Role::Connect, local, peer, peer_pid, connect);
        self.record(ticks, words.as_slice())
    }

    /// Writes the names of the ends of a flow whose connection is being made, by a call `took`
    /// ticks before that has returned.
    pub fn connecting(
        &mut self,
        ticks: u64,
        flow: u32,
        took: u64,
        [local, peer]: [&[u8]; 2],
        peer_pid: u32,
    ) -> &mut LogWriter {
        let connect = Some(Connect { took, under_way: true });
        let words = encode::endpoints(ticks, flow, Role::Connect, local, peer, peer_pid, connect);
        self.record(ticks, words.as_slice())
    }

    /// Writes bytes sent or received on a stream.
    pub fn transfer(
        &mut self,
        ticks: u64,
        flow: u32,
        direction: Direction,
        bytes: u64,
    ) -> &mut LogWriter {
        match encode::transfer(direction, flow, ticks, bytes, 0) {
            Some(words) => self.record(ticks, &words),
            None => self
                .record(ticks, encode::transfer_long(direction, flow, ticks, bytes, 0).as_slice()),
        }
    }

    /// Writes bytes sent on a stream.
    pub fn send(&mut self, ticks: u64, flow: u32, bytes: u64) -> &mut LogWriter {
        self.transfer(ticks, flow, Direction::Send, bytes)
    }

    /// Writes bytes received on a stream.
    pub fn receive(&mut self, ticks: u64, flow: u32, bytes: u64) -> &mut LogWriter {
        self.transfer(ticks, flow, Direction::Receive, bytes)
    }

    /// Writes a datagram. One to the same peer as the one before takes the common form, as the real
    /// writer has it.
    pub fn datagram(&mut self, datagram: &Datagram) -> &mut LogWriter {
        let place = (self.tid, datagram.flow, datagram.direction);
        let fits = |thread: &&Thread| {
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
            Some(words) => self.record(datagram.ticks, &words),
            None => {
                self.record(datagram.ticks, encode::datagram(datagram).as_slice());
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

    /// Writes the bytes of a head, in as many records as that takes; `head` says all else.
    pub fn head(&mut self, head: &Head, bytes: &[u8]) -> &mut LogWriter {
        let parts = bytes.len().div_ceil(LARGEST_HEAD_BYTES).max(1);
        let mut rest = bytes;
        for part in 0..parts {
            let (these, behind) = rest.split_at(rest.len().min(LARGEST_HEAD_BYTES));
            let words = encode::head(&Head {
                offset: head.offset.saturating_add((part * LARGEST_HEAD_BYTES) as u32),
                length: these.len() as u32,
                continues: head.continues || part > 0,
                cut: head.cut && part + 1 == parts,
                ..*head
            });
            let words: Vec<u32> = words.into_iter().chain(encode::padded(these)).collect();
            self.record(head.ticks, &words);
            rest = behind;
        }
        self
    }

    /// Writes that two flows are the ends of one `socketpair`.
    pub fn pair(&mut self, ticks: u64, first: u32, second: u32) -> &mut LogWriter {
        self.record(ticks, encode::pair(ticks, first, second).as_slice())
    }

    /// Writes that a descriptor of a flow was closed.
    pub fn close(&mut self, ticks: u64, flow: u32) -> &mut LogWriter {
        self.record(ticks, encode::close(ticks, flow, flow as i32 + 2).as_slice())
    }

    /// Writes an event of the process.
    pub fn process(&mut self, ticks: u64, event: ProcessEvent, value: i32) -> &mut LogWriter {
        self.record(ticks, encode::process(ticks, event, value).as_slice())
    }

    /// Writes any record, as words, of the present thread. A transfer soon after another takes its
    /// shortest form, as the real writer has it.
    pub fn record(&mut self, ticks: u64, words: &[u32]) -> &mut LogWriter {
        let room = |thread: &Thread| {
            self.chunks
                .get(thread.chunk)
                .is_some_and(|chunk| chunk.len() + words.len() <= CHUNK_WORDS)
        };
        let mut thread = match self.threads.get(&self.tid).copied() {
            Some(thread) if room(&thread) => thread,
            former => {
                let free = if former.is_none() { self.take_free(ticks, words.len()) } else { None };
                self.full.extend(former.map(|thread| thread.chunk));
                free.unwrap_or_else(|| {
                    self.chunks.push(self.chunk_header(ticks));
                    Thread { chunk: self.chunks.len() - 1, anchor: ticks, latest: ticks }
                })
            }
        };
        if ticks.abs_diff(thread.anchor) > ANCHOR_REACH {
            let anchor = encode::anchor(&self.anchor(ticks));
            (thread.anchor, thread.latest) = (ticks, ticks);
            self.threads.insert(self.tid, thread);
            return self.append(thread.chunk, anchor.as_slice()).record(ticks, words);
        }
        let short = shortest(words, ticks).filter(|_| ticks.abs_diff(thread.latest) < SHORT_REACH);
        let kinds = [kind::SEND, kind::RECEIVE, kind::SEND_LONG, kind::RECEIVE_LONG];
        if words.first().is_some_and(|first| kinds.contains(&(*first as u8))) {
            thread.latest = ticks;
        }
        self.threads.insert(self.tid, thread);
        self.append(thread.chunk, short.as_ref().map_or(words, |short| short.as_slice()))
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.chunks.len() * CHUNK_BYTES);
        // Writing to a vector cannot fail.
        let _ = self.write_to(&mut bytes);
        bytes
    }

    fn write_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(&self.header)?;
        for chunk in &self.chunks {
            let mut bytes = [0; CHUNK_BYTES];
            for (place, word) in bytes.chunks_exact_mut(4).zip(chunk) {
                place.copy_from_slice(&word.to_le_bytes());
            }
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Writes the file, and the directories it is in.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn write(&self, path: impl Into<DataPath>) -> std::io::Result<()> {
        let path = &path.into();
        path.parent().create_dir_all()?;
        let mut out = BufWriter::with_capacity(1 << 18, path.create_as(NEW_FILE_MODE)?);
        self.write_to(&mut out)?;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.commit()
    }

    fn append(&mut self, index: usize, words: &[u32]) -> &mut LogWriter {
        match self.chunks.get_mut(index).filter(|chunk| chunk.len() + words.len() <= CHUNK_WORDS) {
            Some(chunk) => chunk.extend_from_slice(words),
            // An anchor that does not fit: the next chunk's header is one.
            None => {
                self.threads.remove(&self.tid);
                self.full.push(index);
            }
        }
        self
    }

    fn anchor(&self, ticks: u64) -> Anchor {
        Anchor { ticks, monotonic: ticks as i64, realtime: self.epoch + ticks as i64 }
    }

    fn chunk_header(&self, ticks: u64) -> Vec<u32> {
        let anchor = self.anchor(ticks);
        let mut words = vec![CHUNK_MAGIC, self.tid];
        for value in [anchor.ticks, anchor.monotonic as u64, anchor.realtime as u64] {
            words.extend([value as u32, (value >> 32) as u32]);
        }
        debug_assert_eq!(words.len(), CHUNK_HEADER_WORDS);
        words
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        for (slot, byte) in self.header.iter_mut().skip(at).zip(bytes) {
            *slot = *byte;
        }
    }
}

/// Shortest form of a record of the common form, where it has one.
fn shortest(words: &[u32], ticks: u64) -> Option<[u32; 2]> {
    let &[first, _, rest]: &[u32; TRANSFER_WORDS] = words.try_into().ok()?;
    let direction = match first as u8 {
        kind::SEND => Direction::Send,
        kind::RECEIVE => Direction::Receive,
        _ => return None,
    };
    encode::transfer_short(
        direction,
        first >> 8,
        ticks,
        u64::from(rest >> 10),
        duration::unpack(rest),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Log, Record};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
        /// Whichever of several threads, flows and directions a datagram is of, its peer is read
        /// back, and most records to one peer in succession go without it.
        #[test]
        fn the_peers_of_datagrams_are_read_back(
            what in prop::collection::vec((1u32..3, 1u32..3, any::<bool>(), 0usize..4, 1u64..2_000_000_000), 0..400),
        ) {
            let names = [
                Vec::new(),
                inet("10.0.0.1:53".parse().unwrap()),
                inet("[fe80::1]:53".parse().unwrap()),
                unix("/run/log"),
            ];
            let mut writer = LogWriter::new("h", 1, "/x");
            let (mut expected, mut ticks) = (Vec::new(), 0);
            for (index, (tid, flow, sent, peer, pause)) in what.into_iter().enumerate() {
                // Now and then so long that an anchor comes between.
                ticks += if index % 16 == 0 { pause } else { 100 };
                let direction = if sent { Direction::Send } else { Direction::Receive };
                let datagram = Datagram {
                    direction, flow, ticks, duration: 5, bytes: 70, checksum: index as u32, flags: 0, peer: &names[peer],
                };
                writer.thread(tid).datagram(&datagram);
                expected.push((index as u32, tid, ticks, flow, direction, crate::SocketName::decode(&names[peer])));
            }
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.sclog");
            writer.write(&path).unwrap();
            let mut found = Vec::new();
            let damage = Log::open(&path).unwrap().for_each(|entry| {
                if let Record::Datagram { direction, flow, bytes: 70, checksum, peer, .. } = entry.record {
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
        let peer = inet("10.0.0.1:53".parse().unwrap());
        for ticks in 0..240 {
            let datagram = Datagram {
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
        assert_eq!(writer.bytes().len(), HEADER_BYTES + CHUNK_BYTES);
    }
}
