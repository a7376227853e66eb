//! Eventfds used by libc's own functions, which call the kernel internally.

use core::ffi::c_int;

use libc::ssize_t;

use crate::c_library::types;
use crate::flows::{CallerAddress, transfer};

/// Size of an eventfd's value, in bytes.
const SIZE: usize = size_of::<u64>();

/// Number of bytes moved by a call that returned `result`; -1 if it failed.
fn moved_bytes(result: c_int) -> ssize_t {
    if result == 0 { SIZE as ssize_t } else { -1 }
}

/// Reads an eventfd's value, and logs it as a read of as many bytes.
///
/// # Safety
/// As for `eventfd_read`.
pub(crate) unsafe fn read(real: types::eventfd_read, fd: c_int, number: *mut u64) -> c_int {
    // SAFETY: the program's own call.
    let moved = unsafe {
        transfer::receive_bytes(fd, number.cast(), SIZE, || moved_bytes(real(fd, number)))
    };
    if moved < 0 { -1 } else { 0 }
}

/// Adds to an eventfd's value, and logs it as a write of as many bytes.
///
/// # Safety
/// As for `eventfd_write`.
pub(crate) unsafe fn write(real: types::eventfd_write, fd: c_int, number: u64) -> c_int {
    let place = (&raw const number).cast();
    // SAFETY: the program's own call.
    let moved = unsafe {
        transfer::send_bytes(fd, place, SIZE, CallerAddress::NONE, || moved_bytes(real(fd, number)))
    };
    if moved < 0 { -1 } else { 0 }
}
