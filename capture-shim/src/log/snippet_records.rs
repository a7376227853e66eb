//! Records of snippets (the first bytes of messages), whose bytes are added piece by piece.
//!
//! A snippet may be longer than a record, and a record can only be as long as the rest of the
//! thread's chunk. So a record is reserved for as many bytes as fit, and committed (made visible to
//! readers) once it has them.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, fence};

use socket_log::encode::{self, SnippetHeader};
use socket_log::layout::{CHUNK_BYTES, LARGEST_SNIPPET_BYTES, SNIPPET_WORDS, lost};

use super::RecordWriter;
use super::chunks::FullChunk;

/// Record that is being written: its words are reserved, and its bytes are added.
pub(crate) struct OpenSnippet {
    /// Address of the reserved words.
    place: *mut u32,
    /// First word of the record, which is stored last.
    first: u32,
    /// Number of snippet bytes in the record.
    length: usize,
    /// Number of snippet bytes that were added so far.
    filled: usize,
    _full_chunk: FullChunk,
}

impl RecordWriter {
    /// Writes a record with the header `head` and the bytes of `pieces`, if one record is enough
    /// and fits into the thread's chunk. Returns false if nothing was written.
    #[inline(always)]
    pub(crate) fn write_snippet<'piece>(
        self,
        head: &SnippetHeader,
        pieces: impl Iterator<Item = &'piece [u8]>,
        now: u64,
    ) -> bool {
        let length = head.length as usize;
        let count = SNIPPET_WORDS + length.div_ceil(4);
        if length > LARGEST_SNIPPET_BYTES || !self.is_near(now) {
            return false;
        }
        let Some(place) = self.reserve_words(count, || true) else { return false };
        let words = encode::snippet_header(head);
        // SAFETY: the words were reserved for this record, and no more of them are written. The
        // padding of the last one is zero already.
        unsafe {
            AtomicU32::from_ptr(place).store(encode::reservation_word(count), Relaxed);
            // The fence keeps the tag before the body, as in `open_snippet`.
            fence(Release);
            // The words are stored one by one: a wide load of words that were just stored would
            // stall.
            for (index, word) in words.iter().enumerate().skip(1) {
                place.add(index).write(*word);
            }
            let mut to = place.add(SNIPPET_WORDS).cast::<u8>();
            let mut room = length;
            for piece in pieces {
                let count = piece.len().min(room);
                to.copy_from_nonoverlapping(piece.as_ptr(), count);
                to = to.add(count);
                room -= count;
            }
            AtomicU32::from_ptr(place).store(words[0], Release);
        }
        true
    }

    /// Begins a record with the header `head` for `length` bytes, or for as many of them as fit.
    /// `None` if the log is full.
    pub(crate) fn open_snippet(
        self,
        head: &SnippetHeader,
        length: usize,
        now: u64,
    ) -> Option<OpenSnippet> {
        let full_chunk = self.make_ready(now)?;
        let used = self.thread.cursor.load(Acquire) % CHUNK_BYTES;
        // If there is no chunk, `make_ready` has reported that.
        let room = CHUNK_BYTES.saturating_sub(used + 4 * SNIPPET_WORDS);
        let kept = length.min(LARGEST_SNIPPET_BYTES).min(room);
        let cut = head.cut && kept == length;
        let words = encode::snippet_header(&SnippetHeader { length: kept as u32, cut, ..*head });
        let count = SNIPPET_WORDS + kept.div_ceil(4);
        let Some(place) = self.reserve_words(count, || true) else {
            self.count_lost(lost::BUSY);
            return None;
        };
        let [first, rest @ ..] = words;
        // SAFETY: the words were reserved for this record.
        unsafe {
            AtomicU32::from_ptr(place).store(encode::reservation_word(count), Relaxed);
            // Neither the compiler nor (by the release at the end) the machine moves the tag after
            // the body.
            fence(Release);
            place.add(1).copy_from_nonoverlapping(rest.as_ptr(), rest.len());
        }
        Some(OpenSnippet { place, first, length: kept, filled: 0, _full_chunk: full_chunk })
    }
}

impl OpenSnippet {
    /// Number of bytes that are still to be added.
    pub(crate) fn free_bytes(&self) -> usize {
        self.length - self.filled
    }

    /// Number of snippet bytes in the record.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Appends the first of `bytes`, as many as the record still lacks.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.free_bytes());
        // SAFETY: within the reserved words.
        unsafe { self.next_byte().copy_from_nonoverlapping(bytes.as_ptr(), count) };
        self.filled += count;
    }

    /// Appends `count` bytes `byte`, or as many as the record still lacks.
    pub(crate) fn fill_bytes(&mut self, byte: u8, count: usize) {
        let count = count.min(self.free_bytes());
        // SAFETY: within the reserved words.
        unsafe { self.next_byte().write_bytes(byte, count) };
        self.filled += count;
    }

    /// Place of the next byte. The padding of the last word is zero already.
    fn next_byte(&self) -> *mut u8 {
        // SAFETY: within the reserved words, or at their end.
        unsafe { self.place.add(SNIPPET_WORDS).cast::<u8>().add(self.filled) }
    }

    /// Commits the record. Missing bytes stay zero.
    pub(crate) fn commit(self) {
        // SAFETY: the words were reserved for this record.
        unsafe { AtomicU32::from_ptr(self.place) }.store(self.first, Release);
    }
}
