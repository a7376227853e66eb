//! Calls that return a descriptor which is not a socket made by the program.
//!
//! A descriptor number that the kernel reuses was closed before. If the close was unseen (inline
//! assembly, libc's own files, io_uring), the table of descriptors still has the former entry, and
//! bytes would be logged on the wrong flow. So every call that returns a descriptor clears the
//! entry of its number, at the price of a load.

use core::ffi::{c_char, c_int};

use libc::{termios, winsize};

use crate::c_library::types;
use crate::flows::closing;

/// Makes a call that opens a descriptor, and clears the table's entry of its number.
#[inline(always)]
pub(crate) fn open(call: impl FnOnce() -> c_int) -> c_int {
    let fd = call();
    closing::clear_reused(fd);
    fd
}

/// Clears the entries of two new descriptors, at `fds`.
///
/// # Safety
/// `fds` points to two descriptors that the kernel has just written.
unsafe fn clear_reused_pair(fds: *const c_int) {
    // SAFETY: as the caller guarantees.
    unsafe { [*fds, *fds.add(1)] }.into_iter().for_each(closing::clear_reused);
}

/// # Safety
/// As for `pipe`.
pub(crate) unsafe fn pipe(real: types::pipe, fds: *mut c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let result = real(fds);
        if result == 0 {
            clear_reused_pair(fds);
        }
        result
    }
}

/// # Safety
/// As for `pipe2`.
pub(crate) unsafe fn pipe2(real: types::pipe2, fds: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let result = real(fds, flags);
        if result == 0 {
            clear_reused_pair(fds);
        }
        result
    }
}

/// # Safety
/// As for `openpty`.
pub(crate) unsafe fn openpty(
    real: types::openpty,
    main: *mut c_int,
    other: *mut c_int,
    name: *mut c_char,
    terminal: *const termios,
    size: *const winsize,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let result = real(main, other, name, terminal, size);
        if result == 0 {
            closing::clear_reused(*main);
            closing::clear_reused(*other);
        }
        result
    }
}
