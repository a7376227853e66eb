//! Opening a log and walking through it, chunk by chunk.
//!
//! Memory stays at one chunk whatever the file's size. Nothing here fails on damage: what cannot be read is
//! passed over and told to the caller, and the walk goes on behind it.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use crate::damage::{Damage, Fault, OpenError};
use crate::decode::{self, Entry, Record, Step, Time};
use crate::layout::{
    Anchor, CHUNK_BYTES, CHUNK_FREE, CHUNK_HEADER_WORDS, CHUNK_MAGIC, CHUNK_WORDS, CONTINUED_TID,
    ChunkHeader, FileHeader, HEADER_BYTES, KEEPS_NEWEST, MAGIC, SHORT_TICKS_BITS, VERSION, kind, lost, tick,
};
use crate::peers::Peers;

/// What a log's header says of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// One of [`tick`].
    pub tick_clock: u32,
    /// The process.
    pub pid: u32,
    /// Its parent when the log began.
    pub parent_pid: u32,
    /// Its user.
    pub uid: u32,
    /// When the log began.
    pub start: Anchor,
    /// The kernel's random id of this boot.
    pub boot_id: [u8; 16],
    /// One of [`state`](crate::layout::state).
    pub state: u32,
    /// Records lost, by cause, see [`lost`].
    pub lost: [u64; lost::CAUSES],
    /// The size that the log may have, in bytes; 0 where it has no limit.
    pub limit: u64,
    /// Whether a full log goes on in the place of its oldest chunks.
    pub keeps_newest: bool,
    /// Whether its transfers have positions, see [`kind::POSITION`].
    pub has_positions: bool,
    /// What saw the calls, one of [`source`](crate::layout::source).
    pub source: u32,
    /// The inode of the process's network namespace when the log began; 0 where it is not known.
    pub namespace: u64,
    /// The host's name.
    pub host: String,
    /// The path of the executable.
    pub executable: String,
    /// The arguments, the program's name first; cut where they were too long for the header.
    pub arguments: Vec<String>,
}

impl Header {
    /// Records lost for any cause; the largest number there is where a damaged header says more than that.
    pub fn total_lost(&self) -> u64 {
        self.lost.iter().fold(0, |sum: u64, lost| sum.saturating_add(*lost))
    }
}

/// An open log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    bytes: Bytes,
    length: u64,
    header: Header,
}

/// Where a log's bytes are.
#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

impl Log {
    /// Opens the log at `path` and reads its header.
    ///
    /// # Errors
    /// When the file cannot be read, is no log, or is of another version.
    pub fn open(path: &Path) -> Result<Log, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        Log::of(path, Bytes::File(file), length)
    }

    /// The log of these bytes, by the name of `path` in errors.
    ///
    /// # Errors
    /// When they are no log, or one of another version.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Log, OpenError> {
        let length = bytes.len() as u64;
        Log::of(path, Bytes::Memory(bytes), length)
    }

    fn of(path: &Path, bytes: Bytes, length: u64) -> Result<Log, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let mut page = [0; HEADER_BYTES];
        let read = read_at(&bytes, &mut page, 0).map_err(io)?;
        let header = parse_header(page.get(..read).unwrap_or(&[])).map_err(|problem| match problem {
            HeaderProblem::NotALog(why) => OpenError::NotALog { path: path.to_owned(), why },
            HeaderProblem::Version(found) => OpenError::Version { path: path.to_owned(), found },
        })?;
        Ok(Log { path: path.to_owned(), bytes, length, header })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's size when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The chunks in the order in which they were begun, which is that of the file unless its chunks were used
    /// again. Those of one thread are in the order in which it wrote them.
    pub fn chunks(&self) -> Chunks<'_> {
        let order = if self.header.keeps_newest { self.order() } else { Vec::new().into_iter() };
        Chunks { log: self, order, offset: HEADER_BYTES as u64, damage: Vec::new() }
    }

    /// The offsets of all chunks, the one begun first at the head.
    fn order(&self) -> std::vec::IntoIter<u64> {
        let mut all: Vec<(u64, u64)> = (HEADER_BYTES as u64..self.length)
            .step_by(CHUNK_BYTES)
            .map(|offset| {
                let mut head = [0; size_of::<ChunkHeader>()];
                let _ = read_at(&self.bytes, &mut head, offset);
                let at = offset_of!(ChunkHeader, anchor) + offset_of!(Anchor, ticks);
                let ticks =
                    head[at..at + 8].iter().rev().fold(0, |ticks, byte| ticks << 8 | u64::from(*byte));
                (ticks, offset)
            })
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, offset)| offset).collect::<Vec<_>>().into_iter()
    }

    /// Calls `entry` with every whole record in file order, and returns the damage met on the way.
    pub fn for_each(&self, mut entry: impl FnMut(Entry)) -> Vec<Damage> {
        let mut chunks = self.chunks();
        let mut damage = Vec::new();
        for chunk in chunks.by_ref() {
            damage.extend(chunk.for_each(&mut entry));
        }
        damage.append(&mut chunks.damage);
        damage.sort_by_key(|damage| damage.offset);
        damage
    }

    /// The log's clock, from the anchors of all its threads. Reads the whole file once.
    pub fn clock(&self) -> Clock {
        let mut anchors = vec![self.header.start];
        for chunk in self.chunks() {
            anchors.push(chunk.anchor);
            chunk.for_each(|entry| {
                if let Record::Anchor(anchor) = entry.record {
                    anchors.push(anchor);
                }
            });
        }
        Clock::new(anchors, self.header.tick_clock == tick::MONOTONIC)
    }
}

