//! `errno` of the calling thread, as libc's own functions left it.

use core::ffi::c_int;

/// The value of `errno`.
pub(crate) fn get_errno() -> c_int {
    // SAFETY: libc returns the address of the calling thread's variable.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno`.
pub(crate) fn set_errno(value: c_int) {
    // SAFETY: libc returns the address of the calling thread's variable.
    unsafe { *libc::__errno_location() = value }
}
