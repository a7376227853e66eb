//! Goroutines in the log: a record in the chunk of a thread says whose the records behind it are.
//!
//! A thread runs one goroutine after another, so it is told of when it changes, and at the
//! beginning of each chunk. Another record says which goroutine was let go on or started by
//! another.

use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode;

use super::Writer;
#[cfg(any(feature = "injected", all(feature = "resources", target_arch = "x86_64")))]
use super::writer::{attached, existing};
use crate::state::goroutine::Goroutine;
use crate::state::told;

impl Writer {
    /// Writes whose the records to come are, if the thread's chunk says another goroutine.
    #[inline(always)]
    pub(super) fn tell_goroutine(self) {
        if let Some(goroutine) = told::untold()
            && !self.tell_at_once(goroutine)
        {
            self.tell_change();
        }
    }

    /// Writes it where the thread's chunk has room, as it nearly always has: in a server of Go,
    /// every second record is one of these.
    #[inline(always)]
    fn tell_at_once(self, Goroutine { number, creator }: Goroutine) -> bool {
        let is_written = self.append_at_once(encode::goroutine(number, creator).as_slice());
        if is_written {
            told::note_told(number);
        }
        is_written
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

    /// Writes at the beginning of a chunk whose its records are.
    pub(super) fn begin_goroutine(self) {
        told::note_told(0);
        self.append_goroutine();
    }

    fn append_goroutine(self) {
        if let Some(Goroutine { number, creator }) = told::untold() {
            self.append(encode::goroutine(number, creator).as_slice());
            told::note_told(number);
        }
    }
}

/// Logs that a goroutine was let go on, or `started`, at `now` ticks. It is no reason to begin a
/// log.
#[cfg(any(feature = "injected", all(feature = "resources", target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn made_ready(now: u64, number: u64, started: bool) {
    let is_written = crate::state::current().and_then(attached).is_some_and(|writer| {
        writer.tell_goroutine();
        writer.is_near(now) && writer.append_at_once(encode::ready(now, number, started).as_slice())
    });
    if !is_written {
        made_ready_with_care(now, number, started);
    }
}

/// Logs the same where the thread has no chunk yet, or none with enough room.
#[cfg(any(feature = "injected", all(feature = "resources", target_arch = "x86_64")))]
#[cold]
#[inline(never)]
fn made_ready_with_care(now: u64, number: u64, started: bool) {
    if let Some(writer) = existing() {
        writer.record(&encode::ready(now, number, started), now);
    }
}