/// An iterator over a log's chunks.
#[derive(Debug)]
pub struct Chunks<'log> {
    log: &'log Log,
    /// Where the chunks are, unless they are in file order.
    order: std::vec::IntoIter<u64>,
    offset: u64,
    damage: Vec<Damage>,
}

impl Chunks<'_> {
    /// What was passed over between the chunks returned so far.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Goes on behind `offset`, where no chunk begins in the next `read` bytes' place: at the next chunk's place, or
    /// where one begins in between because bytes are missing or were put in.
    fn resume(&mut self, offset: u64, read: usize) {
        let magic = CHUNK_MAGIC.to_le_bytes();
        let mut next = [0; 4];
        let in_place = read_at(&self.log.bytes, &mut next, offset + read as u64).is_ok() && next == magic;
        // The magic may lie across the end of what was read.
        let mut bytes = [0; CHUNK_BYTES + 3];
        let searched = read_at(&self.log.bytes, &mut bytes, offset).unwrap_or(0);
        let places = bytes[..searched].windows(4).enumerate().skip(1);
        let places = places.filter(|(_, window)| *window == magic).map(|(place, _)| place as u64);
        // A name in a record can look like the magic; where a true chunk ends, the next begins, or the file ends.
        let followed = |place: &u64| {
            let mut next = [0; 4];
            let read = read_at(&self.log.bytes, &mut next, offset + place + CHUNK_BYTES as u64);
            read.is_ok_and(|read| read == 0 || next == magic)
        };
        let found = places.clone().find(followed).or_else(|| places.clone().next());
        let bytes = match found.filter(|_| !in_place) {
            Some(place) => place,
            None => read as u64,
        };
        self.passed_over(offset, bytes, Fault::NotAChunk);
        self.offset = offset + bytes;
    }

    /// The next chunk of a log whose chunks are used again, maybe at this very moment: one that is not the same before
    /// and behind its reading is read again.
    fn next_in_order(&mut self) -> Option<Chunk> {
        const TRIES: usize = 100;
        let mut bytes = [0; CHUNK_BYTES];
        let mut head = [0; size_of::<ChunkHeader>()];
        for offset in self.order.by_ref() {
            let mut read = 0;
            for _ in 0..TRIES {
                read = read_at(&self.log.bytes, &mut bytes, offset).unwrap_or(0);
                let again = read_at(&self.log.bytes, &mut head, offset).unwrap_or(0);
                if bytes[..again] == head[..again] {
                    break;
                }
            }
            let used = &bytes[..read];
            if used.iter().all(|byte| *byte == 0) || used.starts_with(&CHUNK_FREE.to_le_bytes()) {
                continue;
            }
            let fault = match Chunk::parse(offset, used) {
                Some(chunk) if read == CHUNK_BYTES => return Some(chunk),
                Some(chunk) => {
                    let missing = (CHUNK_BYTES - read) as u64;
                    self.damage.push(Damage {
                        offset: offset + read as u64,
                        bytes: missing,
                        fault: Fault::Truncated,
                    });
                    return Some(chunk);
                }
                None => Fault::NotAChunk,
            };
            self.damage.push(Damage { offset, bytes: read as u64, fault });
        }
        None
    }

    fn passed_over(&mut self, offset: u64, bytes: u64, fault: Fault) {
        self.damage.push(Damage { offset, bytes, fault });
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        if self.log.header.keeps_newest {
            return self.next_in_order();
        }
        let mut bytes = [0; CHUNK_BYTES];
        while self.offset < self.log.length {
            let offset = self.offset;
            let read = match read_at(&self.log.bytes, &mut bytes, offset) {
                Ok(read) => read,
                Err(_) => {
                    self.passed_over(offset, self.log.length - offset, Fault::Unreadable);
                    self.offset = self.log.length;
                    return None;
                }
            };
            if read == 0 {
                return None;
            }
            self.offset += read as u64;
            let used = &bytes[..read];
            if used.iter().all(|byte| *byte == 0) {
                continue; // The file has grown ahead of its use.
            }
            if read < CHUNK_BYTES {
                self.passed_over(offset + read as u64, (CHUNK_BYTES - read) as u64, Fault::Truncated);
            }
            match Chunk::parse(offset, used) {
                Some(chunk) => return Some(chunk),
                None => self.resume(offset, read),
            }
        }
        None
    }
}

