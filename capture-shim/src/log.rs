//! The writer: a thread's way from a record to the mapped log, without locks and without
//! allocation.
//!
//! Each thread writes into a chunk of its own. A record's words are reserved by one
//! compare-and-exchange on the thread's cursor, which a signal handler can come before or behind
//! but not into. Then the first word says "reserved", the others are stored, and the true first
//! word goes in last, so that a reader finds whole records however the process ends.

mod chunks;
mod commit;
mod positioned;

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use socket_log::encode::{self, DATAGRAM_WORDS, Datagram, Direction, ENDPOINTS_WORDS, Words};
use socket_log::layout::{
    ANCHOR_REACH, CHUNK_BYTES, FileHeader, SHORT_DATAGRAM_WORDS, SHORT_REACH, SHORT_WORDS, lost,
};

use crate::peers::Peers;
use crate::state::{self, State};
use crate::tls::{self, Thread};
use crate::{identity, inherit, start};

pub(crate) use commit::open_chunk;
use commit::{commit, commit_datagram};

/// The right to write: a process with a log, and the calling thread as attached to it.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    state: &'static State,
    thread: &'static Thread,
}

/// The calling thread's writer; `None` where nothing may be logged: before the start, without a
/// log, and in a `vfork` child, which runs on its parent's memory.
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

/// What the calling thread may do where nothing is to be logged that would be worth a log.
pub(crate) enum Standing {
    /// The process has a log, and the thread may write into it.
    Writes(Writer),
    /// The process has used no socket so far, and so it has no log yet.
    Silent(&'static State),
    /// Nothing: it is a `vfork` child, or nothing of this process is recorded.
    Aside,
}

/// What the calling thread may do, without beginning a log.
pub(crate) fn standing() -> Standing {
    let Some(state) = state::current() else { return Standing::Aside };
    if state.generation.load(Acquire) != 0 && !start::is_unused(state) {
        return writer().map_or(Standing::Aside, Standing::Writes);
    }
    if is_child_of(state, tls::current(), identity::tid) {
        Standing::Aside
    } else {
        Standing::Silent(state)
    }
}

/// The state, where the calling thread may change the table of descriptors.
pub(crate) fn state_of_table() -> Option<&'static State> {
    match standing() {
        Standing::Writes(writer) => Some(writer.state),
        Standing::Silent(state) => Some(state),
        Standing::Aside => None,
    }
}

/// The calling thread's writer where there is a log already: for what is worth a record, but no
/// log.
pub(crate) fn existing() -> Option<Writer> {
    match standing() {
        Standing::Writes(writer) => Some(writer),
        _ => None,
    }
}

/// Whether the calling thread is the `vfork` child of one that was set aside before there was a
/// log.
fn is_child_of(state: &State, thread: &Thread, tid: impl FnOnce() -> u32) -> bool {
    let known = thread.tid.load(Relaxed);
    state.has_vforked.load(Relaxed) != 0 && known != 0 && known != tid()
}

#[cold]
fn attach(state: &'static State, thread: &'static Thread) -> Option<Writer> {
    if state.generation.load(Acquire) == 0 {
        if is_child_of(state, thread, identity::tid) {
            return None;
        }
        // The first thing of this process that is worth a log.
        start::begin(state);
    }
    let generation = state.generation.load(Acquire);
    if generation == 0 || state.header.load(Relaxed).is_null() {
        return None;
    }
    let tid = identity::tid();
    if thread.attached.load(Relaxed) == generation {
        if thread.tid.load(Relaxed) != tid {
            return None; // A vfork child.
        }
        inherit::reclaim();
    } else if is_child_of(state, thread, || tid) {
        return None;
    } else {
        thread.cursor.store(0, Relaxed);
        thread.retired.iter().for_each(|kept| kept.store(0, Relaxed));
        thread.sent_to.reset();
        thread.received_from.reset();
        thread.ended.store(0, Relaxed);
        thread.tid.store(tid, Relaxed);
        thread.attached.store(generation, Relaxed);
    }
    thread.generation.store(generation, Relaxed);
    Some(Writer { state, thread })
}

