//! `shutdown`, `close`, `close_range` and `closefrom`: the end of a flow, or of one of its
//! descriptors.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode;

use crate::c_library::{errno, types};
use crate::descriptors::table;
use crate::flows::{closing, counts, resolve};
use crate::log::{self, LogStanding, keep};
use crate::platform::{clock, raw};
use crate::state::ProcessState;

/// # Safety
/// As for `shutdown`.
pub(crate) unsafe fn shutdown(real: types::shutdown, fd: c_int, how: c_int) -> c_int {
    let entry = resolve::resolve_entry(fd, table::get_entry(fd));
    let now = clock::current_ticks();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, how) };
    if result == 0
        && !entry.is_uncaptured()
        && let Some(writer) = log::current_writer()
    {
        writer.record(&encode::shutdown_record(now, entry.flow(), how), now);
    }
    result
}

/// # Safety
/// As for `close`.
#[inline(always)]
pub(crate) unsafe fn close(real: types::close, fd: c_int) -> c_int {
    if keep::is_kept(fd) {
        errno::set_errno(libc::EBADF);
        return -1;
    }
    // The stream's bytes are counted before the call: after it, another thread may already have
    // opened the same descriptor number.
    counts::log_final_and_forget(fd);
    // SAFETY: the program's own call.
    unsafe { real(fd) }
}

/// # Safety
/// As for `close_range`.
pub(crate) unsafe fn close_range(
    real: types::close_range,
    first: c_uint,
    last: c_uint,
    flags: c_int,
) -> c_int {
    if flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0 {
        count_range(first, last);
    }
    // SAFETY: the program's own call.
    let result = keep::close_around(first, last, |first, last| unsafe { real(first, last, flags) });
    if result == 0 && flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0 {
        forget_range(first, last);
    }
    result
}

/// # Safety
/// As for `closefrom`.
pub(crate) unsafe fn closefrom(real: types::closefrom, first: c_int) {
    let first = first.max(0);
    // Libc closes the last range, from the last descriptor of the library's own to the largest
    // number; the ranges before it are closed by the kernel's own call.
    let close = |from: c_uint, to: c_uint| {
        if to == c_uint::MAX {
            // SAFETY: the program's own call.
            unsafe { real(from as c_int) };
        } else if raw::close_range(from, to) < 0 {
            (from..=to).for_each(|fd| raw::close_descriptor(fd as c_int));
        }
        0
    };
    count_range(first as c_uint, c_uint::MAX);
    keep::close_around(first as c_uint, c_uint::MAX, close);
    forget_range(first as c_uint, c_uint::MAX);
}

/// Logs the last byte counts of all streams with descriptors from `first` to `last`, which are
/// about to be closed.
fn count_range(first: c_uint, last: c_uint) {
    let LogStanding::Writes(writer) = log::log_standing() else { return };
    for fd in known_descriptors(writer.state(), first, last) {
        counts::log_final(fd, table::get_entry(fd));
    }
}

/// Numbers of the descriptors from `first` to `last` for which the table may have entries.
fn known_descriptors(
    state: &ProcessState,
    first: c_uint,
    last: c_uint,
) -> impl Iterator<Item = c_int> {
    let known = state.descriptors.load(Relaxed);
    (first..known.min(last.saturating_add(1))).map(|fd| fd as c_int)
}

/// Clears the entries of all descriptors from `first` to `last`, and logs their close.
fn forget_range(first: c_uint, last: c_uint) {
    let (state, writer) = match log::log_standing() {
        LogStanding::Writes(writer) => (writer.state(), Some(writer)),
        LogStanding::NoLogYet(state) => (state, None),
        LogStanding::Excluded => return,
    };
    for fd in known_descriptors(state, first, last) {
        let entry = table::take_entry(fd);
        if let Some(writer) = writer {
            closing::log_closed(writer, fd, entry);
        }
    }
}
