//! Walk through a log, chunk by chunk.
//!
//! Memory stays at one chunk whatever the file's size. Nothing here fails on damage: unreadable
//! parts are skipped and reported to the caller, and the walk continues after them.

use std::mem::offset_of;

use super::bytes::{LogBytes, read_at};
use super::chunk::LogChunk;
use super::damage::{DamageKind, LogDamage};
use super::sparse_file::{SparseRegions, count_empty_chunks};
use crate::layout::{Anchor, CHUNK_BYTES, CHUNK_FREE, CHUNK_MAGIC, ChunkHeader, HEADER_BYTES};
use crate::tuning::MAX_READINGS;

/// Iterator over a log's chunks.
#[derive(Debug)]
pub struct LogChunks<'log> {
    bytes: &'log LogBytes,
    /// Size of the log when it was opened, in bytes.
    length: u64,
    /// Whether chunks are reused.
    keeps_newest: bool,
    /// Offsets of the chunks in the order of their beginning; for logs with reused chunks.
    order: std::vec::IntoIter<u64>,
    /// Offset of the next chunk, in bytes.
    offset: u64,
    holes: SparseRegions,
    /// Whether the previous chunk was empty.
    was_empty: bool,
    damage: Vec<LogDamage>,
}

impl<'log> LogChunks<'log> {
    /// Iterator over the chunks of a log of `length` bytes.
    pub(super) fn new(bytes: &'log LogBytes, length: u64, keeps_newest: bool) -> LogChunks<'log> {
        let order = if keeps_newest { chunk_order(bytes, length) } else { Vec::new().into_iter() };
        LogChunks {
            bytes,
            length,
            keeps_newest,
            order,
            offset: HEADER_BYTES as u64,
            holes: SparseRegions::default(),
            was_empty: false,
            damage: Vec::new(),
        }
    }

    /// Damage between the chunks returned so far.
    pub fn damage(&self) -> &[LogDamage] {
        &self.damage
    }

    /// Continues after `offset`, if no chunk begins there: at the next chunk's place, or at a chunk
    /// that begins within the next `read` bytes because bytes are missing or were inserted.
    fn resume_after(&mut self, offset: u64, read: usize) {
        let magic = CHUNK_MAGIC.to_le_bytes();
        let mut next = [0; 4];
        let in_place =
            read_at(self.bytes, &mut next, offset + read as u64).is_ok() && next == magic;
        // The magic may span the end of the bytes read.
        let mut bytes = [0; CHUNK_BYTES + 3];
        let searched = read_at(self.bytes, &mut bytes, offset).unwrap_or(0);
        let places = bytes[..searched].windows(4).enumerate().skip(1);
        let places = places.filter(|(_, window)| *window == magic).map(|(place, _)| place as u64);
        // A name in a record can look like the magic. A true chunk is followed by the next one, or
        // by the end of the file.
        let followed = |place: &u64| {
            let mut next = [0; 4];
            let read = read_at(self.bytes, &mut next, offset + place + CHUNK_BYTES as u64);
            read.is_ok_and(|read| read == 0 || next == magic)
        };
        let found = places.clone().find(followed).or_else(|| places.clone().next());
        let bytes = match found.filter(|_| !in_place) {
            Some(place) => place,
            None => read as u64,
        };
        self.note_skipped(offset, bytes, DamageKind::NotAChunk);
        self.offset = offset + bytes;
    }

    /// Next chunk of a log with reused chunks, possibly at this very moment. A chunk that changed
    /// while it was read is read again.
    fn next_in_order(&mut self) -> Option<LogChunk> {
        let mut bytes = [0; CHUNK_BYTES];
        let mut head = [0; size_of::<ChunkHeader>()];
        for offset in self.order.by_ref() {
            let mut read = 0;
            for _ in 0..MAX_READINGS {
                read = read_at(self.bytes, &mut bytes, offset).unwrap_or(0);
                let again = read_at(self.bytes, &mut head, offset).unwrap_or(0);
                if bytes[..again] == head[..again] {
                    break;
                }
            }
            let used = &bytes[..read];
            if used.iter().all(|byte| *byte == 0) || used.starts_with(&CHUNK_FREE.to_le_bytes()) {
                continue;
            }
            let fault = match LogChunk::parse(offset, used) {
                Some(chunk) if read == CHUNK_BYTES => return Some(chunk),
                Some(chunk) => {
                    let missing = (CHUNK_BYTES - read) as u64;
                    self.damage.push(LogDamage {
                        offset: offset + read as u64,
                        bytes: missing,
                        fault: DamageKind::Truncated,
                    });
                    return Some(chunk);
                }
                None => DamageKind::NotAChunk,
            };
            self.damage.push(LogDamage { offset, bytes: read as u64, fault });
        }
        None
    }

    fn note_skipped(&mut self, offset: u64, bytes: u64, fault: DamageKind) {
        self.damage.push(LogDamage { offset, bytes, fault });
    }
}

impl Iterator for LogChunks<'_> {
    type Item = LogChunk;

    fn next(&mut self) -> Option<LogChunk> {
        if self.keeps_newest {
            return self.next_in_order();
        }
        let mut bytes = [0; CHUNK_BYTES];
        while self.offset < self.length {
            let offset = self.holes.skip_holes(self.bytes, self.offset, self.length);
            self.offset = offset;
            if offset >= self.length {
                return None;
            }
            if self.was_empty {
                let empty = count_empty_chunks(self.bytes, offset);
                self.was_empty = empty > 0;
                self.offset += empty * CHUNK_BYTES as u64;
                if empty > 0 {
                    continue;
                }
            }
            let read = match read_at(self.bytes, &mut bytes, offset) {
                Ok(read) => read,
                Err(_) => {
                    self.note_skipped(offset, self.length - offset, DamageKind::Unreadable);
                    self.offset = self.length;
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
                continue; // The file was extended ahead of its use.
            }
            if read < CHUNK_BYTES {
                self.note_skipped(
                    offset + read as u64,
                    (CHUNK_BYTES - read) as u64,
                    DamageKind::Truncated,
                );
            }
            match LogChunk::parse(offset, used) {
                Some(chunk) => return Some(chunk),
                None => self.resume_after(offset, read),
            }
        }
        None
    }
}

/// Offsets of all chunks, in the order in which they were begun.
fn chunk_order(bytes: &LogBytes, length: u64) -> std::vec::IntoIter<u64> {
    let mut holes = SparseRegions::default();
    let mut offset = holes.skip_holes(bytes, HEADER_BYTES as u64, length);
    let mut all: Vec<(u64, u64)> = Vec::new();
    while offset < length {
        let mut head = [0; size_of::<ChunkHeader>()];
        let _ = read_at(bytes, &mut head, offset);
        let at = offset_of!(ChunkHeader, anchor) + offset_of!(Anchor, ticks);
        let ticks =
            head[at..at + 8].iter().rev().fold(0, |ticks, byte| ticks << 8 | u64::from(*byte));
        all.push((ticks, offset));
        offset = holes.skip_holes(bytes, offset + CHUNK_BYTES as u64, length);
    }
    all.sort_unstable();
    all.into_iter().map(|(_, offset)| offset).collect::<Vec<_>>().into_iter()
}
