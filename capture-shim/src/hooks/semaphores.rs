//! Semaphores: records which threads post them, and which threads wait for them.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use socket_log::encode::HandoffObject::Semaphore;

use super::hand_offs::{log_signal, log_wait_with_errno};
use crate::c_library::types;

/// Increments a semaphore, and logs the signal.
///
/// # Safety
/// As for `sem_post`.
pub(crate) unsafe fn post(real: types::sem_post, semaphore: *mut c_void) -> c_int {
    // SAFETY: the program's own call.
    log_signal(Semaphore, semaphore, false, || unsafe { real(semaphore) })
}

/// Decrements a semaphore, and logs the wait.
///
/// # Safety
/// As for `sem_wait` or `sem_trywait`, which does not wait if the semaphore is 0.
pub(crate) unsafe fn wait(real: types::sem_wait, semaphore: *mut c_void) -> c_int {
    // SAFETY: the program's own call.
    log_wait_with_errno(Semaphore, semaphore, || unsafe { real(semaphore) })
}

/// Decrements a semaphore with a deadline, and logs the wait.
///
/// # Safety
/// As for `sem_timedwait`.
pub(crate) unsafe fn timedwait(
    real: types::sem_timedwait,
    semaphore: *mut c_void,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_wait_with_errno(Semaphore, semaphore, || unsafe { real(semaphore, until) })
}

/// Decrements a semaphore with a deadline of any clock, and logs the wait.
///
/// # Safety
/// As for `sem_clockwait`.
pub(crate) unsafe fn clockwait(
    real: types::sem_clockwait,
    semaphore: *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    log_wait_with_errno(Semaphore, semaphore, || unsafe { real(semaphore, clock, until) })
}
