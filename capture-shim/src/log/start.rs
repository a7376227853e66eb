//! Begins a log when the process uses its first socket.
//!
//! Most processes never use a socket, and leave nothing. The start time of the process is noted
//! when the process starts, since its log has to contain it (`state/child_birth.rs` has a child's).
//!
//! Whatever fails here, the program continues as if the library were not there.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use socket_log::layout::{FileHeader, MAGIC, lost, state as progress};

use super::{
    causes, children_without_log, guard, keep, new_file, preallocated_logs, program_facts, segment,
};
use crate::descriptors::table;
use crate::platform::{checksum, clock, identity, permitted_syscalls, raw};
use crate::state::{ProcessState, child_birth, lineage};
use crate::tuning::MAX_YIELDS;

/// Starts the process's log. Returns when this or another thread has started it, or it cannot be
/// started.
pub(crate) fn start_log(state: &ProcessState) {
    let own = identity::thread_id();
    if let Err(starter) = state.starting.compare_exchange(0, own, AcqRel, Acquire) {
        // Another thread starts the log, which takes as long as making a file. It may be this very
        // thread, interrupted by a signal: so the wait is bounded.
        for _ in 0..MAX_YIELDS {
            let is_over = state.generation.load(Acquire) != 0 || state.starting.load(Acquire) == 0;
            if is_over || starter == own {
                return;
            }
            raw::sched_yield();
        }
        return;
    }
    child_birth::complete_birth();
    // The checksum is not chosen when the library is loaded: most processes do not need it, and a
    // virtual processor takes long to report its features.
    checksum::choose_crc32();
    let generation = clock::current_ticks() | 1;
    match causes::try_with_backoff(state, || create_log(state)) {
        Ok(header) => {
            // SAFETY: `header` is a page of the log, which stays mapped.
            if let Some(count) = unsafe { (*header).lost.get(lost::SHORTAGE) } {
                count.fetch_add(state.missed.load(Relaxed), Relaxed);
            }
            state.header.store(header, Relaxed);
        }
        Err(cause) if causes::is_temporary(cause) => {
            // A later message triggers the next attempt.
            state.starting.store(0, Release);
            return;
        }
        Err(_) => {
            children_without_log::count_child();
            table::disable_table();
        }
    }
    state.generation.store(generation, Release);
}

/// Makes the log, or takes a preallocated log if no log can be made; otherwise returns the cause
/// ([`lost`]).
fn create_log(state: &ProcessState) -> Result<*mut FileHeader, usize> {
    // If system calls are forbidden, a preallocated log is tried first: it might be possible to
    // make a file, but not to map it.
    let spare = if permitted_syscalls::is_active() {
        preallocated_logs::take_preallocated(state)
    } else {
        None
    };
    // The guard begins before anything is stored in the log.
    guard::begin_guard();
    let header = spare.map_or_else(|| create_file(state), Ok);
    let header =
        header.or_else(|cause| preallocated_logs::take_preallocated(state).ok_or(cause))?;
    // SAFETY: a page of a new log, which is owned by this process alone and stays mapped; zeros are
    // valid.
    fill_in(state, unsafe { &mut *header });
    Ok(header)
}

/// Makes the log ahead, with `room` allocated bytes, for a time when no log can be made any more.
/// Tools skip the log as long as it is empty.
pub(crate) fn begin_ahead(state: &ProcessState, room: usize) {
    if state.starting.compare_exchange(0, identity::thread_id(), AcqRel, Acquire).is_err() {
        return;
    }
    child_birth::complete_birth();
    checksum::choose_crc32();
    let generation = clock::current_ticks() | 1;
    // SAFETY: only the thread that starts the log writes the path, and nothing reads it before the
    // generation.
    let path = unsafe { &mut *state.path.get() };
    let log = new_file::set_path(path, state, b".spare").and_then(|()| {
        preallocated_logs::create_preallocated(path, room, |file| keep::note_log(state, file))
    });
    let Some(log) = log else {
        state.starting.store(0, Release);
        return;
    };
    guard::begin_guard();
    preallocated_logs::adopt_as_own(state, &log);
    // No header is stored before it is needed: the first store into a page of a file takes time.
    state.unused.store(1, Relaxed);
    state.header.store(log.memory.cast(), Relaxed);
    state.generation.store(generation, Release);
}

/// Fills in the header of a log that was made ahead, just before its first record.
#[cold]
#[inline(never)]
pub(crate) fn fill_header(state: &ProcessState) {
    let header = state.header.load(Relaxed);
    // Only one thread fills in the header, possibly in a signal handler.
    if !header.is_null() && state.unused.compare_exchange(1, 0, AcqRel, Relaxed).is_ok() {
        // SAFETY: the mapping has room for it, and zeros are valid; nothing else fills it in.
        fill_in(state, unsafe { &mut *header });
    }
}

/// Fills in the header of a new log, and publishes it to readers.
fn fill_in(state: &ProcessState, fields: &mut FileHeader) {
    program_facts::fill_header(fields);
    let ids = identity::process_ids();
    (fields.pid, fields.parent_pid, fields.uid) = (ids.pid, ids.parent, ids.user);
    fields.start = new_file::process_start(state);
    lineage::fill_ancestors(ids.pid, &mut fields.ancestors);
    fields.state.store(progress::RUNNING, Relaxed);
    fields.magic.store(MAGIC, Release);
}

/// Makes the file of the log and maps its first segment.
fn create_file(state: &ProcessState) -> Result<*mut FileHeader, usize> {
    // The path is made in its final place, since the program may have left little room on the
    // stack.
    // SAFETY: only the thread that starts the log writes the path, and nothing reads it before the
    // generation.
    let path = unsafe { &mut *state.path.get() };
    new_file::set_path(path, state, b".sclog").ok_or(lost::REFUSED)?;
    let file = new_file::create_log_file(path)?;
    keep::note_log(state, &file);
    let memory = segment::map_file(&file, 0, segment::FIRST_SEGMENT_BYTES)
        .inspect_err(|_| keep::unlink_file(path.as_c_str()))?;
    drop(file);
    let first = state.segments.first().ok_or(lost::REFUSED)?;
    first.store(memory, Relaxed);
    Ok(memory.cast())
}
