//! Writer: the right of a thread to write into the log.
//!
//! A thread has this right if its process has a log of its own. A `vfork` child does not have it,
//! since it runs on its parent's memory.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use socket_log::layout::FileHeader;

use super::{guard, start};
use crate::platform::identity;
use crate::state::thread::{self, ThreadLogState};
use crate::state::{self, ProcessState, RecentSockets, child_birth, inherit};

/// Right to write: a process with a log, and the calling thread as attached to it.
#[derive(Clone, Copy)]
pub(crate) struct RecordWriter {
    pub(super) state: &'static ProcessState,
    pub(super) thread: &'static ThreadLogState,
}

/// Writer of the calling thread. Begins the log if there is none. `None` if nothing may be logged:
/// before the library is set up, if no log can be made, and in a `vfork` child, which runs on its
/// parent's memory.
#[inline(always)]
pub(crate) fn current_writer() -> Option<RecordWriter> {
    let state = state::current_state()?;
    let writer = match attached_writer(state) {
        Some(writer) => writer,
        None => attach_thread(state, thread::current_thread())?,
    };
    writer.record_goroutine();
    Some(writer)
}

/// Writer of the calling thread, if it is attached to the log already.
#[inline(always)]
pub(super) fn attached_writer(state: &'static ProcessState) -> Option<RecordWriter> {
    let thread = thread::current_thread();
    let generation = state.generation.load(Relaxed);
    (generation != 0 && thread.generation.load(Relaxed) == generation)
        .then_some(RecordWriter { state, thread })
}

/// Writer of the calling thread, if the thread is attached to the log already. For records that
/// name their context themselves: the context of the next records is not written.
#[cfg(not(feature = "injected"))]
pub(crate) fn attached_thread() -> Option<RecordWriter> {
    attached_writer(state::current_state()?)
}

/// Whether the calling thread may write, and whether there is a log. For events that do not justify
/// beginning a log.
pub(crate) enum LogStanding {
    /// The process has a log, and the thread may write into it.
    Writes(RecordWriter),
    /// The process has used no socket so far, and so it has no log yet.
    NoLogYet(&'static ProcessState),
    /// Nothing may be logged: the caller is a `vfork` child, or nothing of this process is
    /// recorded.
    Excluded,
}

/// Standing of the calling thread. This function begins no log.
pub(crate) fn log_standing() -> LogStanding {
    let Some(state) = state::current_state() else { return LogStanding::Excluded };
    if state.generation.load(Acquire) != 0 && !state.is_unused() {
        return current_writer().map_or(LogStanding::Excluded, LogStanding::Writes);
    }
    if is_child_of(state, thread::current_thread(), identity::thread_id) {
        LogStanding::Excluded
    } else {
        LogStanding::NoLogYet(state)
    }
}

/// State of the process; `None` if the calling thread must not change the table of descriptors.
pub(crate) fn state_for_table() -> Option<&'static ProcessState> {
    match log_standing() {
        LogStanding::Writes(writer) => Some(writer.state),
        LogStanding::NoLogYet(state) => Some(state),
        LogStanding::Excluded => None,
    }
}

/// Writer of the calling thread if there is a log already: for events that are recorded, but for
/// which no log is begun.
pub(crate) fn existing_writer() -> Option<RecordWriter> {
    match log_standing() {
        LogStanding::Writes(writer) => Some(writer),
        _ => None,
    }
}

/// Whether the calling thread is a `vfork` child that was made before there was a log: then it runs
/// with the state of its parent's thread, which has another id.
fn is_child_of(state: &ProcessState, thread: &ThreadLogState, tid: impl FnOnce() -> u32) -> bool {
    let known = thread.tid.load(Relaxed);
    state.has_vforked.load(Relaxed) != 0 && known != 0 && known != tid()
}

/// Attaches the calling thread to the log, which is begun if need be. `None` if nothing may be
/// logged.
#[cold]
fn attach_thread(
    state: &'static ProcessState,
    thread: &'static ThreadLogState,
) -> Option<RecordWriter> {
    if state.generation.load(Acquire) == 0 {
        if is_child_of(state, thread, identity::thread_id) {
            return None;
        }
        // This is the first event of this process for which a log is begun.
        start::start_log(state);
    }
    let generation = state.generation.load(Acquire);
    if generation == 0 || state.header.load(Relaxed).is_null() {
        return None;
    }
    let tid = identity::thread_id();
    if thread.attached.load(Relaxed) == generation {
        if thread.tid.load(Relaxed) != tid {
            return None; // A vfork child.
        }
        inherit::reclaim_mapping();
    } else if is_child_of(state, thread, || tid) {
        return None;
    } else {
        thread.cursor.store(0, Relaxed);
        thread.retired.iter().for_each(|kept| kept.store(0, Relaxed));
        thread.recent.forget();
        thread.sent_to.reset_peers();
        thread.received_from.reset_peers();
        thread.set_ended(false);
        thread.tid.store(tid, Relaxed);
        thread.attached.store(generation, Relaxed);
        #[cfg(not(feature = "injected"))]
        state::context_source::begin_asking(thread);
        guard::begin_thread();
    }
    thread.generation.store(generation, Relaxed);
    Some(RecordWriter { state, thread })
}

/// Prepares for a `vfork` by the calling thread, whose child will run on the thread's memory: makes
/// the thread check its id before it writes again.
pub(crate) fn begin_vfork() {
    child_birth::complete_birth();
    let (Some(state), thread) = (state::current_state(), thread::current_thread()) else { return };
    if state.generation.load(Acquire) == 0 {
        thread.tid.store(identity::thread_id(), Relaxed);
        state.has_vforked.store(1, Relaxed);
    } else {
        // The thread is attached first: the child must not be mistaken for it, even if the child is
        // the first to log.
        let _ = current_writer();
        thread.generation.store(0, Relaxed);
    }
}

impl RecordWriter {
    /// State of the process.
    #[inline(always)]
    pub(crate) fn state(self) -> &'static ProcessState {
        self.state
    }

    /// Header of the log; `None` without a log.
    pub(crate) fn header(self) -> Option<&'static FileHeader> {
        // SAFETY: null or a mapping that is never removed.
        unsafe { self.state.header.load(Relaxed).as_ref() }
    }

    /// Facts about sockets that the calling thread has just learned.
    pub(crate) fn recent_sockets(self) -> &'static RecentSockets {
        &self.thread.recent
    }

    /// Id of the calling thread.
    pub(crate) fn tid(self) -> u32 {
        self.thread.tid.load(Relaxed)
    }

    /// Number of the next flow.
    pub(crate) fn next_flow(self) -> u32 {
        self.state.flows.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// Counts a record that is not written, for a `cause` of [`socket_log::layout::lost`].
    #[cold]
    pub(crate) fn count_lost(self, cause: usize) {
        self.count_lost_records(cause, 1);
    }

    /// Counts `number` records that are not written, for a `cause` of
    /// [`socket_log::layout::lost`].
    pub(crate) fn count_lost_records(self, cause: usize, number: u64) {
        if let Some(count) = self.header().and_then(|header| header.lost.get(cause)) {
            count.fetch_add(number, Relaxed);
        }
    }
}
