//! The writer: a thread's way from a record to the mapped log, without locks and without allocation.
//!
//! Each thread writes into a chunk of its own. A record's words are reserved by one compare-and-exchange on the
//! thread's cursor, which a signal handler can come before or behind but not into. Then the first word says
//! "reserved", the others are stored, and the true first word goes in last, so that a reader finds whole records
//! however the process ends.

use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicU32, Ordering};

use socket_log::encode::{self, Direction, Words};
use socket_log::layout::{
    ANCHOR_REACH, CHUNK_BYTES, CHUNK_MAGIC, ChunkHeader, FileHeader, LARGEST_RECORD_WORDS, lost,
};

use crate::state::{self, State};
use crate::tls::{self, Thread};
use crate::{clock, raw, segment, start};

/// The right to write: a process with a log, and the calling thread as attached to it.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    state: &'static State,
    thread: &'static Thread,
}

/// The calling thread's writer; `None` where nothing may be logged: before the start, without a log, and in a
/// `vfork` child, which runs on its parent's memory.
#[inline(always)]
pub(crate) fn writer() -> Option<Writer> {
    let state = state::current()?;
    let thread = tls::current();
    let generation = state.generation.load(Relaxed);
    if generation != 0 && thread.generation.load(Relaxed) == generation {
        return Some(Writer { state, thread });
    }
    attach(state, thread)
}

#[cold]
fn attach(state: &'static State, thread: &'static Thread) -> Option<Writer> {
    if raw::is_sealed() {
        return None;
    }
    if state.generation.load(Ordering::Acquire) == 0 {
        // A child made out of our sight, at its first call.
        start::begin(state);
    }
    let generation = state.generation.load(Ordering::Acquire);
    if generation == 0 || state.header.load(Relaxed).is_null() {
        return None;
    }
    let tid = raw::gettid();
    if thread.attached.load(Relaxed) == generation {
        if thread.tid.load(Relaxed) != tid {
            return None; // A vfork child.
        }
    } else {
        thread.cursor.store(0, Relaxed);
        thread.tid.store(tid, Relaxed);
        thread.attached.store(generation, Relaxed);
    }
    thread.generation.store(generation, Relaxed);
    Some(Writer { state, thread })
}

/// Makes the calling thread look at who it is before it writes again: its child is about to run on its memory.
pub(crate) fn set_aside() {
    if !raw::is_sealed() {
        tls::current().generation.store(0, Relaxed);
    }
}

