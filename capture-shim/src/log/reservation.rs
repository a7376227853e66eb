//! Reserves words in the thread's chunk, and checks whether its latest times are near enough for
//! the short forms of records.
//!
//! A record's words are reserved by one compare-and-exchange on the thread's cursor. A signal
//! handler can run before or after it, but not within it.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use socket_log::layout::{ANCHOR_REACH, CHUNK_BYTES, SHORT_REACH, lost};

use super::RecordWriter;
use super::commit::commit_record;
use crate::state;

impl RecordWriter {
    /// Whether the thread has a chunk with an anchor near enough to `ticks`, so that a record can
    /// state this time relative to the anchor.
    #[inline(always)]
    pub(super) fn is_near(self, ticks: u64) -> bool {
        let distance = ticks.wrapping_sub(self.thread.anchor.load(Relaxed));
        distance.wrapping_add(ANCHOR_REACH)
            < ANCHOR_REACH + u64::from(self.thread.reach.load(Relaxed))
    }

    /// Whether `ticks` is near enough to the thread's latest transfer for the shortest form of a
    /// record, which states its time relative to that transfer.
    #[inline(always)]
    pub(super) fn is_close_to_latest(self, ticks: u64) -> bool {
        let distance = ticks.wrapping_sub(self.thread.latest.load(Relaxed));
        distance.wrapping_add(SHORT_REACH) < 2 * SHORT_REACH
    }

    /// Writes a record, or counts it as lost if it does not fit into the thread's chunk.
    pub(super) fn append_words(self, words: &[u32]) {
        if !self.append_fast(words) {
            self.count_lost(lost::BUSY);
        }
    }

    /// Writes a record if it fits into the thread's chunk, and returns whether it did.
    #[inline(always)]
    pub(super) fn append_fast(self, words: &[u32]) -> bool {
        let place = self.reserve_words(words.len(), || true);
        // SAFETY: the words were reserved for this record.
        place.is_some_and(|place| unsafe {
            commit_record(place, words.len(), words.iter().copied());
            true
        })
    }

    /// Reserves `words` words of the thread's chunk, and returns their address. `None` if the chunk
    /// has no room, or `fits` returns false for the state of the thread at this moment.
    #[inline(always)]
    pub(super) fn reserve_words(self, words: usize, fits: impl Fn() -> bool) -> Option<*mut u32> {
        let cursor = &self.thread.cursor;
        loop {
            // Loaded before any state that `fits` reads: a signal handler that changes the state
            // moves the cursor too.
            let at = cursor.load(Acquire);
            let used = at % CHUNK_BYTES;
            if used == 0 || used + 4 * words > CHUNK_BYTES || !fits() {
                return None;
            }
            if state::replace_word(cursor, at, at + 4 * words) {
                return Some(core::ptr::with_exposed_provenance_mut(at));
            }
        }
    }
}
