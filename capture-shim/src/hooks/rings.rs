//! `io_uring`: rings that are set up by `syscall`. Bytes moved by a ring pass no call, so the log
//! records that there is a ring.
//!
//! Liburing calls the kernel itself, and its functions are not hooked: a program may have opened it
//! privately, where no other library finds them. Such a ring is seen when the process ends, if it
//! is still open (`past_libc.rs`).

use core::ffi::c_int;

use crate::flows::{closing, uncaptured};

/// Makes a call that sets up a ring, and logs the ring. The call's result is not a descriptor if
/// the ring is only registered by a number.
#[inline(always)]
pub(crate) fn log_new_ring(call: impl FnOnce() -> c_int) -> c_int {
    let fd = call();
    if fd >= 0 && uncaptured::is_ring(fd) {
        closing::clear_reused(fd);
        uncaptured::log_ring(fd);
    }
    fd
}
