//! `dup`, `dup2`, `dup3` and `fcntl`: duplicate descriptors of a flow.

use core::ffi::{c_int, c_long};

use crate::c_library::types;
use crate::descriptors::table;
use crate::flows::{counts, duplicates};
use crate::log::{self, keep};

/// # Safety
/// As for `dup`.
pub(crate) unsafe fn dup(real: types::dup, old: c_int) -> c_int {
    // SAFETY: the program's own call.
    let new = unsafe { real(old) };
    duplicates::log_duplicated(old, new);
    new
}

/// # Safety
/// As for `dup2`.
pub(crate) unsafe fn dup2(real: types::dup2, old: c_int, new: c_int) -> c_int {
    free_descriptor(old, new);
    // SAFETY: the program's own call.
    let result = unsafe { real(old, new) };
    duplicates::log_replaced(old, result);
    result
}

/// # Safety
/// As for `dup3`.
pub(crate) unsafe fn dup3(real: types::dup3, old: c_int, new: c_int, flags: c_int) -> c_int {
    free_descriptor(old, new);
    // SAFETY: the program's own call.
    let result = unsafe { real(old, new, flags) };
    duplicates::log_replaced(old, result);
    result
}

/// Makes any `fcntl`, and logs the duplicate that `F_DUPFD` makes.
///
/// # Safety
/// As for `fcntl`. On all Linux architectures, a missing third argument is any value, and a present
/// third argument is passed as a whole word.
pub(crate) unsafe fn fcntl(
    real: types::fcntl,
    fd: c_int,
    command: c_int,
    argument: c_long,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, command, argument) };
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        duplicates::log_duplicated(fd, result);
    }
    result
}

/// Frees the number `fd`, which the program wants for a duplicate of `old`: a descriptor of the
/// library's own with this number is moved, and the last byte counts of a stream are logged.
fn free_descriptor(old: c_int, fd: c_int) {
    // A `vfork` child has its own descriptors, but its parent's table of kept descriptors.
    if keep::is_kept(fd) && log::state_for_table().is_some() {
        keep::free_number(fd);
    }
    if fd != old {
        counts::log_final(fd, table::get_entry(fd));
    }
}
