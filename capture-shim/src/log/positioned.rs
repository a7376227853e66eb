//! Writes transfers with their position in the stream, if the log overwrites its oldest part. Space
//! for the two records is reserved in one step, which also checks whether the position is needed.
//! See [`super::positions`].

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use socket_log::encode::{self, Direction};
use socket_log::layout::{CHUNK_BYTES, SHORT_WORDS, lost};

use super::RecordWriter;
use super::commit::commit_record;
use crate::tuning::POSITION_TRIES;

/// Transfer on a stream, as an argument of [`RecordWriter::transfer`].
pub(crate) struct StreamTransfer {
    /// Whether the bytes were sent or received.
    pub(crate) direction: Direction,
    /// Number of the flow.
    pub(crate) flow: u32,
    /// Time of the transfer, in ticks: the begin of a send, or the end of a receive.
    pub(crate) ticks: u64,
    /// Number of bytes.
    pub(crate) bytes: u64,
    /// Duration of the call, in ticks.
    pub(crate) duration: u64,
}

impl RecordWriter {
    /// Writes a transfer after the record `position`, or without this record if `follows` returns
    /// true: the transfer adjoins the flow's latest record in the chunk with this number. Both
    /// records are in one chunk. Returns the chunk's number; `None` if nothing was written.
    pub(crate) fn transfer_after(
        self,
        position: &[u32],
        follows: impl Fn(u64) -> bool,
        moved: &StreamTransfer,
        now: u64,
    ) -> Option<u64> {
        let StreamTransfer { direction, flow, ticks, bytes, duration } = *moved;
        let shortest = encode::transfer_short(direction, flow, ticks, bytes, duration);
        for _ in 0..POSITION_TRIES {
            let chunk = self.chunk_number();
            let is_here = || self.chunk_number() == chunk && follows(chunk);
            if let Some(words) = shortest
                && is_here()
                && self.is_near(ticks)
                && let Some(place) =
                    self.reserve_words(SHORT_WORDS, || self.is_close_to_latest(ticks) && is_here())
            {
                // SAFETY: the words were reserved for this record.
                unsafe { commit_record(place, SHORT_WORDS, words.into_iter()) };
                self.thread.latest.store(ticks, Release);
                return Some(chunk);
            }
            let _full_chunk = self.make_ready(now)?;
            // Until this record is complete, a record of a signal handler must not be read as
            // following it.
            self.thread.latest.store(0, Release);
            let chunk = self.chunk_number();
            let before = if follows(chunk) { &[] } else { position };
            let (common, long);
            let words = match encode::transfer_common(direction, flow, ticks, bytes, duration) {
                Some(words) if self.is_near(ticks) => {
                    common = words;
                    common.as_slice()
                }
                _ => {
                    long = encode::transfer_long(direction, flow, ticks, bytes, duration);
                    long.as_slice()
                }
            };
            let length = before.len() + words.len();
            let fits = || self.chunk_number() == chunk && follows(chunk) == before.is_empty();
            if let Some(place) = self.reserve_words(length, fits) {
                // SAFETY: the words were reserved for these records.
                unsafe { commit_record(place, length, before.iter().chain(words).copied()) };
                self.thread.latest.store(ticks, Release);
                return Some(chunk);
            }
        }
        self.count_lost(lost::BUSY);
        None
    }

    /// Number that stands for the thread's chunk from its latest anchor on. No other chunk has this
    /// number, nor has a later chunk at the same address.
    fn chunk_number(self) -> u64 {
        let page = (self.thread.cursor.load(Acquire) / CHUNK_BYTES) as u64;
        self.thread.anchor.load(Relaxed).rotate_left(32) ^ page
    }
}
