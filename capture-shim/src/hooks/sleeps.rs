//! Sleeps: how long a thread slept by its own choice.

use core::ffi::{c_int, c_uint};

use libc::{clockid_t, timespec, useconds_t};
use socket_log::encode;

use crate::c_library::types;
use crate::log;
use crate::platform::clock;

/// Makes a call that sleeps, and logs its duration if the process has a log.
#[inline(always)]
fn log_sleep<R>(call: impl FnOnce() -> R) -> R {
    let begin = clock::current_ticks();
    let result = call();
    if let Some(writer) = log::existing_writer() {
        let end = clock::current_ticks();
        writer.record(&encode::sleep_record(end, end.saturating_sub(begin)), end);
    }
    result
}

/// # Safety
/// As for `nanosleep`.
pub(crate) unsafe fn nanosleep(
    real: types::nanosleep,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_sleep(|| unsafe { real(time, rest) })
}

/// # Safety
/// As for `clock_nanosleep`.
pub(crate) unsafe fn clock_nanosleep(
    real: types::clock_nanosleep,
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_sleep(|| unsafe { real(clock, flags, time, rest) })
}

/// # Safety
/// As for `usleep`.
pub(crate) unsafe fn usleep(real: types::usleep, time: useconds_t) -> c_int {
    // SAFETY: the program's own call.
    log_sleep(|| unsafe { real(time) })
}

/// # Safety
/// As for `sleep`.
pub(crate) unsafe fn sleep(real: types::sleep, time: c_uint) -> c_uint {
    // SAFETY: the program's own call.
    log_sleep(|| unsafe { real(time) })
}
