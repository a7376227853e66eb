//! Goroutines (or other contexts of a language runtime) in the log: a record in the chunk of a
//! thread states the goroutine of the following records.
//!
//! A thread runs one goroutine after another, so a record is written when the goroutine changes,
//! and at the beginning of each chunk. Another kind of record states that the goroutine has woken
//! or started another one.

use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode;

use super::RecordWriter;
use super::writer::{attached_writer, existing_writer};
#[cfg(not(feature = "injected"))]
use crate::platform::clock;
#[cfg(not(feature = "injected"))]
use crate::state::context_source::{self, ASKED, ContextStart};
use crate::state::goroutine::Goroutine;
use crate::state::recorded_goroutine;

impl RecordWriter {
    /// Writes the goroutine of the next records, if another one is recorded in the thread's chunk.
    #[inline(always)]
    pub(super) fn record_goroutine(self) {
        let Some(goroutine) = recorded_goroutine::unrecorded_goroutine() else { return };
        if !self.record_goroutine_fast(goroutine) {
            self.record_change();
        }
        #[cfg(not(feature = "injected"))]
        self.record_start(goroutine.number as u32);
    }

    /// Writes the start of the context of the next records, if the context comes from a runtime
    /// that is asked, and its start was not written yet.
    #[cfg(not(feature = "injected"))]
    #[inline(always)]
    fn record_start(self, number: u32) {
        if self.thread.context.load(Relaxed) == ASKED
            && let Some(start) = context_source::take_start(number)
        {
            self.record_known_start(number, start, clock::current_ticks());
        }
    }

    /// Writes the start of the context of this number. `now` is the current time in ticks.
    #[cfg(not(feature = "injected"))]
    #[inline(never)]
    pub(crate) fn record_known_start(self, number: u32, start: ContextStart, now: u64) {
        let words = encode::started_by_record(start.ticks, number.into(), start.starter);
        if !self.append_fast(words.as_slice()) {
            self.record(&words, now);
        }
    }

    /// Writes the goroutine of the next records if the record fits into the thread's chunk, as it
    /// nearly always does: in a Go server, every second record is of this kind. Returns whether it
    /// was written.
    #[inline(always)]
    fn record_goroutine_fast(self, Goroutine { number, creator }: Goroutine) -> bool {
        let is_written = self.append_fast(encode::goroutine_record(number, creator).as_slice());
        if is_written {
            recorded_goroutine::note_recorded(number);
        }
        is_written
    }

    /// Writes the goroutine of the next records if the thread's chunk has no room for it.
    #[cold]
    #[inline(never)]
    fn record_change(self) {
        // A thread without a chunk gets one with its first record, and the chunk begins with the
        // goroutine.
        if self.thread.cursor.load(Relaxed) == 0 {
            return;
        }
        // The record has no time of its own, so no anchor need be near.
        if let Some(_full_chunk) = self.make_ready(self.thread.anchor.load(Relaxed)) {
            self.append_goroutine();
        }
    }

    /// Writes the goroutine of the records at the beginning of a chunk.
    pub(super) fn begin_goroutine(self) {
        recorded_goroutine::note_recorded(0);
        self.append_goroutine();
    }

    /// Appends the goroutine of the next records to the thread's chunk, unless it is recorded
    /// there.
    fn append_goroutine(self) {
        if let Some(Goroutine { number, creator }) = recorded_goroutine::unrecorded_goroutine() {
            self.append_words(encode::goroutine_record(number, creator).as_slice());
            recorded_goroutine::note_recorded(number);
        }
    }
}

/// Logs that the goroutine `number` was woken, or started if `started`, at `now` ticks. A process
/// that has no log does not begin one for this.
#[inline(always)]
pub(crate) fn record_ready(now: u64, number: u64, started: bool) {
    let is_written =
        crate::state::current_state().and_then(attached_writer).is_some_and(|writer| {
            writer.record_goroutine();
            writer.is_near(now)
                && writer.append_fast(encode::ready_record(now, number, started).as_slice())
        });
    if !is_written {
        record_ready_slow(now, number, started);
    }
}

/// Logs that a goroutine was woken, as [`record_ready`], if the thread has no chunk with enough
/// room.
#[cold]
#[inline(never)]
fn record_ready_slow(now: u64, number: u64, started: bool) {
    if let Some(writer) = existing_writer() {
        writer.record(&encode::ready_record(now, number, started), now);
    }
}
