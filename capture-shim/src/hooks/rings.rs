//! `io_uring`: the functions of liburing that set up a ring. Bytes that move by it pass no call, so
//! the log says that there is one.
//!
//! Liburing calls the kernel by itself, so `syscall` never sees that. Programs that have their own
//! copy of it are seen at their end, if the ring is still open (`past_libc.rs`).

use core::ffi::{c_int, c_uint, c_void};

use libc::size_t;

use crate::c_library::types;
use crate::descriptors::table::{self, Entry};
use crate::flows::uncaptured;
use crate::platform::raw;

/// Offset of the descriptor in liburing's `struct io_uring`, which its interface has fixed.
const DESCRIPTOR: usize = 196;

/// Makes a call that sets up a ring and returns its descriptor.
#[inline(always)]
pub(crate) fn made(call: impl FnOnce() -> c_int) -> c_int {
    let fd = super::new_descriptors::made(call);
    if fd >= 0 {
        uncaptured::ring(fd);
    }
    fd
}

/// Makes a call of liburing's that sets up `ring`. One of these functions may call another, and
/// then the ring is in the log already.
fn set_up(ring: *const c_void, call: impl FnOnce() -> c_int) -> c_int {
    let before = uncaptured::rings();
    let result = call();
    if result >= 0 && uncaptured::rings() == before {
        let place = ring.wrapping_byte_add(DESCRIPTOR).cast::<c_int>();
        if raw::is_readable(place) {
            // SAFETY: just found readable; any bytes are a number.
            let fd = unsafe { place.read_unaligned() };
            if uncaptured::is_ring(fd) && table::get(fd) == Entry::UNKNOWN {
                uncaptured::ring(fd);
            }
        }
    }
    result
}

/// # Safety
/// As `io_uring_queue_init`.
pub(crate) unsafe fn queue_init(
    real: types::io_uring_queue_init,
    entries: c_uint,
    ring: *mut c_void,
    flags: c_uint,
) -> c_int {
    // SAFETY: the program's own call.
    set_up(ring, || unsafe { real(entries, ring, flags) })
}

/// # Safety
/// As `io_uring_queue_init_params`.
pub(crate) unsafe fn queue_init_params(
    real: types::io_uring_queue_init_params,
    entries: c_uint,
    ring: *mut c_void,
    parameters: *mut c_void,
) -> c_int {
    // SAFETY: the program's own call.
    set_up(ring, || unsafe { real(entries, ring, parameters) })
}

/// # Safety
/// As `io_uring_queue_init_mem`.
pub(crate) unsafe fn queue_init_mem(
    real: types::io_uring_queue_init_mem,
    entries: c_uint,
    ring: *mut c_void,
    parameters: *mut c_void,
    memory: *mut c_void,
    size: size_t,
) -> c_int {
    // SAFETY: the program's own call.
    set_up(ring, || unsafe { real(entries, ring, parameters, memory, size) })
}

/// # Safety
/// As liburing's `io_uring_setup`.
pub(crate) unsafe fn setup(
    real: types::io_uring_setup,
    entries: c_uint,
    parameters: *mut c_void,
) -> c_int {
    // SAFETY: the program's own call.
    made(|| unsafe { real(entries, parameters) })
}
