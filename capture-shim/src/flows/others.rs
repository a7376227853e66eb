//! Bytes that go over descriptors that are no sockets. They concern nobody but where resources are
//! recorded: then a file's use takes time, and a pipe or an eventfd is how one thread hands
//! something to another.

use core::ffi::c_int;

use libc::ssize_t;
use socket_log::encode::{Direction, FileOperation, FileUse, Handoff, Signal, Wake};

use crate::c_library::errno;
use crate::descriptors::table::{self, Entry, Other};
use crate::log::{self, resources};
use crate::platform::clock;
use crate::state::options::RESOURCES;

/// Makes a call that moves bytes over `fd`, which is no socket, from or to the program's memory. A
/// single buffer of the program begins at `buffer`; null for others.
#[inline(always)]
pub(crate) fn moved(
    fd: c_int,
    entry: Entry,
    direction: Direction,
    buffer: *const u8,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if !RESOURCES || entry.other() == Other::Plain {
        return call();
    }
    let begin = clock::now();
    let result = call();
    log(fd, entry, direction, buffer, false, begin, result);
    result
}

/// Makes a call that moves bytes over `fd`, which is no socket, from or to another descriptor.
#[inline(always)]
pub(crate) fn moved_within(
    fd: c_int,
    entry: Entry,
    direction: Direction,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if !RESOURCES || entry.other() == Other::Plain {
        return call();
    }
    let begin = clock::now();
    let result = call();
    log(fd, entry, direction, core::ptr::null(), true, begin, result);
    result
}

/// Logs a call over `fd` that began at `begin` ticks and has just returned.
#[inline(never)]
fn log(
    fd: c_int,
    entry: Entry,
    direction: Direction,
    buffer: *const u8,
    within_kernel: bool,
    begin: u64,
    result: ssize_t,
) {
    let end = clock::now();
    let duration = end.saturating_sub(begin);
    if result < 0 && errno::get() == libc::EBADF {
        // The descriptor was closed out of sight.
        _ = log::state_of_table().map(|state| table::replace(state, fd, entry, Entry::UNKNOWN));
        return;
    }
    let bytes = result.max(0) as u64;
    let (what, amount) = match entry.other() {
        Other::Plain => return,
        Other::File => {
            let operation = match direction {
                Direction::Send => FileOperation::Write,
                Direction::Receive => FileOperation::Read,
            };
            let (failed, moved) = (result < 0, within_kernel);
            return resources::used(end, &FileUse { operation, bytes, duration, failed, moved });
        }
        Other::Pipe => (Handoff::Pipe, u32::try_from(bytes).unwrap_or(u32::MAX)),
        Other::Eventfd if bytes == 8 && !buffer.is_null() => {
            // SAFETY: the kernel has just read or written eight bytes here.
            let number = unsafe { buffer.cast::<u64>().read_unaligned() };
            (Handoff::Eventfd, u32::try_from(number).unwrap_or(u32::MAX))
        }
        Other::Eventfd => (Handoff::Eventfd, 0),
    };
    // What moves nothing hands nothing on.
    if bytes == 0 {
        return;
    }
    let object = u64::from(entry.object());
    match direction {
        Direction::Send => {
            let signal = Signal { what, object, all: false, amount, duration };
            resources::signalled(begin, &signal);
        }
        Direction::Receive => {
            let (timed_out, interrupted) = (false, false);
            let wake = Wake { what, object, timed_out, interrupted, amount, duration };
            resources::woken(end, &wake);
        }
    }
}
