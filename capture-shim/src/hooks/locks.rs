//! Locks: how long a thread waits for a lock that another thread holds. A free lock is taken
//! immediately, and nothing is logged.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use socket_log::encode::HandoffObject::{self, Mutex, ReadWriteLock};

use super::hand_offs::log_wait;
use crate::c_library::functions::{
    pthread_mutex_trylock, pthread_rwlock_tryrdlock, pthread_rwlock_trywrlock,
};
use crate::c_library::types;

/// Takes a lock by `attempt` if it is free, otherwise by `lock`, which waits for it.
///
/// # Safety
/// `attempt` is the address of the function that takes the lock `object` only if it is free, for
/// the kind of lock that `lock` takes.
#[inline(always)]
unsafe fn log_lock(
    what: HandoffObject,
    object: *mut c_void,
    attempt: *mut c_void,
    lock: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: all functions that try a lock have the same type.
    let attempt =
        unsafe { core::mem::transmute::<*mut c_void, types::pthread_mutex_lock>(attempt) };
    // SAFETY: as the caller guarantees.
    match unsafe { attempt(object) } {
        // The lock is taken, in the second case from an owner that died while holding it.
        taken @ (0 | libc::EOWNERDEAD) => taken,
        libc::EBUSY => log_wait(what, object, lock),
        // The program's own call reports the error.
        _ => lock(),
    }
}

/// Takes a mutex.
///
/// # Safety
/// As for `pthread_mutex_lock`.
pub(crate) unsafe fn mutex(real: types::pthread_mutex_lock, lock: *mut c_void) -> c_int {
    let attempt = pthread_mutex_trylock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(Mutex, lock, attempt, || real(lock)) }
}

/// Takes a mutex, with a deadline.
///
/// # Safety
/// As for `pthread_mutex_timedlock`.
pub(crate) unsafe fn mutex_timed(
    real: types::pthread_mutex_timedlock,
    lock: *mut c_void,
    until: *const timespec,
) -> c_int {
    let attempt = pthread_mutex_trylock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(Mutex, lock, attempt, || real(lock, until)) }
}

/// Takes a mutex, with a deadline of any clock.
///
/// # Safety
/// As for `pthread_mutex_clocklock`.
pub(crate) unsafe fn mutex_clock(
    real: types::pthread_mutex_clocklock,
    lock: *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let attempt = pthread_mutex_trylock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(Mutex, lock, attempt, || real(lock, clock, until)) }
}

/// Takes a lock for reading.
///
/// # Safety
/// As for `pthread_rwlock_rdlock`.
pub(crate) unsafe fn reader(real: types::pthread_rwlock_rdlock, lock: *mut c_void) -> c_int {
    let attempt = pthread_rwlock_tryrdlock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(ReadWriteLock, lock, attempt, || real(lock)) }
}

/// Takes a lock for reading, with a deadline.
///
/// # Safety
/// As for `pthread_rwlock_timedrdlock`.
pub(crate) unsafe fn reader_timed(
    real: types::pthread_rwlock_timedrdlock,
    lock: *mut c_void,
    until: *const timespec,
) -> c_int {
    let attempt = pthread_rwlock_tryrdlock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(ReadWriteLock, lock, attempt, || real(lock, until)) }
}

/// Takes a lock for reading, with a deadline of any clock.
///
/// # Safety
/// As for `pthread_rwlock_clockrdlock`.
pub(crate) unsafe fn reader_clock(
    real: types::pthread_rwlock_clockrdlock,
    lock: *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let attempt = pthread_rwlock_tryrdlock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(ReadWriteLock, lock, attempt, || real(lock, clock, until)) }
}

/// Takes a lock for writing.
///
/// # Safety
/// As for `pthread_rwlock_wrlock`.
pub(crate) unsafe fn writer(real: types::pthread_rwlock_wrlock, lock: *mut c_void) -> c_int {
    let attempt = pthread_rwlock_trywrlock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(ReadWriteLock, lock, attempt, || real(lock)) }
}

/// Takes a lock for writing, with a deadline.
///
/// # Safety
/// As for `pthread_rwlock_timedwrlock`.
pub(crate) unsafe fn writer_timed(
    real: types::pthread_rwlock_timedwrlock,
    lock: *mut c_void,
    until: *const timespec,
) -> c_int {
    let attempt = pthread_rwlock_trywrlock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(ReadWriteLock, lock, attempt, || real(lock, until)) }
}

/// Takes a lock for writing, with a deadline of any clock.
///
/// # Safety
/// As for `pthread_rwlock_clockwrlock`.
pub(crate) unsafe fn writer_clock(
    real: types::pthread_rwlock_clockwrlock,
    lock: *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let attempt = pthread_rwlock_trywrlock.address();
    // SAFETY: the program's own call.
    unsafe { log_lock(ReadWriteLock, lock, attempt, || real(lock, clock, until)) }
}