/// Makes the calling thread look at who it is before it writes again: its child is about to run on
/// its memory.
pub(crate) fn set_aside() {
    let (Some(state), thread) = (state::current(), tls::current()) else { return };
    if state.generation.load(Acquire) == 0 {
        thread.tid.store(identity::tid(), Relaxed);
        state.has_vforked.store(1, Relaxed);
    } else {
        // Attached first: the child must not be taken for the thread, even if it is the first to
        // log.
        let _ = writer();
        thread.generation.store(0, Relaxed);
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

    /// The calling thread's id.
    pub(crate) fn tid(self) -> u32 {
        self.thread.tid.load(Relaxed)
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
        if let Some(words) = encode::transfer_short(direction, flow, ticks, bytes, duration)
            && self.is_near(ticks)
            && let Some(place) = self.reserve(SHORT_WORDS, || self.follows(ticks))
        {
            // SAFETY: the words were reserved for this record.
            unsafe { commit(place, SHORT_WORDS, words.into_iter()) };
            self.thread.latest.store(ticks, Release);
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
        let Some(_behind) = self.make_ready(now) else { return };
        // Until this record is whole, one of a signal handler must not be read as following upon
        // it.
        self.thread.latest.store(0, Release);
        match encode::transfer(direction, flow, ticks, bytes, duration) {
            Some(words) if self.is_near(ticks) => self.append(&words),
            _ => self
                .append(encode::transfer_long(direction, flow, ticks, bytes, duration).as_slice()),
        }
        self.thread.latest.store(ticks, Release);
    }

    /// Writes a datagram's record; `now` is the present.
    #[inline(always)]
    pub(crate) fn datagram(self, datagram: &Datagram, now: u64) {
        let Datagram { flow, peer, .. } = *datagram;
        let latest = self.peers(datagram.direction).of(flow);
        if let Some(words) = encode::datagram_short(datagram)
            && self.is_near(datagram.ticks)
            && let Some(place) = self.reserve(SHORT_DATAGRAM_WORDS, || latest.is(flow, peer))
        {
            // SAFETY: the words were reserved for this record.
            unsafe { commit(place, SHORT_DATAGRAM_WORDS, words.into_iter()) };
        } else {
            self.datagram_whole(datagram, now);
        }
    }

    /// Writes a datagram's record in the long form, and notes its peer.
    #[inline(never)]
    fn datagram_whole(self, datagram: &Datagram, now: u64) {
        let (head, peer) = encode::datagram_parts(datagram);
        let length = DATAGRAM_WORDS + peer.len().div_ceil(4);
        let Some(_behind) = self.make_ready(now) else { return };
        let latest = self.peers(datagram.direction).of(datagram.flow);
        let noting = latest.begin();
        match self.reserve(length, || true) {
            // SAFETY: as many words were reserved for this record.
            Some(place) => unsafe { commit_datagram(place, length, &head, peer) },
            None => self.lose(lost::BUSY),
        }
        if noting {
            latest.note(datagram.flow, peer);
        }
    }

    #[inline(always)]
    fn peers(self, direction: Direction) -> &'static Peers {
        match direction {
            Direction::Send => &self.thread.sent_to,
            Direction::Receive => &self.thread.received_from,
        }
    }

    /// Writes a record whose time is `now`.
    #[inline]
    pub(crate) fn record<const CAPACITY: usize>(self, words: &Words<CAPACITY>, now: u64) {
        self.record_words(words.as_slice(), now);
    }

    #[inline(never)]
    fn record_words(self, words: &[u32], now: u64) {
        if let Some(_behind) = self.make_ready(now) {
            self.append(words);
        }
    }

    /// Writes what a flow's ends are called, in the parts of [`encode::endpoints_parts`].
    #[inline(never)]
    pub(crate) fn names(self, parts: ([u32; ENDPOINTS_WORDS], &[u8], &[u8]), now: u64) {
        let (head, local, peer) = parts;
        let length = head.len() + local.len().div_ceil(4) + peer.len().div_ceil(4);
        let Some(_behind) = self.make_ready(now) else { return };
        let Some(place) = self.reserve(length, || true) else { return self.lose(lost::BUSY) };
        // SAFETY: as many words were reserved for this record, and what pads the names is zero
        // already.
        unsafe {
            let tag = AtomicU32::from_ptr(place);
            tag.store(encode::reserved(length), Relaxed);
            // As in `commit`.
            core::sync::atomic::fence(Release);
            place.add(1).copy_from_nonoverlapping(head.as_ptr().add(1), head.len() - 1);
            let names = place.add(head.len());
            names.cast::<u8>().copy_from_nonoverlapping(local.as_ptr(), local.len());
            let rest = names.add(local.len().div_ceil(4));
            rest.cast::<u8>().copy_from_nonoverlapping(peer.as_ptr(), peer.len());
            tag.store(head[0], Release);
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
        distance.wrapping_add(ANCHOR_REACH)
            < ANCHOR_REACH + u64::from(self.thread.reach.load(Relaxed))
    }

    /// Whether `ticks` is so soon after (or before) the thread's latest transfer that the shortest
    /// form will do.
    #[inline(always)]
    fn follows(self, ticks: u64) -> bool {
        let distance = ticks.wrapping_sub(self.thread.latest.load(Relaxed));
        distance.wrapping_add(SHORT_REACH) < 2 * SHORT_REACH
    }

    fn append(self, words: &[u32]) {
        match self.reserve(words.len(), || true) {
            // SAFETY: the words were reserved for this record.
            Some(place) => unsafe { commit(place, words.len(), words.iter().copied()) },
            None => self.lose(lost::BUSY),
        }
    }

    /// Takes `words` words of the thread's chunk, where it has them left and `fits` holds of the
    /// thread as it is when they are taken.
    #[inline(always)]
    fn reserve(self, words: usize, fits: impl Fn() -> bool) -> Option<*mut u32> {
        let cursor = &self.thread.cursor;
        loop {
            // Loaded before anything that `fits` looks at: a signal handler that changes that moves
            // the cursor too.
            let at = cursor.load(Acquire);
            let used = at % CHUNK_BYTES;
            if used == 0 || used + 4 * words > CHUNK_BYTES || !fits() {
                return None;
            }
            if tls::replace(cursor, at, at + 4 * words) {
                return Some(core::ptr::with_exposed_provenance_mut(at));
            }
        }
    }
}
