//! Chunks of a thread: ensures that its chunk has space for the next record after a recent anchor
//! (a moment on all clocks, to which the times of records refer), and replaces full chunks.
//!
//! This is separate from the writer's fast paths, because only one in some hundreds of records
//! needs it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use socket_log::encode;
use socket_log::layout::{
    Anchor, CHUNK_BYTES, CHUNK_HEADER_WORDS, LARGEST_RECORD_WORDS, MAX_RARE_WORDS,
    SHORT_DATAGRAM_WORDS, lost,
};

use super::commit::{commit_record, open_chunk};
use super::{RecordWriter, partial_chunks, recycle, segment, start};
use crate::platform::clock;
use crate::state::options::{RESOURCES, recording_options};
use crate::state::{self, thread};

/// Full chunk of a thread, until the record that did not fit into it is written in the next chunk.
/// Only then may other threads reuse the full chunk. Otherwise the records of a thread that is
/// killed or sleeps in between could all be overwritten.
pub(crate) struct FullChunk {
    /// Cursor of the full chunk, or 0. It is the only field, so that it takes no stack.
    full: usize,
}

impl Drop for FullChunk {
    #[inline]
    fn drop(&mut self) {
        if self.full != 0 {
            retire_chunk(self.full);
        }
    }
}

/// Releases the full chunk to other threads. Not inlined, so that the writing functions need less
/// stack.
#[cold]
#[inline(never)]
fn retire_chunk(full: usize) {
    if let Some(state) = state::current_state() {
        recycle::retire_chunk(state, &thread::current_thread().retired, full);
    }
}

/// Length of the longest record for which space is ensured here, with an anchor before it, in
/// words.
const LONGEST_RECORD_WORDS: usize = 80;

impl RecordWriter {
    /// Whether the longest record fits into the thread's chunk, with an anchor before it.
    fn has_room(self) -> bool {
        const { assert!(LONGEST_RECORD_WORDS <= LARGEST_RECORD_WORDS) };
        self.has_words(LONGEST_RECORD_WORDS)
    }

    /// Whether `words` words fit into the thread's chunk.
    fn has_words(self, words: usize) -> bool {
        let used = self.thread.cursor.load(Relaxed) % CHUNK_BYTES;
        used != 0 && used + 4 * words <= CHUNK_BYTES
    }

    /// Gives the thread enough room for the writes of libc's stdio streams at the process's end,
    /// when the log no longer grows.
    #[cold]
    #[inline(never)]
    pub(super) fn make_last_room(self) {
        let cursor = self.thread.cursor.load(Relaxed);
        if !self.has_words(4 * LONGEST_RECORD_WORDS) {
            // The chunk is left as if it were full.
            state::replace_word(&self.thread.cursor, cursor, cursor.next_multiple_of(CHUNK_BYTES));
            drop(self.make_ready(clock::current_ticks()));
        }
    }

    /// Ensures that a transfer or datagram, which is to be written next, and the record of its rare
    /// words are in one chunk. The caller keeps the returned value until the transfer or datagram
    /// is written.
    #[inline(always)]
    pub(crate) fn make_room_for_words(self, now: u64) -> Option<FullChunk> {
        const WORDS: usize = SHORT_DATAGRAM_WORDS + 1 + MAX_RARE_WORDS;
        // If there is no chunk, writing the transfer counts the loss.
        if self.has_words(WORDS) { None } else { self.try_make_ready(now).ok() }
    }

    /// Ensures that the thread's chunk has space for the longest record that is written here, after
    /// an anchor near to `now` (in ticks); otherwise counts the record as lost. The caller keeps
    /// the returned value until the record is written.
    pub(super) fn make_ready(self, now: u64) -> Option<FullChunk> {
        self.try_make_ready(now).inspect_err(|cause| self.count_lost(*cause)).ok()
    }

    /// As [`RecordWriter::make_ready`], but returns the cause ([`lost`]) in place of counting the
    /// record as lost.
    fn try_make_ready(self, now: u64) -> Result<FullChunk, usize> {
        let mut full_chunk = FullChunk { full: 0 };
        if !self.has_room() {
            full_chunk.full = self.take_chunk()?;
        }
        if !self.is_near(now) {
            self.write_anchor();
        }
        Ok(full_chunk)
    }

    /// Writes an anchor, in a stack frame of its own.
    #[inline(never)]
    fn write_anchor(self) {
        let anchor = clock::read_anchor();
        self.thread.latest.store(0, Release);
        self.append_words(encode::anchor_record(&anchor).as_slice());
        self.set_anchor(&anchor);
    }

