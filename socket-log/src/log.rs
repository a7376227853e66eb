//! Opening a log and walking through it, chunk by chunk.
//!
//! Memory stays at one chunk whatever the file's size. Nothing here fails on damage: what cannot be
//! read is passed over and told to the caller, and the walk goes on behind it.

use std::fs::{File, Metadata};
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::chunk::Chunk;
use crate::clock::Clock;
use crate::damage::{Damage, Fault, OpenError};
use crate::decode::{Entry, Record};
use crate::header::{Header, HeaderProblem, parse_header};
use crate::holes::{Holes, empty_chunks};
use crate::layout::{
    Anchor, CHUNK_BYTES, CHUNK_FREE, CHUNK_MAGIC, ChunkHeader, HEADER_BYTES, tick,
};

/// An open log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    bytes: Bytes,
    length: u64,
    on_disk: u64,
    header: Header,
}

/// Where a log's bytes are.
#[derive(Debug)]
pub(crate) enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

impl Log {
    /// Opens the log at `path` and reads its header. In a host's directory it is that host's log,
    /// see [`Header::host`].
    ///
    /// # Errors
    /// When the file cannot be read, is no log, or is of another version.
    pub fn open(path: &Path) -> Result<Log, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        let mut log = Log::of(path, Bytes::File(file), metadata.len())?;
        log.on_disk = on_disk(&metadata);
        log.header.lies_at(path);
        Ok(log)
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
        let header =
            parse_header(page.get(..read).unwrap_or(&[])).map_err(|problem| match problem {
                HeaderProblem::NotALog(why) => OpenError::NotALog { path: path.to_owned(), why },
                HeaderProblem::Version(found) => {
                    OpenError::Version { path: path.to_owned(), found }
                }
            })?;
        Ok(Log { path: path.to_owned(), bytes, length, on_disk: length, header })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's size when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How much room it took on the disk when it was opened, in bytes: less than its size where it
    /// has holes.
    pub fn on_disk(&self) -> u64 {
        self.on_disk
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The chunks in the order in which they were begun, which is that of the file unless its
    /// chunks were used again. Those of one thread are in the order in which it wrote them.
    pub fn chunks(&self) -> Chunks<'_> {
        let order = if self.header.keeps_newest { self.order() } else { Vec::new().into_iter() };
        Chunks {
            log: self,
            order,
            offset: HEADER_BYTES as u64,
            holes: Holes::default(),
            was_empty: false,
            damage: Vec::new(),
        }
    }

    /// The offsets of all chunks, the one begun first at the head.
    fn order(&self) -> std::vec::IntoIter<u64> {
        let mut holes = Holes::default();
        let mut offset = holes.pass(&self.bytes, HEADER_BYTES as u64, self.length);
        let mut all: Vec<(u64, u64)> = Vec::new();
        while offset < self.length {
            let mut head = [0; size_of::<ChunkHeader>()];
            let _ = read_at(&self.bytes, &mut head, offset);
            let at = offset_of!(ChunkHeader, anchor) + offset_of!(Anchor, ticks);
            let ticks =
                head[at..at + 8].iter().rev().fold(0, |ticks, byte| ticks << 8 | u64::from(*byte));
            all.push((ticks, offset));
            offset = holes.pass(&self.bytes, offset + CHUNK_BYTES as u64, self.length);
        }
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
    holes: Holes,
    /// Whether the chunk before held nothing.
    was_empty: bool,
    damage: Vec<Damage>,
}

impl Chunks<'_> {
    /// What was passed over between the chunks returned so far.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Goes on behind `offset`, where no chunk begins in the next `read` bytes' place: at the next
    /// chunk's place, or where one begins in between because bytes are missing or were put in.
    fn resume(&mut self, offset: u64, read: usize) {
        let magic = CHUNK_MAGIC.to_le_bytes();
        let mut next = [0; 4];
        let in_place =
            read_at(&self.log.bytes, &mut next, offset + read as u64).is_ok() && next == magic;
        // The magic may lie across the end of what was read.
        let mut bytes = [0; CHUNK_BYTES + 3];
        let searched = read_at(&self.log.bytes, &mut bytes, offset).unwrap_or(0);
        let places = bytes[..searched].windows(4).enumerate().skip(1);
        let places = places.filter(|(_, window)| *window == magic).map(|(place, _)| place as u64);
        // A name in a record can look like the magic; where a true chunk ends, the next begins, or
        // the file ends.
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

    /// The next chunk of a log whose chunks are used again, maybe at this very moment: one that is
    /// not the same before and behind its reading is read again.
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
            let offset = self.holes.pass(&self.log.bytes, self.offset, self.log.length);
            self.offset = offset;
            if offset >= self.log.length {
                return None;
            }
            if self.was_empty {
                let empty = empty_chunks(&self.log.bytes, offset);
                self.was_empty = empty > 0;
                self.offset += empty * CHUNK_BYTES as u64;
                if empty > 0 {
                    continue;
                }
            }
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
            self.was_empty = used.iter().all(|byte| *byte == 0);
            if self.was_empty {
                continue; // The file has grown ahead of its use.
            }
            if read < CHUNK_BYTES {
                self.passed_over(
                    offset + read as u64,
                    (CHUNK_BYTES - read) as u64,
                    Fault::Truncated,
                );
            }
            match Chunk::parse(offset, used) {
                Some(chunk) => return Some(chunk),
                None => self.resume(offset, read),
            }
        }
        None
    }
}

/// How much room a file takes on its disk, in bytes. Some file systems do not say: then it is its
/// size.
pub fn on_disk(metadata: &Metadata) -> u64 {
    match metadata.blocks() {
        0 => metadata.len(),
        blocks => blocks * 512,
    }
}

/// Reads as much of `buffer` as the file holds from `offset` on.
fn read_at(bytes: &Bytes, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let file = match bytes {
        Bytes::File(file) => file,
        Bytes::Memory(bytes) => {
            let rest =
                usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
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
