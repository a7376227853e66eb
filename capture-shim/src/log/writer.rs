//! Writer: the right of a thread to write into the log.
//!
//! A thread has it where its process has a log that is its own. A `vfork` child does not: it runs
//! on its parent's memory.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use socket_log::layout::FileHeader;

use super::{guard, start};
use crate::platform::identity;
use crate::state::thread::{self, Thread};
use crate::state::{self, State, inherit};

/// Right to write: a process with a log, and the calling thread as attached to it.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    pub(super) state: &'static State,
    pub(super) thread: &'static Thread,
}

/// Writer of the calling thread; `None` where nothing may be logged: before the start, without a
/// log, and in a `vfork` child, which runs on its parent's memory.
#[inline(always)]
pub(crate) fn writer() -> Option<Writer> {
    let state = state::current()?;
    let writer = match attached(state) {
        Some(writer) => writer,
        None => attach(state, thread::current())?,
    };
    writer.tell_goroutine();
    Some(writer)
}

/// Writer of the calling thread, if it is attached to the log already.
#[inline(always)]
pub(super) fn attached(state: &'static State) -> Option<Writer> {
    let thread = thread::current();
    let generation = state.generation.load(Relaxed);
    (generation != 0 && thread.generation.load(Relaxed) == generation)
        .then_some(Writer { state, thread })
}

/// Standing of the calling thread, where nothing is to be logged that would be worth a log.
pub(crate) enum Standing {
    /// The process has a log, and the thread may write into it.
    Writes(Writer),
    /// The process has used no socket so far, and so it has no log yet.
    Silent(&'static State),
    /// Nothing may be logged: the caller is a `vfork` child, or nothing of this process is
    /// recorded.
    Aside,
}

/// Standing of the calling thread. Begins no log.
pub(crate) fn standing() -> Standing {
    let Some(state) = state::current() else { return Standing::Aside };
    if state.generation.load(Acquire) != 0 && !state.is_unused() {
        return writer().map_or(Standing::Aside, Standing::Writes);
    }
    if is_child_of(state, thread::current(), identity::tid) {
        Standing::Aside
    } else {
        Standing::Silent(state)
    }
}

/// State of the process, where the calling thread may change the table of descriptors.
pub(crate) fn state_of_table() -> Option<&'static State> {
    match standing() {
        Standing::Writes(writer) => Some(writer.state),
        Standing::Silent(state) => Some(state),
        Standing::Aside => None,
    }
}

/// Writer of the calling thread where there is a log already: for what is worth a record, but no
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

/// Attaches the calling thread to the log, which is begun if need be.
#[cold]
fn attach(state: &'static State, thread: &'static Thread) -> Option<Writer> {
    if state.generation.load(Acquire) == 0 {
        if is_child_of(state, thread, identity::tid) {
            return None;
        }
        // This is the first event of this process that is worth a log.
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
        thread.say_ended(false);
        thread.tid.store(tid, Relaxed);
        thread.attached.store(generation, Relaxed);
        guard::begin_thread();
    }
    thread.generation.store(generation, Relaxed);
    Some(Writer { state, thread })
}

/// Makes the calling thread look at who it is before it writes again: its child is about to run on
/// its memory.
pub(crate) fn set_aside() {
    let (Some(state), thread) = (state::current(), thread::current()) else { return };
    if state.generation.load(Acquire) == 0 {
        thread.tid.store(identity::tid(), Relaxed);
        state.has_vforked.store(1, Relaxed);
    } else {
        // The thread is attached first: the child must not be taken for it, even if the child is
        // the first to log.
        let _ = writer();
        thread.generation.store(0, Relaxed);
    }
}

impl Writer {
    /// State of the process.
    #[inline(always)]
    pub(crate) fn state(self) -> &'static State {
        self.state
    }

    /// Header of the log.
    pub(crate) fn header(self) -> Option<&'static FileHeader> {
        // SAFETY: null or a mapping that is never removed.
        unsafe { self.state.header.load(Relaxed).as_ref() }
    }

    /// Id of the calling thread.
    pub(crate) fn tid(self) -> u32 {
        self.thread.tid.load(Relaxed)
    }

    /// Number of the next flow.
    pub(crate) fn next_flow(self) -> u32 {
        self.state.flows.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// Counts a record that is not written.
    #[cold]
    pub(crate) fn lose(self, cause: usize) {
        self.lose_some(cause, 1);
    }

    /// Counts records that are not written.
    pub(crate) fn lose_some(self, cause: usize, number: u64) {
        if let Some(count) = self.header().and_then(|header| header.lost.get(cause)) {
            count.fetch_add(number, Relaxed);
        }
    }
}