/// One chunk: the records of one thread over some time.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its offset in the file.
    pub offset: u64,
    /// The thread that wrote it.
    pub tid: u32,
    /// When the thread was given it.
    pub anchor: Anchor,
    words: Vec<u32>,
}

impl Chunk {
    fn parse(offset: u64, bytes: &[u8]) -> Option<Chunk> {
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        if *words.first()? != CHUNK_MAGIC {
            return None;
        }
        let long =
            |at: usize| Some(u64::from(*words.get(at / 4)?) | u64::from(*words.get(at / 4 + 1)?) << 32);
        let at = offset_of!(ChunkHeader, anchor);
        let anchor = Anchor {
            ticks: long(at + offset_of!(Anchor, ticks))?,
            monotonic: long(at + offset_of!(Anchor, monotonic))? as i64,
            realtime: long(at + offset_of!(Anchor, realtime))? as i64,
        };
        let tid = *words.get(offset_of!(ChunkHeader, tid) / 4)?;
        Some(Chunk { offset, tid, anchor, words })
    }

    /// Calls `entry` with every whole record in the order written, and returns the damage met on the way.
    pub fn for_each(&self, mut entry: impl FnMut(Entry)) -> Vec<Damage> {
        let mut damage: Vec<Damage> = Vec::new();
        let mut anchor = self.anchor.ticks;
        // The time that one of the shortest form is near to.
        let mut before = anchor;
        let mut tid = self.tid;
        let mut peers = Peers::default();
        let mut at = CHUNK_HEADER_WORDS.min(self.words.len());
        while at < self.words.len() {
            match decode::step(&self.words[at..]) {
                Step::Empty => at += 1,
                Step::Record { words, time, mut record } => {
                    let tag = self.words[at] as u8;
                    peers.settle(tag, &mut record);
                    let ticks = match time {
                        Time::Whole(ticks) => ticks,
                        Time::Low(low) => nearest(anchor, low, 32),
                        Time::Short(low) => nearest(before, low, SHORT_TICKS_BITS),
                    };
                    match &record {
                        Record::Anchor(latest) => (anchor, before) = (latest.ticks, latest.ticks),
                        Record::Transfer { .. } => before = ticks,
                        _ => {}
                    }
                    if tag == kind::CONTINUED {
                        peers.forget();
                        tid = self.words.get(at + CONTINUED_TID).copied().unwrap_or(tid);
                    }
                    entry(Entry { tid, ticks, record });
                    at += words;
                }
                Step::Damaged { words, fault } => {
                    damage.push(Damage {
                        offset: self.offset + 4 * at as u64,
                        bytes: 4 * words as u64,
                        fault,
                    });
                    at += words.max(1);
                }
            }
        }
        debug_assert!(self.words.len() <= CHUNK_WORDS);
        damage
    }
}

/// The time whose low `bits` bits are `low` and that lies nearest to `other`.
fn nearest(other: u64, low: u32, bits: u32) -> u64 {
    let ahead = (low.wrapping_sub(other as u32) << (32 - bits)) as i32 >> (32 - bits);
    other.wrapping_add_signed(i64::from(ahead))
}

