//! Sends and receives: looks up the descriptor, makes the program's call, and logs its outcome.
//!
//! A stream's transfer is logged here, a datagram's in [`super::datagram`]. The program's own call
//! is passed as a closure, so that all members of the read and write families share one path.

use core::ffi::c_int;
use core::ptr;

use libc::{iovec, ssize_t};
use socket_log::encode::{self, Direction};

use super::{
    CallBuffers, CallerAddress, OutgoingMessage, WatchedTransfer, counts, datagram, non_socket_io,
    watch,
};
use crate::c_library::errno;
use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::log::{self, RecordWriter, StreamTransfer};
use crate::platform::clock;

/// Makes a send from one buffer on `fd`, which may be a socket of any type, another kind of
/// descriptor, or unknown yet. `call` is the program's own call, whose result is returned.
///
/// # Safety
/// `buffer` points to the `size` bytes that `call` sends.
#[inline(always)]
pub(crate) unsafe fn send_bytes(
    fd: c_int,
    buffer: *const u8,
    size: usize,
    to: CallerAddress,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get_entry(fd);
    if entry.is_uncaptured() {
        return non_socket_io::log_call(fd, entry, Direction::Send, buffer, call);
    }
    let buffer = iovec { iov_base: buffer.cast_mut().cast(), iov_len: size };
    // SAFETY: one buffer, as the caller guarantees.
    unsafe {
        let what = || OutgoingMessage::new(CallBuffers { first: &buffer, count: 1 }, to);
        send_on_socket(fd, entry, buffer.iov_base.cast(), what, call)
    }
}

/// Makes a send from several buffers on `fd`. `what` returns the buffers and the destination, and
/// is called after the kernel has accepted them, since the program's arguments may be invalid.
///
/// # Safety
/// `what` returns the buffers and the destination that `call` uses.
#[inline(always)]
pub(crate) unsafe fn send_vector(
    fd: c_int,
    what: impl FnOnce() -> OutgoingMessage,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get_entry(fd);
    if entry.is_uncaptured() {
        return non_socket_io::log_call(fd, entry, Direction::Send, ptr::null(), call);
    }
    // SAFETY: as the caller guarantees.
    unsafe { send_on_socket(fd, entry, ptr::null(), what, call) }
}

/// Makes a send on `fd`, which probably is a socket, with the entry `entry`, and logs it.
///
/// # Safety
/// `what` returns what `call` sends; a single buffer begins at `single`, which is null for several.
#[inline(always)]
unsafe fn send_on_socket(
    fd: c_int,
    entry: DescriptorWord,
    single: *const u8,
    what: impl FnOnce() -> OutgoingMessage,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = counts::resolve_counted(fd, entry, Direction::Send);
    if entry.is_uncaptured() {
        return non_socket_io::log_call(fd, entry, Direction::Send, single, call);
    }
    let begin = clock::current_ticks();
    let result = call();
    let end = clock::current_ticks();
    let Some(writer) = log::current_writer() else { return result };
    if entry.kind() == DescriptorKind::Datagram {
        if result < 0 {
            log_failure(writer, fd, entry, Direction::Send, end);
        } else {
            // SAFETY: the buffers were just sent.
            unsafe { datagram::log_sent(writer, fd, entry, what(), result as usize, begin, end) };
        }
    } else {
        // SAFETY: the buffers were just sent.
        unsafe { log_sent(writer, fd, entry, result, || what().buffers, begin, end) };
    }
    result
}

/// Logs the result of a send on a stream. `buffers` returns the sent buffers.
///
/// # Safety
/// The sent bytes of the buffers are readable.
#[inline(always)]
pub(crate) unsafe fn log_sent(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    result: ssize_t,
    buffers: impl FnOnce() -> CallBuffers,
    begin: u64,
    end: u64,
) {
    if result < 0 {
        log_failure(writer, fd, entry, Direction::Send, end);
    } else if result > 0 {
        let (direction, flow, bytes) = (Direction::Send, entry.flow(), result as u64);
        if entry.is_watched() {
            let transfer =
                StreamTransfer { direction, flow, ticks: begin, bytes, duration: end - begin };
            // SAFETY: the buffers were just sent.
            unsafe {
                watch::log_moved(&WatchedTransfer {
                    writer,
                    transfer,
                    buffers: buffers(),
                    now: end,
                })
            };
        } else {
            writer.transfer(direction, flow, begin, bytes, end - begin, end);
        }
    }
}

