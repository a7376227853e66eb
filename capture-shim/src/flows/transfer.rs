//! Sends and receives: the descriptor is looked up, the program's call made, and its outcome
//! logged.
//!
//! A stream's transfer is logged here, a datagram's in [`super::datagram`]. The program's own call
//! is handed in as a closure, so that all members of the read and write families share one path.

use core::ffi::c_int;
use core::ptr;

use libc::{iovec, ssize_t};
use socket_log::encode::{self, Direction};

use super::{Address, Buffers, Moved, Outgoing, counts, datagram, others, watch};
use crate::c_library::errno;
use crate::descriptors::table::{self, Entry, Kind};
use crate::log::{self, Transfer, Writer};
use crate::platform::clock;

/// Makes a send, which may be of any kind. `call` is the program's own call.
///
/// # Safety
/// `buffer` and `size` are what `call` sends.
#[inline(always)]
pub(crate) unsafe fn send(
    fd: c_int,
    buffer: *const u8,
    size: usize,
    to: Address,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get(fd);
    if entry.is_other() {
        return others::moved(fd, entry, Direction::Send, buffer, call);
    }
    let buffer = iovec { iov_base: buffer.cast_mut().cast(), iov_len: size };
    // SAFETY: one buffer, as the caller says.
    unsafe {
        let what = || Outgoing::new(Buffers { first: &buffer, count: 1 }, to);
        send_on_socket(fd, entry, buffer.iov_base.cast(), what, call)
    }
}

/// Makes a send from several buffers. `what` tells them and their destination, and is asked once
/// the kernel has taken them: what the program hands to it may be wrong.
///
/// # Safety
/// `what` is what `call` sends.
#[inline(always)]
pub(crate) unsafe fn send_vector(
    fd: c_int,
    what: impl FnOnce() -> Outgoing,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get(fd);
    if entry.is_other() {
        return others::moved(fd, entry, Direction::Send, ptr::null(), call);
    }
    // SAFETY: as the caller says.
    unsafe { send_on_socket(fd, entry, ptr::null(), what, call) }
}

/// # Safety
/// `what` is what `call` sends; a single buffer begins at `single`, which is null for others.
#[inline(always)]
unsafe fn send_on_socket(
    fd: c_int,
    entry: Entry,
    single: *const u8,
    what: impl FnOnce() -> Outgoing,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = counts::resolve(fd, entry, Direction::Send);
    if entry.is_other() {
        return others::moved(fd, entry, Direction::Send, single, call);
    }
    let begin = clock::now();
    let result = call();
    let end = clock::now();
    let Some(writer) = log::writer() else { return result };
    if entry.kind() == Kind::Datagram {
        if result < 0 {
            fail(writer, fd, entry, Direction::Send, end);
        } else {
            // SAFETY: the buffers were just sent.
            unsafe { datagram::sent(writer, fd, entry, what(), result as usize, begin, end) };
        }
    } else {
        // SAFETY: the buffers were just sent.
        unsafe { sent(writer, fd, entry, result, || what().buffers, begin, end) };
    }
    result
}

/// Logs the result of a send on a stream. `buffers` tells what was sent.
///
/// # Safety
/// As many bytes of the buffers are readable as were sent.
#[inline(always)]
pub(crate) unsafe fn sent(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    result: ssize_t,
    buffers: impl FnOnce() -> Buffers,
    begin: u64,
    end: u64,
) {
    if result < 0 {
        fail(writer, fd, entry, Direction::Send, end);
    } else if result > 0 {
        let (direction, flow, bytes) = (Direction::Send, entry.flow(), result as u64);
        if entry.is_watched() {
            let transfer = Transfer { direction, flow, ticks: begin, bytes, duration: end - begin };
            // SAFETY: the buffers were just sent.
            unsafe { watch::moved(&Moved { writer, transfer, buffers: buffers(), now: end }) };
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
pub(crate) unsafe fn receive(
    fd: c_int,
    buffer: *mut u8,
    size: usize,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get(fd);
    if entry.is_other() {
        return others::moved(fd, entry, Direction::Receive, buffer, call);
    }
    let buffer = iovec { iov_base: buffer.cast(), iov_len: size };
    // SAFETY: one buffer, as the caller says.
    unsafe {
        let buffers = Buffers { first: &buffer, count: 1 };
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
    buffers: Buffers,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = table::get(fd);
    if entry.is_other() {
        return others::moved(fd, entry, Direction::Receive, ptr::null(), call);
    }
    // SAFETY: as the caller says.
    unsafe { receive_on_socket(fd, entry, ptr::null(), buffers, call) }
}

/// # Safety
/// `buffers` are where `call` receives; a single one begins at `single`, which is null for others.
#[inline(always)]
unsafe fn receive_on_socket(
    fd: c_int,
    entry: Entry,
    single: *const u8,
    buffers: Buffers,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = counts::resolve(fd, entry, Direction::Receive);
    if entry.is_other() {
        return others::moved(fd, entry, Direction::Receive, single, call);
    }
    let begin = clock::now();
    let result = call();
    let end = clock::now();
    let Some(writer) = log::writer() else { return result };
    if entry.kind() == Kind::Datagram {
        if result < 0 {
            fail(writer, fd, entry, Direction::Receive, end);
        // SAFETY: the buffers' descriptions were just used by the call.
        } else if result > 0 || unsafe { buffers.capacity() } > 0 {
            let message = datagram::ReceivedDatagram::of_bytes(result as usize);
            // SAFETY: the buffers were just filled.
            unsafe { datagram::received(writer, entry, buffers, &message, begin, end) };
        }
    } else {
        // SAFETY: the buffers' descriptions were just used by the call.
        unsafe { received(writer, fd, entry, result, buffers, begin, end) };
    }
    result
}

/// Logs the result of a receive on a stream.
///
/// # Safety
/// The descriptions of `buffers` are readable.
#[inline(always)]
pub(crate) unsafe fn received(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    result: ssize_t,
    buffers: Buffers,
    begin: u64,
    end: u64,
) {
    if result > 0 {
        let (direction, flow, bytes) = (Direction::Receive, entry.flow(), result as u64);
        if entry.is_watched() {
            let transfer = Transfer { direction, flow, ticks: end, bytes, duration: end - begin };
            if buffers.count == 0 {
                watch::moved_without_buffers(writer, &transfer, end);
            } else {
                // SAFETY: the buffers were just filled.
                unsafe { watch::moved(&Moved { writer, transfer, buffers, now: end }) };
            }
        } else {
            writer.transfer(direction, flow, end, bytes, end - begin, end);
        }
    } else if result < 0 {
        fail(writer, fd, entry, Direction::Receive, end);
    // SAFETY: as the caller says.
    } else if unsafe { buffers.capacity() } > 0 {
        writer.record(&encode::end_of_file(end, entry.flow()), end);
        // Fails when the descriptor was closed meanwhile, and then there is nothing to do.
        let _ = table::replace(writer.state(), fd, entry, entry.ended());
    }
}

/// Logs a call that failed, unless it only has to be made again.
#[cold]
#[inline(never)]
pub(crate) fn fail(writer: Writer, fd: c_int, entry: Entry, direction: Direction, now: u64) {
    match errno::get() {
        libc::EAGAIN | libc::EINTR | libc::EINPROGRESS | libc::EALREADY => {}
        // The descriptor was closed out of sight. Whatever the number names next is looked at anew.
        libc::EBADF | libc::ENOTSOCK => {
            let _ = table::replace(writer.state(), fd, entry, Entry::UNKNOWN);
        }
        errno => writer.record(&encode::failure(now, entry.flow(), direction, errno), now),
    }
}
