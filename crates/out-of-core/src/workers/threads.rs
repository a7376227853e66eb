//! Number of threads, and a lock that outlives a panic elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of threads for work on all processors.
pub fn thread_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Locks `mutex`. A poisoned one is used as it is: a panic ends the program anyway.
pub fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
