//! Goroutines in the log: a record in the chunk of a thread says whose the records behind it are.
//!
//! A thread runs one goroutine after another, so it is told of when it changes, and at the beginning
//! of each chunk. Another record says which goroutine was let go on by another.

use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode;

use super::Writer;
#[cfg(feature = "injected")]
use super::writer::existing;
use crate::state::goroutine::{self, Goroutine};

impl Writer {
    /// Writes of which goroutine the records to come are, if the thread's chunk says another.
    #[inline(always)]
    pub(super) fn tell_goroutine(self) {
        if goroutine::untold().is_some() {
            self.tell_change();
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_change(self) {
        // A thread without a chunk is given one with its first record, and that begins with it.
        if self.thread.cursor.load(Relaxed) == 0 {
            return;
        }
        // It has no time of its own, so no anchor need be near.
        if let Some(_behind) = self.make_ready(self.thread.anchor.load(Relaxed)) {
            self.append_goroutine();
        }
    }

    /// Writes at the beginning of a chunk of which goroutine its records are.
    pub(super) fn begin_goroutine(self) {
        goroutine::note_told(0);
        self.append_goroutine();
    }

    fn append_goroutine(self) {
        if let Some(Goroutine { number, creator }) = goroutine::untold() {
            self.append(encode::goroutine(number, creator).as_slice());
            goroutine::note_told(number);
        }
    }
}

/// Logs that a goroutine was let go on at `now` ticks. It is no reason to begin a log.
#[cfg(feature = "injected")]
pub(crate) fn made_ready(now: u64, number: u64) {
    if let Some(writer) = existing() {
        writer.record(&encode::ready(now, number), now);
    }
}
