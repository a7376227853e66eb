//! Meetings of threads: one waits until another ends, or all wait until all have arrived.

use core::ffi::{c_int, c_ulong, c_void};
use core::ptr;

use libc::{clockid_t, timespec};
use socket_log::encode::HandoffObject::{self, Barrier};

use super::hand_offs::{log_wait, log_wake};
use crate::c_library::types;
use crate::platform::clock;

/// Waits until all threads have arrived at a barrier, and logs the wait.
///
/// # Safety
/// As for `pthread_barrier_wait`.
pub(crate) unsafe fn barrier(real: types::pthread_barrier_wait, barrier: *mut c_void) -> c_int {
    let begin = clock::current_ticks();
    // SAFETY: the program's own call.
    let result = unsafe { real(barrier) };
    // This value marks one of the threads, and is not an error.
    let error = if result == libc::PTHREAD_BARRIER_SERIAL_THREAD { 0 } else { result };
    log_wake(Barrier, barrier.addr() as u64, begin, error);
    result
}

/// Makes a call that waits for the end of `thread`.
#[inline(always)]
fn log_join(thread: c_ulong, call: impl FnOnce() -> c_int) -> c_int {
    log_wait(HandoffObject::Thread, ptr::without_provenance_mut(thread as usize), call)
}

/// Waits for the end of a thread, and logs the wait.
///
/// # Safety
/// As for `pthread_join`.
pub(crate) unsafe fn join(
    real: types::pthread_join,
    thread: c_ulong,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: the program's own call.
    log_join(thread, || unsafe { real(thread, value) })
}

/// Waits for the end of a thread with a deadline, and logs the wait.
///
/// # Safety
/// As for `pthread_timedjoin_np`.
pub(crate) unsafe fn join_timed(
    real: types::pthread_timedjoin_np,
    thread: c_ulong,
    value: *mut *mut c_void,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_join(thread, || unsafe { real(thread, value, until) })
}

/// Waits for the end of a thread with a deadline of any clock, and logs the wait.
///
/// # Safety
/// As for `pthread_clockjoin_np`.
pub(crate) unsafe fn join_clock(
    real: types::pthread_clockjoin_np,
    thread: c_ulong,
    value: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_join(thread, || unsafe { real(thread, value, clock, until) })
}