    /// Notes the latest anchor of the thread's chunk.
    fn set_anchor(self, anchor: &Anchor) {
        let start = self.header().map_or(0, |header| header.start.ticks);
        self.thread.reach.store(clock::anchor_reach(start, anchor.ticks), Relaxed);
        self.thread.anchor.store(anchor.ticks, Relaxed);
        self.thread.latest.store(anchor.ticks, Release);
    }

    /// Gives the thread a new chunk. Returns the cursor of the full chunk, if other threads may
    /// reuse it once a record is in the new one, or 0. The error is a cause of [`lost`].
    ///
    /// Steps that need much stack are separate functions, so that their frames do not add up.
    fn take_chunk(self) -> Result<usize, usize> {
        let stopped = self.state.stopped.load(Relaxed);
        if stopped != 0 {
            return Err(stopped as usize - 1);
        }
        let header = self.header().ok_or(lost::REFUSED)?;
        if self.state.is_unused() {
            start::fill_header(self.state);
        }
        let mut old = self.thread.cursor.load(Acquire);
        let (tid, anchor) = (self.thread.tid.load(Relaxed), clock::read_anchor());
        let (memory, used) = if old == 0
            && !self.thread.has_ended()
            && let Some(left) = partial_chunks::take_chunk(self.state)
        {
            // SAFETY: `take_chunk` gave the rest of an ended thread's chunk to this thread; the
            // rest is larger than this record.
            unsafe { continue_chunk(left, tid, &anchor) }
        } else if recording_options().keeps_newest {
            recycle::recycle_chunk(self.state, header, tid, &anchor)?
        } else {
            let memory = segment::next_chunk(self.state, header)?;
            open_chunk(memory.cast(), tid, &anchor, &[]);
            (memory, CHUNK_HEADER_WORDS)
        };
        // A signal handler in between still writes into the old chunk, and no short form may refer
        // to the new chunk's anchor there.
        self.thread.latest.store(0, Release);
        let begin = |old| {
            // As long as handlers write into the old chunk, the peers that they note belong to it.
            self.thread.sent_to.forget_peers();
            self.thread.received_from.forget_peers();
            state::replace_word(&self.thread.cursor, old, memory as usize + 4 * used)
        };
        while !begin(old) {
            old = self.thread.cursor.load(Acquire);
            if self.has_room() {
                // The handler has taken a chunk, which comes after this one. The thread continues
                // there, since its records must be in order; this chunk has none.
                if recording_options().keeps_newest {
                    recycle::queue_chunk(self.state, memory as usize);
                }
                return Ok(0);
            }
        }
        self.write_start(&anchor, old == 0);
        Ok(if recording_options().keeps_newest { old } else { 0 })
    }

    /// Writes the facts with which a chunk begins. `is_own_first` is whether this is the thread's
    /// first chunk.
    #[inline(never)]
    fn write_start(self, anchor: &Anchor, is_own_first: bool) {
        self.set_anchor(anchor);
        let is_first = is_own_first && self.state.writers.fetch_add(1, Relaxed) == 0;
        if is_own_first {
            partial_chunks::expect_end();
        }
        self.begin_goroutine();
        if is_first && let Some((name, flags)) = state::unfollowed_runtime::name_and_flags() {
            let words = encode::unfollowed_runtime_record(anchor.ticks, name, flags);
            self.append_words(words.as_slice());
        }
        let creator = self.thread.creator.swap(0, Relaxed);
        if creator != 0 {
            // SAFETY: takes no arguments.
            let handle = if RESOURCES { unsafe { libc::pthread_self() } } else { 0 };
            self.append_words(encode::thread_record(anchor.ticks, creator, handle).as_slice());
        }
    }
}

/// Writes the record that continues an ended thread's chunk at `place`. Returns the place, and the
/// record's length in words.
///
/// # Safety
/// The memory at `place` belongs to the caller, and is larger than the record.
#[cold]
#[inline(never)]
unsafe fn continue_chunk(place: usize, tid: u32, anchor: &Anchor) -> (*mut u8, usize) {
    let words = encode::continued_record(anchor, tid);
    let place: *mut u32 = core::ptr::with_exposed_provenance_mut(place);
    // SAFETY: as the caller guarantees.
    unsafe { commit_record(place, words.as_slice().len(), words.as_slice().iter().copied()) };
    (place.cast(), words.as_slice().len())
}
