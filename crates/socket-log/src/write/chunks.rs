//! Chunks of a log that is being made, and its file: each thread writes its records into a chunk of
//! its own, with anchors of the clock and short forms of records as in the real writer.

use std::io::{BufWriter, Write};

use data_files::DataPath;

use super::{LogWriter, ThreadCursor};
use crate::duration;
use crate::encode::{self, Direction};
use crate::layout::{
    ANCHOR_REACH, Anchor, CHUNK_BYTES, CHUNK_HEADER_WORDS, CHUNK_MAGIC, CHUNK_WORDS, HEADER_BYTES,
    SHORT_REACH, TRANSFER_WORDS, kind,
};
use crate::tuning::NEW_FILE_MODE;

impl LogWriter {
    /// Writes any record, as words, of the current thread. A transfer soon after another takes its
    /// shortest form, as in the real writer.
    pub fn raw_record(&mut self, ticks: u64, words: &[u32]) -> &mut LogWriter {
        let room = |thread: &ThreadCursor| {
            self.chunks
                .get(thread.chunk)
                .is_some_and(|chunk| chunk.len() + words.len() + self.room_after <= CHUNK_WORDS)
        };
        let mut thread = match self.threads.get(&self.tid).copied() {
            Some(thread) if room(&thread) => thread,
            former => {
                let free =
                    if former.is_none() { self.reuse_chunk(ticks, words.len()) } else { None };
                self.full.extend(former.map(|thread| thread.chunk));
                free.unwrap_or_else(|| {
                    self.chunks.push(self.chunk_header(ticks));
                    ThreadCursor { chunk: self.chunks.len() - 1, anchor: ticks, latest: ticks }
                })
            }
        };
        if ticks.abs_diff(thread.anchor) > ANCHOR_REACH {
            let anchor = encode::anchor_record(&self.anchor_at(ticks));
            (thread.anchor, thread.latest) = (ticks, ticks);
            self.threads.insert(self.tid, thread);
            return self.append_words(thread.chunk, anchor.as_slice()).raw_record(ticks, words);
        }
        let short =
            shortest_form(words, ticks).filter(|_| ticks.abs_diff(thread.latest) < SHORT_REACH);
        let kinds = [kind::SEND, kind::RECEIVE, kind::SEND_LONG, kind::RECEIVE_LONG];
        if words.first().is_some_and(|first| kinds.contains(&(*first as u8))) {
            thread.latest = ticks;
        }
        self.threads.insert(self.tid, thread);
        self.append_words(thread.chunk, short.as_ref().map_or(words, |short| short.as_slice()))
    }

    /// Bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
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

    /// Writes the file, and makes its parent directories.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn write_file(&self, path: impl Into<DataPath>) -> std::io::Result<()> {
        let path = &path.into();
        path.parent().create_dir_all()?;
        let mut out = BufWriter::with_capacity(1 << 18, path.create_as(NEW_FILE_MODE)?);
        self.write_to(&mut out)?;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.commit()
    }

    /// Appends words to the chunk of this index; to none if the chunk is full.
    fn append_words(&mut self, index: usize, words: &[u32]) -> &mut LogWriter {
        match self.chunks.get_mut(index).filter(|chunk| chunk.len() + words.len() <= CHUNK_WORDS) {
            Some(chunk) => chunk.extend_from_slice(words),
            // If an anchor does not fit, the next chunk's header serves as one.
            None => {
                self.threads.remove(&self.tid);
                self.full.push(index);
            }
        }
        self
    }

    pub(super) fn anchor_at(&self, ticks: u64) -> Anchor {
        Anchor { ticks, monotonic: ticks as i64, realtime: self.epoch + ticks as i64 }
    }

    pub(super) fn chunk_header(&self, ticks: u64) -> Vec<u32> {
        let anchor = self.anchor_at(ticks);
        let mut words = vec![CHUNK_MAGIC, self.tid];
        for value in [anchor.ticks, anchor.monotonic as u64, anchor.realtime as u64] {
            words.extend([value as u32, (value >> 32) as u32]);
        }
        debug_assert_eq!(words.len(), CHUNK_HEADER_WORDS);
        words
    }
}

/// Shortest form of a transfer's record `words` in the common form; `None` if it does not fit into
/// the shortest form, or is not such a record.
fn shortest_form(words: &[u32], ticks: u64) -> Option<[u32; 2]> {
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
        duration::unpack_duration(rest),
    )
}
