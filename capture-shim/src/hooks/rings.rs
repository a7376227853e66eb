//! `io_uring`: rings that are set up by `syscall`. Bytes that move by one pass no call, so the log
//! says that there is one.
//!
//! Liburing calls the kernel by itself, and no hook stands before its functions: a program may have
//! opened it for itself alone, where no other library finds them. Such a ring is seen as the
//! process ends, if it is still open (`past_libc.rs`).

use core::ffi::c_int;

use crate::flows::{closing, uncaptured};

/// Makes a call that sets up a ring. What it returns is no descriptor where the ring is registered
/// by a number alone.
#[inline(always)]
pub(crate) fn log_new_ring(call: impl FnOnce() -> c_int) -> c_int {
    let fd = call();
    if fd >= 0 && uncaptured::is_ring(fd) {
        closing::clear_reused(fd);
        uncaptured::log_ring(fd);
    }
    fd
}
