//! Causes ([`lost`]) for which a log cannot grow, and a pause after each failure.

use core::sync::atomic::Ordering::Relaxed;

use socket_log::layout::lost;

use crate::state::ProcessState;
use crate::tuning::MAX_PAUSE;

/// Whether a failure with this cause may be over soon.
pub(crate) fn is_temporary(cause: usize) -> bool {
    matches!(cause, lost::BUSY | lost::SHORTAGE)
}

/// Cause of loss ([`lost`]) for an error of the kernel.
pub(crate) fn cause_of_error(error: isize) -> usize {
    match -error as i32 {
        libc::ENOSPC | libc::EDQUOT => lost::NO_SPACE,
        libc::EFBIG => lost::FILE_SIZE,
        libc::EMFILE | libc::ENFILE | libc::ENOMEM => lost::SHORTAGE,
        libc::EINTR | libc::EAGAIN => lost::BUSY,
        _ => lost::REFUSED,
    }
}

/// Calls `attempt`, which gets space for the log, unless the pause after a failed attempt lasts:
/// then returns the cause of that failure. After each failure twice as many records are dropped
/// before the next attempt, so that a program in trouble is not slowed down, too.
pub(crate) fn try_with_backoff<T>(
    state: &ProcessState,
    attempt: impl FnOnce() -> Result<T, usize>,
) -> Result<T, usize> {
    // Parts of the word: the remaining pause and the whole pause, in numbers of records, and its
    // cause.
    let pack = |left: u64, whole: u64, cause: usize| left << 32 | whole << 8 | cause as u64;
    let pause = state.pause.load(Relaxed);
    let (left, whole, cause) = (pause >> 32, pause >> 8 & 0xff_ffff, pause as usize & 0xff);
    if left > 0 {
        // If two threads count at the same time, only one of them succeeds.
        let _ = state.pause.compare_exchange(pause, pack(left - 1, whole, cause), Relaxed, Relaxed);
        return Err(cause);
    }
    let result = attempt();
    match result {
        Ok(_) if pause == 0 => {}
        Ok(_) => state.pause.store(0, Relaxed),
        Err(cause) => {
            let pause = (2 * whole).clamp(1, MAX_PAUSE);
            state.pause.store(pack(pause, pause, cause), Relaxed);
        }
    }
    result
}

/// Stops the log's growth for good, for `cause`. Otherwise each call would try to allocate on a
/// full disk.
pub(crate) fn stop_growth(state: &ProcessState, cause: usize) {
    state.stopped.store(cause as u32 + 1, Relaxed);
}
