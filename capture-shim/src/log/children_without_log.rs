//! Counts children that use sockets and can make no log. Nothing else would report them, so they
//! count themselves, in memory that they share with their parent. The parent's log has the count.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};

use socket_log::layout::FileHeader;

use super::preallocated_logs;
use crate::platform::raw;
use crate::state::ProcessState;

/// Count of the nearest ancestor with a log, which is shared with its children; null if there is
/// none.
static NEAREST: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Maps the count that this process, which has a log, shares with the children it is about to make.
pub(crate) fn share_counter(state: &ProcessState) {
    if state.without_log.load(Relaxed).is_null()
        && let Some(memory) = raw::map_shared(size_of::<AtomicU64>())
    {
        #[cfg(feature = "injected")]
        crate::platform::mapped_memory::note_mapping(memory, size_of::<AtomicU64>());
        state.without_log.store(memory.cast(), Relaxed);
        NEAREST.store(memory.cast(), Release);
    }
}

/// Counts this process as one without a log.
pub(crate) fn count_child() {
    // SAFETY: null, or a mapping that was inherited and is never removed.
    match unsafe { NEAREST.load(Acquire).as_ref() } {
        Some(count) => _ = count.fetch_add(1, Relaxed),
        None => preallocated_logs::count_missing(),
    }
}

/// Writes the count of this process's children so far into the header.
pub(crate) fn collect_counter(state: &ProcessState, header: &FileHeader) {
    // SAFETY: null, or a mapping that is never removed.
    if let Some(count) = unsafe { state.without_log.load(Relaxed).as_ref() } {
        // `fetch_max`, as children may have counted themselves in the header directly, see
        // `preallocated_logs::count_missing`.
        header.without_log.fetch_max(count.load(Relaxed), Relaxed);
    }
}
