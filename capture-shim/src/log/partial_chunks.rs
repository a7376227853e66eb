//! Partial chunks of ended threads: the rest of a chunk is given to the next thread that begins, so
//! that a program of many short threads does not need a chunk for each.
//!
//! A thread's end is detected by a destructor of thread-specific data (`pthread_key_create`). Only
//! such a destructor covers a return, an exit and a cancellation alike, and, unlike a language's
//! thread-local storage, allocates nothing.

use core::ffi::{c_uint, c_void};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicUsize};

use socket_log::encode::{HandoffObject, SignalRecord};
use socket_log::layout::CHUNK_BYTES;

use super::{recycle, resources};
use crate::c_library::linker;
use crate::platform::clock;
use crate::state::options::{RESOURCES, recording_options};
use crate::state::{self, ProcessState, thread};
use crate::tuning::MIN_PARTIAL_CHUNK_BYTES;

/// Number of keys, from 0 on, for which glibc allocates no memory in a thread.
const KEYS_WITHOUT_ALLOCATION: c_uint = 32;

/// Key of the thread-specific data, plus one; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Registers a destructor for the end of threads.
pub(crate) fn watch_thread_ends() {
    // Not all versions of libc have these functions in libc's own file, so they must not be
    // required.
    let (Some(create), Some(_)) = (linker::pthread_key_create(), linker::pthread_setspecific())
    else {
        return;
    };
    let mut key = 0;
    // SAFETY: libc writes the key.
    let result = unsafe { create(&mut key, on_end) };
    // The memory of a later key comes from the program's allocator, and the thread may have been
    // waiting for that allocator's lock just now.
    if result == 0 && !(RESOURCES && key >= KEYS_WITHOUT_ALLOCATION) {
        KEY.store(key + 1, Relaxed);
    }
}

/// Has [`on_end`] called at the end of the calling thread, which has got its first chunk.
pub(crate) fn expect_end() {
    if KEY.load(Relaxed) != 0
        && let Some(set) = linker::pthread_setspecific()
    {
        // SAFETY: the library made the key; its value is never dereferenced.
        unsafe { set(KEY.load(Relaxed) - 1, (&raw const KEY).cast()) };
    }
}

/// Leaves the rest of the thread's chunk to other threads. Libc calls this function when the thread
/// ends.
unsafe extern "C" fn on_end(_: *mut c_void) {
    thread_ends();
}

/// Leaves the rest of the calling thread's chunk to other threads.
pub(crate) fn thread_ends() {
    let (Some(state), thread) = (state::current_state(), thread::current_thread()) else { return };
    if thread.attached.load(Relaxed) != state.generation.load(Relaxed) {
        return; // The thread's state and its chunk are copies of those in the parent process.
    }
    if RESOURCES {
        // SAFETY: takes no arguments.
        let object = unsafe { libc::pthread_self() };
        let what = HandoffObject::Thread;
        let signal = SignalRecord { what, object, all: true, amount: 0, duration: 0 };
        resources::log_signal(clock::current_ticks(), &signal);
    }
    // Other destructors may still log, for which the thread then gets another chunk.
    thread.set_ended(true);
    let left = thread.cursor.swap(0, AcqRel);
    if recording_options().keeps_newest {
        // A record that was interrupted here will not be continued.
        thread.retired.iter().for_each(|kept| recycle::queue_chunk(state, kept.swap(0, AcqRel)));
        recycle::queue_chunk(state, left.saturating_sub(1));
    } else {
        leave_chunk(state, left);
    }
}

/// Keeps the rest of a chunk, from `cursor` on, for the next thread that begins.
pub(crate) fn leave_chunk(state: &ProcessState, cursor: usize) {
    let used = cursor % CHUNK_BYTES;
    if used != 0 && CHUNK_BYTES - used >= MIN_PARTIAL_CHUNK_BYTES {
        let _ = state
            .partial_chunks
            .iter()
            .any(|place| place.compare_exchange(0, cursor, AcqRel, Relaxed).is_ok());
    }
}

/// Takes the rest of a chunk that an ended thread left, and returns its cursor.
pub(crate) fn take_chunk(state: &ProcessState) -> Option<usize> {
    let taken = |place: &AtomicUsize| match place.load(Relaxed) {
        0 => 0,
        _ => place.swap(0, Acquire),
    };
    state.partial_chunks.iter().map(taken).find(|cursor| *cursor != 0)
}
