//! `errno` of the calling thread, as libc's own functions left it.

use core::ffi::c_int;

/// The value of `errno`.
pub(crate) fn get() -> c_int {
    // SAFETY: libc gives the address of the calling thread's variable.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno`.
pub(crate) fn set(value: c_int) {
    // SAFETY: libc gives the address of the calling thread's variable.
    unsafe { *libc::__errno_location() = value }
}
