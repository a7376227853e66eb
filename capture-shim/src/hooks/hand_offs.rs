//! Hand-offs between threads: one signals an object (a condition, a semaphore), and another, which
//! waits for the object, wakes.
//!
//! Nothing is tried or queried here that the program's own call would not do: a semaphore's wait
//! that does not block is recorded as a wait of no time, and a thread that is cancelled in a wait
//! leaves at the same place as without the library.

use core::ffi::{c_int, c_void};

use socket_log::encode::{HandoffObject, SignalRecord, WakeRecord};

use crate::c_library::errno;
use crate::log::resources;
use crate::platform::clock;

/// Makes a call that signals `object`, and logs the signal unless the call fails. `all` is whether
/// it wakes every waiting thread.
#[inline(always)]
pub(super) fn log_signal(
    what: HandoffObject,
    object: *mut c_void,
    all: bool,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let begin = clock::current_ticks();
    let result = call();
    if result == 0 {
        // The object may be gone by now: only its address is used.
        let object = object.addr() as u64;
        resources::log_signal(begin, &SignalRecord { what, object, all, amount: 0, duration: 0 });
    }
    result
}

/// Makes a call that waits for `object` and returns the number of an error, 0 for none. Logs the
/// wait.
#[inline(always)]
pub(super) fn log_wait(
    what: HandoffObject,
    object: *mut c_void,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let begin = clock::current_ticks();
    let result = call();
    log_wake(what, object.addr() as u64, begin, result);
    result
}

/// Makes a call that waits for `object` and leaves its error in `errno`. Logs the wait.
#[inline(always)]
pub(super) fn log_wait_with_errno(
    what: HandoffObject,
    object: *mut c_void,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let begin = clock::current_ticks();
    let result = call();
    let error = if result < 0 { errno::get_errno() } else { 0 };
    log_wake(what, object.addr() as u64, begin, error);
    result
}

/// Logs the end of a wait that began at `begin` ticks, unless it failed for another reason than a
/// timeout or a signal handler.
#[inline(never)]
pub(super) fn log_wake(what: HandoffObject, object: u64, begin: u64, error: c_int) {
    if !matches!(error, 0 | libc::ETIMEDOUT | libc::EINTR | libc::EOWNERDEAD) {
        return;
    }
    let end = clock::current_ticks();
    let wake = WakeRecord {
        what,
        object,
        timed_out: error == libc::ETIMEDOUT,
        interrupted: error == libc::EINTR,
        amount: 0,
        duration: end.saturating_sub(begin),
    };
    resources::log_wake(end, &wake);
}