enum HeaderProblem {
    NotALog(&'static str),
    Version(u32),
}

fn parse_header(page: &[u8]) -> Result<Header, HeaderProblem> {
    let word =
        |at: usize| page.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    let long =
        |at: usize| page.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    match long(offset_of!(FileHeader, magic)) {
        None => return Err(HeaderProblem::NotALog("the file is too short")),
        Some(MAGIC) => {}
        Some(0) => return Err(HeaderProblem::NotALog("its header was never finished")),
        Some(_) => return Err(HeaderProblem::NotALog("its first bytes are others")),
    }
    let short = HeaderProblem::NotALog("the file ends inside its header");
    match word(offset_of!(FileHeader, version)) {
        Some(VERSION) => {}
        Some(version) => return Err(HeaderProblem::Version(version)),
        None => return Err(short),
    }
    if page.len() < HEADER_BYTES {
        return Err(short);
    }
    let sizes = (word(offset_of!(FileHeader, header_bytes)), word(offset_of!(FileHeader, chunk_bytes)));
    if sizes != (Some(HEADER_BYTES as u32), Some(CHUNK_BYTES as u32)) {
        return Err(HeaderProblem::NotALog("its header names sizes that this version does not have"));
    }
    let word = |at| word(at).unwrap_or(0);
    let long = |at| long(at).unwrap_or(0);
    let bytes = |at: usize, length: usize| page.get(at..at + length).unwrap_or(&[]);
    let start = offset_of!(FileHeader, start);
    let mut boot_id = [0; 16];
    boot_id.copy_from_slice(bytes(offset_of!(FileHeader, boot_id), 16));
    Ok(Header {
        tick_clock: word(offset_of!(FileHeader, tick_clock)),
        pid: word(offset_of!(FileHeader, pid)),
        parent_pid: word(offset_of!(FileHeader, parent_pid)),
        uid: word(offset_of!(FileHeader, uid)),
        start: Anchor {
            ticks: long(start + offset_of!(Anchor, ticks)),
            monotonic: long(start + offset_of!(Anchor, monotonic)) as i64,
            realtime: long(start + offset_of!(Anchor, realtime)) as i64,
        },
        boot_id,
        state: word(offset_of!(FileHeader, state)),
        lost: std::array::from_fn(|cause| long(offset_of!(FileHeader, lost) + 8 * cause)),
        limit: long(offset_of!(FileHeader, limit)),
        keeps_newest: word(offset_of!(FileHeader, keeps_newest)) != 0,
        has_positions: word(offset_of!(FileHeader, keeps_newest)) == KEEPS_NEWEST,
        source: word(offset_of!(FileHeader, source)),
        namespace: long(offset_of!(FileHeader, namespace)),
        host: first_text(bytes(offset_of!(FileHeader, host), 128)),
        executable: first_text(bytes(offset_of!(FileHeader, executable), 1024)),
        arguments: texts(bytes(offset_of!(FileHeader, arguments), 2048)),
    })
}

/// The text up to the first zero byte.
fn first_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Texts that each end with a zero byte; the zeros that pad the field are no texts.
fn texts(bytes: &[u8]) -> Vec<String> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if end == 0 {
        return Vec::new();
    }
    bytes[..end].split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

/// Reads as much of `buffer` as the file holds from `offset` on.
fn read_at(bytes: &Bytes, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let file = match bytes {
        Bytes::File(file) => file,
        Bytes::Memory(bytes) => {
            let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
            let read = rest.len().min(buffer.len());
            buffer[..read].copy_from_slice(&rest[..read]);
            return Ok(read);
        }
    };
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use crate::layout::{source, state};
    use crate::write::{EPOCH, LogWriter};

    use super::*;

    #[test]
    fn the_header_comes_back_as_it_was_written() {
        let mut log = LogWriter::new("alpha", 7, "/bin/x");
        log.set_arguments(&["x", "-v"]).set_parent(3).set_boot_id(*b"0123456789abcdef");
        log.set_source(source::PACKETS).set_namespace(0x1_0000_0002).set_state(state::EXITED);
        log.set_start(500).set_epoch(EPOCH + 1);
        let Ok(header) = parse_header(&log.bytes()) else { panic!("no header") };
        let start = Anchor { ticks: 500, monotonic: 500, realtime: EPOCH + 501 };
        let expected = Header {
            tick_clock: tick::MONOTONIC,
            pid: 7,
            parent_pid: 3,
            uid: 0,
            start,
            boot_id: *b"0123456789abcdef",
            state: state::EXITED,
            lost: [0; lost::CAUSES],
            limit: 0,
            keeps_newest: false,
            has_positions: false,
            source: source::PACKETS,
            namespace: 0x1_0000_0002,
            host: "alpha".into(),
            executable: "/bin/x".into(),
            arguments: vec!["x".into(), "-v".into()],
        };
        assert_eq!(header, expected);
    }

    #[test]
    fn a_log_that_says_nothing_of_them_is_the_library_s_in_an_unknown_namespace() {
        let header = parse_header(&LogWriter::new("alpha", 7, "/bin/x").bytes());
        assert!(header.is_ok_and(|header| header.source == source::LIBRARY && header.namespace == 0));
    }
}
