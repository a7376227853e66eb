//! Condition variables: records which threads signal them, and which are woken.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use socket_log::encode::HandoffObject::Condition;

use super::hand_offs::{log_signal, log_wait};
use crate::c_library::types;

/// Wakes one waiting thread, and logs the signal.
///
/// # Safety
/// As for `pthread_cond_signal`.
pub(crate) unsafe fn signal(real: types::pthread_cond_signal, condition: *mut c_void) -> c_int {
    // SAFETY: the program's own call.
    log_signal(Condition, condition, false, || unsafe { real(condition) })
}

/// Wakes all waiting threads, and logs the signal.
///
/// # Safety
/// As for `pthread_cond_broadcast`.
pub(crate) unsafe fn broadcast(
    real: types::pthread_cond_broadcast,
    condition: *mut c_void,
) -> c_int {
    // SAFETY: the program's own call.
    log_signal(Condition, condition, true, || unsafe { real(condition) })
}

/// Waits for a signal, and logs the wait.
///
/// # Safety
/// As for `pthread_cond_wait`.
pub(crate) unsafe fn wait(
    real: types::pthread_cond_wait,
    condition: *mut c_void,
    mutex: *mut c_void,
) -> c_int {
    // SAFETY: the program's own call.
    log_wait(Condition, condition, || unsafe { real(condition, mutex) })
}

/// Waits for a signal with a deadline, and logs the wait.
///
/// # Safety
/// As for `pthread_cond_timedwait`.
pub(crate) unsafe fn timedwait(
    real: types::pthread_cond_timedwait,
    condition: *mut c_void,
    mutex: *mut c_void,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_wait(Condition, condition, || unsafe { real(condition, mutex, until) })
}

/// Waits for a signal with a deadline of any clock, and logs the wait.
///
/// # Safety
/// As for `pthread_cond_clockwait`.
pub(crate) unsafe fn clockwait(
    real: types::pthread_cond_clockwait,
    condition: *mut c_void,
    mutex: *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_wait(Condition, condition, || unsafe { real(condition, mutex, clock, until) })
}
