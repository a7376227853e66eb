//! Reserve: space made ahead, for a process that is about to lose access to its log, by another
//! root directory, another user, or forbidden system calls.
//!
//! The log is mapped far beyond its end while it can still be opened. The mapping costs only
//! address space, and the file only a size, until a chunk is needed. Then `madvise` has the kernel
//! allocate its pages on the disk, which takes neither a path nor a descriptor and fails with an
//! error instead of a SIGBUS, which a plain store would cause. If not even `madvise` is permitted,
//! the log has the space that it was given before.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use socket_log::layout::{CHUNK_BYTES, FileHeader, HEADER_BYTES, lost};

use super::{keep, pages};
use crate::platform::raw;
use crate::state::ProcessState;
use crate::state::options::recording_options;
use crate::tuning::{
    RESERVE_AHEAD_BYTES, RESERVE_BYTES, RESERVE_BYTES_LIMITED, RESERVE_STEP_BYTES,
};

/// Whether the pages of a reserve can be allocated when they are needed. The kernel is asked once.
pub(crate) fn can_populate() -> bool {
    static ANSWER: AtomicU32 = AtomicU32::new(0);
    if ANSWER.load(Relaxed) == 0 {
        ANSWER.store(1 + u32::from(raw::can_populate()), Relaxed);
    }
    ANSWER.load(Relaxed) == 2
}

/// Makes a reserve for the process's own log, unless it has one. If `ahead`, the process can
/// allocate nothing later, so some space is allocated now.
pub(crate) fn make_reserve(state: &ProcessState, header: &FileHeader, ahead: bool) {
    let used = HEADER_BYTES + header.chunks.load(Relaxed) as usize * CHUNK_BYTES;
    if !state.reserve.load(Acquire).is_null() {
        // The process loses more rights than when the reserve was made. One step less than the
        // full space is enough, since allocating pages of a mapping is slow.
        while ahead
            && state.reserve_ready.load(Relaxed) < used + RESERVE_AHEAD_BYTES - RESERVE_STEP_BYTES
            && matches!(grow_reserve(state), Some(Ok(())))
        {}
        return;
    }
    let Ok(file) = keep::open_log(state) else { return };
    let reach = if raw::has_boundless_space() { RESERVE_BYTES } else { RESERVE_BYTES_LIMITED };
    let Some(length) = largest_length(used + reach) else { return };
    let ahead = if ahead { RESERVE_AHEAD_BYTES.min(length.saturating_sub(used)) } else { 0 };
    let is_given = ahead > 0 && file.allocate(used, ahead) == 0;
    // Other threads may make the log grow at this moment, but by less than the reserve.
    if file.size() < length && file.resize(length) < 0 {
        return;
    }
    if let Ok(memory) = file.map_sparse(length) {
        pages::advise_mapping(memory, length);
        let ready = if is_given { used + ahead } else { used };
        publish_reserve(state, memory, length, ready);
    }
}

/// Largest length in bytes, up to `length`, that the process may give a file of its own; `None` if
/// it may give none.
pub(crate) fn largest_length(length: usize) -> Option<usize> {
    let most =
        recording_options().max_bytes.min(raw::file_size_limit()) as usize & !(CHUNK_BYTES - 1);
    Some(length.min(most)).filter(|length| *length > HEADER_BYTES)
}

/// Makes `memory` the place of the log from now on. Its first `ready` bytes are allocated.
pub(crate) fn publish_reserve(state: &ProcessState, memory: *mut u8, length: usize, ready: usize) {
    state.reserve_length.store(length, Relaxed);
    state.reserve_ready.store(ready, Relaxed);
    state.reserve.store(memory, Release);
}

/// Memory of the chunk at `offset` of the file, or the cause ([`lost`]) for which there is none;
/// `None` if there is no reserve.
pub(crate) fn reserved_chunk(
    state: &ProcessState,
    offset: usize,
) -> Option<Result<*mut u8, usize>> {
    let memory = state.reserve.load(Acquire);
    if memory.is_null() {
        return None;
    }
    let length = state.reserve_length.load(Relaxed);
    let end = offset + CHUNK_BYTES;
    if end > length {
        return Some(Err(lost::LIMIT));
    }
    while end > state.reserve_ready.load(Relaxed) {
        if let Err(cause) = grow_reserve(state)? {
            return Some(Err(cause));
        }
    }
    Some(Ok(memory.wrapping_add(offset)))
}

/// Allocates the next [`RESERVE_STEP_BYTES`] of the reserve, or returns the cause ([`lost`]) of a
/// failure; `None` if all of the reserve is allocated.
fn grow_reserve(state: &ProcessState) -> Option<Result<(), usize>> {
    let memory = state.reserve.load(Acquire);
    let ready = state.reserve_ready.load(Relaxed);
    let step = RESERVE_STEP_BYTES.min(state.reserve_length.load(Relaxed).saturating_sub(ready));
    if memory.is_null() || step == 0 {
        return None;
    }
    // Several threads may ask for the same pages, which are then allocated once.
    // SAFETY: within the mapping, which is never removed.
    Some(match unsafe { raw::populate_pages(memory.wrapping_add(ready), step) } {
        0 => {
            state.reserve_ready.fetch_max(ready + step, Relaxed);
            Ok(())
        }
        error => Err(cause_of_error(error)),
    })
}

/// Cause of loss ([`lost`]) for an error of the kernel at an allocation of pages.
fn cause_of_error(error: isize) -> usize {
    match -error as i32 {
        // There is no space: a store into such a page would raise SIGBUS.
        libc::EFAULT => lost::NO_SPACE,
        libc::ENOMEM => lost::SHORTAGE,
        libc::EINTR | libc::EAGAIN => lost::BUSY,
        _ => lost::REFUSED,
    }
}