/// Makes a receive into one buffer by a call that names no sender (`read`).
///
/// # Safety
/// `buffer` and `size` are where `call` receives.
#[inline(always)]
pub(crate) unsafe fn receive_bytes(
    fd: c_int,
    buffer: *mut u8,
    size: usize,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get_entry(fd);
    if entry.is_uncaptured() {
        return non_socket_io::log_call(fd, entry, Direction::Receive, buffer, call);
    }
    let buffer = iovec { iov_base: buffer.cast(), iov_len: size };
    // SAFETY: one buffer, as the caller guarantees.
    unsafe {
        let buffers = CallBuffers { first: &buffer, count: 1 };
        receive_on_socket(fd, entry, buffer.iov_base.cast(), buffers, call)
    }
}

/// Makes a receive into several buffers by a call that names no sender (`readv`).
///
/// # Safety
/// `buffers` are where `call` receives.
#[inline(always)]
pub(crate) unsafe fn receive_vector(
    fd: c_int,
    buffers: CallBuffers,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get_entry(fd);
    if entry.is_uncaptured() {
        return non_socket_io::log_call(fd, entry, Direction::Receive, ptr::null(), call);
    }
    // SAFETY: as the caller guarantees.
    unsafe { receive_on_socket(fd, entry, ptr::null(), buffers, call) }
}

/// Makes a receive on `fd`, which probably is a socket, with the entry `entry`, and logs it.
///
/// # Safety
/// `buffers` are where `call` receives; a single one begins at `single`, which is null for several.
#[inline(always)]
unsafe fn receive_on_socket(
    fd: c_int,
    entry: DescriptorWord,
    single: *const u8,
    buffers: CallBuffers,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = counts::resolve_counted(fd, entry, Direction::Receive);
    if entry.is_uncaptured() {
        return non_socket_io::log_call(fd, entry, Direction::Receive, single, call);
    }
    let begin = clock::current_ticks();
    let result = call();
    let end = clock::current_ticks();
    let Some(writer) = log::current_writer() else { return result };
    if entry.kind() == DescriptorKind::Datagram {
        if result < 0 {
            log_failure(writer, fd, entry, Direction::Receive, end);
        // SAFETY: the buffers' descriptions were just used by the call.
        } else if result > 0 || unsafe { buffers.capacity() } > 0 {
            let message = datagram::ReceivedDatagram::from_byte_count(result as usize);
            // SAFETY: the buffers were just filled.
            unsafe { datagram::log_received(writer, entry, buffers, &message, begin, end) };
        }
    } else {
        // SAFETY: the buffers' descriptions were just used by the call.
        unsafe { log_received(writer, fd, entry, result, buffers, begin, end) };
    }
    result
}

/// Logs the result of a receive on a stream.
///
/// # Safety
/// The descriptions of `buffers` are readable.
#[inline(always)]
pub(crate) unsafe fn log_received(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    result: ssize_t,
    buffers: CallBuffers,
    begin: u64,
    end: u64,
) {
    if result > 0 {
        let (direction, flow, bytes) = (Direction::Receive, entry.flow(), result as u64);
        if entry.is_watched() {
            let transfer =
                StreamTransfer { direction, flow, ticks: end, bytes, duration: end - begin };
            if buffers.count == 0 {
                watch::log_moved_without_buffers(writer, &transfer, end);
            } else {
                // SAFETY: the buffers were just filled.
                unsafe {
                    watch::log_moved(&WatchedTransfer { writer, transfer, buffers, now: end })
                };
            }
        } else {
            writer.transfer(direction, flow, end, bytes, end - begin, end);
        }
    } else if result < 0 {
        log_failure(writer, fd, entry, Direction::Receive, end);
    // SAFETY: as the caller guarantees.
    } else if unsafe { buffers.capacity() } > 0 {
        writer.record(&encode::end_of_file_record(end, entry.flow()), end);
        // The replacement fails if the descriptor was closed meanwhile; then there is nothing to
        // do.
        let _ = table::replace_entry(writer.state(), fd, entry, entry.as_ended());
    }
}

/// Logs that a call failed, unless the program only has to repeat the call.
#[cold]
#[inline(never)]
pub(crate) fn log_failure(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    direction: Direction,
    now: u64,
) {
    match errno::get_errno() {
        libc::EAGAIN | libc::EINTR | libc::EINPROGRESS | libc::EALREADY => {}
        // The descriptor was closed unseen. The number is examined anew at its next use.
        libc::EBADF | libc::ENOTSOCK => {
            let _ = table::replace_entry(writer.state(), fd, entry, DescriptorWord::UNKNOWN);
        }
        errno => writer.record(&encode::failure_record(now, entry.flow(), direction, errno), now),
    }
}
