//! Files that are flushed to the disk. Their reads and writes are in [`super::read_write`].

use core::ffi::{c_int, c_uint, c_void};

use libc::{loff_t, size_t};
use socket_log::encode::{FileOperation, FileUse};

use crate::c_library::types;
use crate::log::resources;
use crate::platform::clock;

/// Makes a call that flushes written data to the disk, and logs it.
#[inline(always)]
fn log_sync(call: impl FnOnce() -> c_int) -> c_int {
    let begin = clock::current_ticks();
    let result = call();
    let end = clock::current_ticks();
    let file = FileUse {
        operation: FileOperation::Sync,
        bytes: 0,
        duration: end.saturating_sub(begin),
        failed: result < 0,
        moved: false,
    };
    resources::log_file_use(end, &file);
    result
}

/// Flushes a file, or its file system, and logs it.
///
/// # Safety
/// As for `fsync`, `fdatasync` or `syncfs`.
pub(crate) unsafe fn sync(real: types::fsync, fd: c_int) -> c_int {
    // SAFETY: the program's own call.
    log_sync(|| unsafe { real(fd) })
}

/// Flushes a part of a file, and logs it.
///
/// # Safety
/// As for `sync_file_range`.
pub(crate) unsafe fn sync_range(
    real: types::sync_file_range,
    fd: c_int,
    offset: loff_t,
    length: loff_t,
    flags: c_uint,
) -> c_int {
    // SAFETY: the program's own call.
    log_sync(|| unsafe { real(fd, offset, length, flags) })
}

/// Flushes mapped pages of a file, and logs it.
///
/// # Safety
/// As for `msync`.
pub(crate) unsafe fn msync(
    real: types::msync,
    address: *mut c_void,
    length: size_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    log_sync(|| unsafe { real(address, length, flags) })
}
