//! Logs reads and writes on descriptors that are not sockets. They matter only if resources are
//! recorded: then using a file takes time, and a pipe or an eventfd is how one thread hands off
//! work to another.

use core::ffi::c_int;

use libc::ssize_t;
use socket_log::encode::{
    Direction, FileOperation, FileUse, HandoffObject, SignalRecord, WakeRecord,
};

use crate::c_library::errno;
use crate::descriptors::table::{self, DescriptorWord, NonSocketKind};
use crate::log::{self, resources};
use crate::platform::clock;
use crate::state::options::RESOURCES;

/// Makes a call that moves bytes over `fd`, which is not a socket, from or to the program's memory.
/// The call is logged if resources are recorded. A single buffer of the program begins at `buffer`,
/// which is null for several.
#[inline(always)]
pub(crate) fn log_call(
    fd: c_int,
    entry: DescriptorWord,
    direction: Direction,
    buffer: *const u8,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if !RESOURCES || entry.non_socket_kind() == NonSocketKind::Plain {
        return call();
    }
    let begin = clock::current_ticks();
    let result = call();
    write_use(fd, entry, direction, buffer, false, begin, result);
    result
}

/// Makes a call that moves bytes over `fd`, which is not a socket, from or to another descriptor.
/// The call is logged if resources are recorded.
#[inline(always)]
pub(crate) fn log_kernel_call(
    fd: c_int,
    entry: DescriptorWord,
    direction: Direction,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if !RESOURCES || entry.non_socket_kind() == NonSocketKind::Plain {
        return call();
    }
    let begin = clock::current_ticks();
    let result = call();
    write_use(fd, entry, direction, core::ptr::null(), true, begin, result);
    result
}

/// Logs a call over `fd` that began at `begin` ticks and has just returned.
#[inline(never)]
fn write_use(
    fd: c_int,
    entry: DescriptorWord,
    direction: Direction,
    buffer: *const u8,
    within_kernel: bool,
    begin: u64,
    result: ssize_t,
) {
    let end = clock::current_ticks();
    let duration = end.saturating_sub(begin);
    if result < 0 && errno::get_errno() == libc::EBADF {
        // The descriptor was closed unseen.
        _ = log::state_for_table()
            .map(|state| table::replace_entry(state, fd, entry, DescriptorWord::UNKNOWN));
        return;
    }
    let bytes = result.max(0) as u64;
    let (what, amount) = match entry.non_socket_kind() {
        NonSocketKind::Plain => return,
        NonSocketKind::File => {
            let operation = match direction {
                Direction::Send => FileOperation::Write,
                Direction::Receive => FileOperation::Read,
            };
            let (failed, moved) = (result < 0, within_kernel);
            return resources::log_file_use(
                end,
                &FileUse { operation, bytes, duration, failed, moved },
            );
        }
        NonSocketKind::Pipe => (HandoffObject::Pipe, u32::try_from(bytes).unwrap_or(u32::MAX)),
        NonSocketKind::Eventfd if bytes == 8 && !buffer.is_null() => {
            // SAFETY: the kernel has just read or written eight bytes here.
            let number = unsafe { buffer.cast::<u64>().read_unaligned() };
            (HandoffObject::Eventfd, u32::try_from(number).unwrap_or(u32::MAX))
        }
        NonSocketKind::Eventfd => (HandoffObject::Eventfd, 0),
    };
    // A call that moves nothing hands off nothing.
    if bytes == 0 {
        return;
    }
    let object = u64::from(entry.object_id());
    match direction {
        Direction::Send => {
            let signal = SignalRecord { what, object, all: false, amount, duration };
            resources::log_signal(begin, &signal);
        }
        Direction::Receive => {
            let (timed_out, interrupted) = (false, false);
            let wake = WakeRecord { what, object, timed_out, interrupted, amount, duration };
            resources::log_wake(end, &wake);
        }
    }
}