impl Writer {
    /// The process's state.
    #[inline(always)]
    pub(crate) fn state(self) -> &'static State {
        self.state
    }

    /// The log's header.
    pub(crate) fn header(self) -> Option<&'static FileHeader> {
        // SAFETY: null or a mapping that is never removed.
        unsafe { self.state.header.load(Relaxed).as_ref() }
    }

    /// The next flow's number.
    pub(crate) fn next_flow(self) -> u32 {
        self.state.flows.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// Writes a transfer on a stream: `ticks` is its time, `now` the present.
    #[inline(always)]
    pub(crate) fn transfer(
        self,
        direction: Direction,
        flow: u32,
        ticks: u64,
        bytes: u64,
        duration: u64,
        now: u64,
    ) {
        if let Some(words) = encode::transfer(direction, flow, ticks, bytes, duration)
            && self.is_near(ticks)
            && let Some(place) = self.reserve(words.len())
        {
            // SAFETY: the words were reserved for this record.
            unsafe { commit(place, &words) };
        } else {
            self.transfer_with_care(direction, flow, ticks, bytes, duration, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn transfer_with_care(
        self,
        direction: Direction,
        flow: u32,
        ticks: u64,
        bytes: u64,
        duration: u64,
        now: u64,
    ) {
        if !self.make_ready(now) {
            return;
        }
        match encode::transfer(direction, flow, ticks, bytes, duration) {
            Some(words) if self.is_near(ticks) => self.append(&words),
            _ => self.append(encode::transfer_long(direction, flow, ticks, bytes, duration).as_slice()),
        }
    }

    /// Writes a record whose time is `now`.
    pub(crate) fn record(self, words: &Words, now: u64) {
        if self.make_ready(now) {
            self.append(words.as_slice());
        }
    }

    /// Counts a record that is not written.
    #[cold]
    pub(crate) fn lose(self, cause: usize) {
        if let Some(count) = self.header().and_then(|header| header.lost.get(cause)) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Whether the thread has a chunk with an anchor near enough to `ticks`.
    #[inline(always)]
    fn is_near(self, ticks: u64) -> bool {
        let distance = ticks.wrapping_sub(self.thread.anchor.load(Relaxed));
        distance.wrapping_add(ANCHOR_REACH) < 2 * ANCHOR_REACH
    }

    /// Sees to it that the thread has room for the longest record that is written here, behind an anchor near to
    /// `now`; otherwise the record is counted as lost.
    fn make_ready(self, now: u64) -> bool {
        const WORDS: usize = 80;
        const { assert!(WORDS <= LARGEST_RECORD_WORDS) };
        let used = self.thread.cursor.load(Relaxed) % CHUNK_BYTES;
        if (used == 0 || used + 4 * WORDS > CHUNK_BYTES)
            && let Err(cause) = self.take_chunk()
        {
            self.lose(cause);
            return false;
        }
        if !self.is_near(now) {
            let anchor = clock::anchor();
            self.append(encode::anchor(&anchor).as_slice());
            self.thread.anchor.store(anchor.ticks, Relaxed);
        }
        true
    }

    /// Gives the thread a new chunk.
    fn take_chunk(self) -> Result<(), usize> {
        let stopped = self.state.stopped.load(Relaxed);
        if stopped != 0 {
            return Err(stopped as usize - 1);
        }
        let header = self.header().ok_or(lost::REFUSED)?;
        let number = header.chunks.fetch_add(1, Relaxed);
        let memory = segment::chunk(self.state, number).inspect_err(|cause| {
            header.chunks.fetch_sub(1, Relaxed);
            segment::stop(self.state, *cause);
        })?;
        let anchor = clock::anchor();
        let chunk: *mut ChunkHeader = memory.cast();
        // SAFETY: the chunk's number was given to nobody else, and its memory stays mapped.
        unsafe {
            (&raw mut (*chunk).tid).write(self.thread.tid.load(Relaxed));
            (&raw mut (*chunk).anchor).write(anchor);
            (*chunk).magic.store(CHUNK_MAGIC, Release);
        }
        // The cursor last: a signal handler in between still writes into the old chunk.
        self.thread.anchor.store(anchor.ticks, Relaxed);
        self.thread.cursor.store(memory as usize + size_of::<ChunkHeader>(), Relaxed);
        Ok(())
    }

    fn append(self, words: &[u32]) {
        match self.reserve(words.len()) {
            // SAFETY: the words were reserved for this record.
            Some(place) => unsafe { commit(place, words) },
            None => self.lose(lost::BUSY),
        }
    }

    /// Takes `words` words of the thread's chunk, where it has them left.
    #[inline(always)]
    fn reserve(self, words: usize) -> Option<*mut u32> {
        let cursor = &self.thread.cursor;
        loop {
            let at = cursor.load(Relaxed);
            let used = at % CHUNK_BYTES;
            if used == 0 || used + 4 * words > CHUNK_BYTES {
                return None;
            }
            if tls::replace(cursor, at, at + 4 * words) {
                return Some(core::ptr::with_exposed_provenance_mut(at));
            }
        }
    }
}

/// Stores a record at its reserved place, its first word last.
///
/// # Safety
/// `place` is followed by as many words as the record has, reserved for it.
#[inline(always)]
unsafe fn commit(place: *mut u32, words: &[u32]) {
    let Some((&first, rest)) = words.split_first() else { return };
    // SAFETY: the place is valid, aligned and the caller's own; readers are other processes.
    unsafe {
        let tag = AtomicU32::from_ptr(place);
        tag.store(encode::reserved(words.len()), Relaxed);
        // Neither the compiler nor (by the release below) the machine moves the tag behind the body.
        core::sync::atomic::fence(Release);
        for (index, word) in rest.iter().enumerate() {
            place.add(1 + index).write(*word);
        }
        tag.store(first, Release);
    }
}
