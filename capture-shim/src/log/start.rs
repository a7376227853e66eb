//! Beginning of a log: when the process uses its first socket.
//!
//! Most processes never do, and leave nothing. The beginning of the process is noted before, as its
//! log has to tell it.
//!
//! Whatever goes wrong here, the program runs on as if the library were not there.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use socket_log::layout::{FileHeader, MAGIC, lost, state as progress};

use super::{causes, family, guard, keep, new_file, program_facts, segment, spares};
use crate::descriptors::table;
use crate::platform::{checksum, clock, identity, permitted, raw};
use crate::state::{State, lineage};
use crate::tuning::MAX_YIELDS;

/// Notes the beginning of a child, which has one thread. It has no log until it uses a socket.
pub(crate) fn born(state: &State) {
    let birth = clock::anchor();
    // SAFETY: the process has one thread.
    unsafe { *state.birth.get() = birth };
    if permitted::is_active() {
        // The child knows its parent by this, and its children know it.
        identity::process();
    }
    lineage::enter(birth.realtime);
}

/// Starts the process's log. Returns when it is started, by whichever thread, or cannot be.
pub(crate) fn begin(state: &State) {
    let own = identity::tid();
    if let Err(starter) = state.starting.compare_exchange(0, own, AcqRel, Acquire) {
        // Another thread starts the log, which takes as long as making a file. It may be this very
        // thread, interrupted by a signal: so the wait has an end.
        for _ in 0..MAX_YIELDS {
            let is_over = state.generation.load(Acquire) != 0 || state.starting.load(Acquire) == 0;
            if is_over || starter == own {
                return;
            }
            raw::sched_yield();
        }
        return;
    }
    // Not when the library is loaded: most processes have no use for it, and a virtual processor
    // takes long to say what it has.
    checksum::choose();
    let generation = clock::now() | 1;
    match causes::patiently(state, || create(state)) {
        Ok(header) => {
            // SAFETY: a page of a log, which stays mapped.
            if let Some(count) = unsafe { (*header).lost.get(lost::SHORTAGE) } {
                count.fetch_add(state.missed.load(Relaxed), Relaxed);
            }
            state.header.store(header, Relaxed);
        }
        Err(cause) if causes::passes(cause) => {
            // The next attempt is made at one of the next messages.
            state.starting.store(0, Release);
            return;
        }
        Err(_) => {
            family::count();
            table::disable();
        }
    }
    state.generation.store(generation, Release);
}

/// Makes the log, or takes a spare one where none can be made; or tells the cause ([`lost`]) for
/// which there is none.
fn create(state: &State) -> Result<*mut FileHeader, usize> {
    // A file that is made and cannot be mapped is of no use. So a spare log comes first where
    // system calls are given up.
    let spare = if permitted::is_active() { spares::take(state) } else { None };
    // Before anything is stored in it.
    guard::begin();
    let made = spare.map_or_else(|| create_file(state), Ok);
    let header = made.or_else(|cause| spares::take(state).ok_or(cause))?;
    // SAFETY: a page of a new log, which is this process's alone and stays mapped; zeros are valid.
    fill_in(state, unsafe { &mut *header });
    Ok(header)
}

/// Makes the log ahead, for a time when none can be made any more. Tools pass over it until there
/// is something in it.
pub(crate) fn begin_ahead(state: &State, room: usize) {
    if state.starting.compare_exchange(0, identity::tid(), AcqRel, Acquire).is_err() {
        return;
    }
    checksum::choose();
    let generation = clock::now() | 1;
    // SAFETY: only the thread that starts the log writes the path, and nobody reads it before the
    // generation.
    let path = unsafe { &mut *state.path.get() };
    let made = new_file::set_path(path, state, b".spare")
        .and_then(|()| spares::make_one(path, room, |file| keep::note(state, file)));
    let Some(made) = made else {
        state.starting.store(0, Release);
        return;
    };
    guard::begin();
    spares::become_own(state, &made);
    // Nothing is stored before it is needed: the first store into a page of a file takes time.
    state.unused.store(1, Relaxed);
    state.header.store(made.memory.cast(), Relaxed);
    state.generation.store(generation, Release);
}

/// Fills in the header of a log that was made ahead: it is about to have something in it.
#[cold]
#[inline(never)]
pub(crate) fn announce(state: &State) {
    let header = state.header.load(Relaxed);
    // Once only, by whoever is first, a signal handler maybe.
    if !header.is_null() && state.unused.compare_exchange(1, 0, AcqRel, Relaxed).is_ok() {
        // SAFETY: the mapping has room for it, and zeros are valid; nobody else fills it in.
        fill_in(state, unsafe { &mut *header });
    }
}

/// Fills in the header of a new log, and lets readers have it.
fn fill_in(state: &State, fields: &mut FileHeader) {
    program_facts::describe(fields);
    let who = identity::process();
    (fields.pid, fields.parent_pid, fields.uid) = (who.pid, who.parent, who.user);
    fields.start = new_file::birth(state);
    lineage::fill(&mut fields.ancestors);
    fields.state.store(progress::RUNNING, Relaxed);
    fields.magic.store(MAGIC, Release);
}

/// Makes the file of the log and maps its first segment.
fn create_file(state: &State) -> Result<*mut FileHeader, usize> {
    // The path is made in its final place, since the program may have left little room on the
    // stack.
    // SAFETY: only the thread that starts the log writes the path, and nobody reads it before the
    // generation.
    let path = unsafe { &mut *state.path.get() };
    new_file::set_path(path, state, b".sclog").ok_or(lost::REFUSED)?;
    let file = new_file::create(path)?;
    keep::note(state, &file);
    let memory = segment::map_file(&file, 0, segment::FIRST)
        .inspect_err(|_| keep::unlink(path.as_c_str()))?;
    drop(file);
    let first = state.segments.first().ok_or(lost::REFUSED)?;
    first.store(memory, Relaxed);
    Ok(memory.cast())
}
