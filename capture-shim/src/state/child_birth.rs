//! Birth of a `fork` child: noted at once, and completed when the child first needs more.
//!
//! A child begins with nearly empty page tables, so each page that it touches costs a page fault of
//! some microseconds, and most children never use a socket. So a child notes only its ticks and its
//! id, in the thread-local storage of its one thread, a page that libc has written to already. Its
//! start time on all clocks and its entry in the lineage are made before they are needed: when the
//! child begins a log, makes a thread or a child, or executes a program.

use core::sync::atomic::Ordering::Relaxed;

use super::{current_state, lineage, thread};
use crate::platform::{clock, identity, permitted_syscalls};

/// Notes the birth of a child, which has one thread.
#[inline(always)]
pub(crate) fn note_birth() {
    if permitted_syscalls::is_active() {
        // The ids are read while this is possible: the child's parent, and the child's own id as
        // the parent of its children.
        identity::process_ids();
    }
    let thread = thread::current_thread();
    thread.born_as.store(identity::process_id(), Relaxed);
    thread.birth.store(clock::current_ticks().max(1), Relaxed);
}

/// Whether the process is a child whose birth is not complete: it has one thread and no log.
#[inline(always)]
pub(crate) fn is_incomplete() -> bool {
    thread::current_thread().birth.load(Relaxed) != 0
}

/// Completes the birth of the process, if it was only noted.
#[inline(always)]
pub(crate) fn complete_birth() {
    if is_incomplete() {
        complete_noted();
    }
}

/// Determines the start time on all clocks, and enters the process into the lineage.
#[cold]
#[inline(never)]
fn complete_noted() {
    let thread = thread::current_thread();
    let ticks = thread.birth.swap(0, Relaxed);
    if ticks == 0 {
        return; // A signal handler was first.
    }
    let (pid, birth) = (thread.born_as.load(Relaxed), clock::anchor_at(ticks));
    // A child that was made unseen has a copy of its parent's note: of such a child only the parent
    // is known.
    if let Some(state) = current_state()
        && pid == identity::process_id()
    {
        // SAFETY: the process has one thread, see `is_incomplete`.
        unsafe { *state.birth.get() = birth };
    }
    lineage::enter_process(pid, birth.realtime);
}
