//! `sendmsg`, `sendmmsg`, `sendfile` and `splice`: sends whose bytes lie in a message or in another
//! descriptor.

use core::ffi::{c_int, c_uint};

use libc::{iovec, loff_t, mmsghdr, msghdr, off_t, size_t, ssize_t};
use socket_log::encode::Direction;

use crate::datagram::{self, Address};
use crate::fds::{self, Kind};
use crate::hooks::types;
use crate::positions::Moved;
use crate::receive::vector;
use crate::transfer;
use crate::{clock, describe, log, raw, watch};

/// # Safety
/// As `sendmsg`.
#[inline(always)]
pub(crate) unsafe fn sendmsg(
    real: types::sendmsg,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        // SAFETY: the program's own call.
        return unsafe { real(fd, message, flags) };
    }
    // SAFETY: the program's own call and message, which is looked at once the kernel has taken it.
    unsafe {
        let what = || (vector(message), destination(message));
        let result = transfer::send_vector(fd, what, || real(fd, message, flags));
        if flags & libc::MSG_FASTOPEN != 0 && (result >= 0 || raw::errno() == libc::EINPROGRESS) {
            let to = destination(message);
            let length = to.length as libc::socklen_t;
            crate::lifecycle::connected(fd, result >= 0, to.start, length, None);
        }
        result
    }
}

/// # Safety
/// As `sendmmsg`.
pub(crate) unsafe fn sendmmsg(
    real: types::sendmmsg,
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    let entry = describe::resolve(fd, fds::get(fd));
    if entry.is_other() {
        // SAFETY: the program's own call.
        return unsafe { real(fd, messages, count, flags) };
    }
    let begin = clock::now();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, messages, count, flags) };
    let end = clock::now();
    let Some(writer) = log::writer() else { return result };
    if result < 0 {
        transfer::fail(writer, fd, entry, Direction::Send, end);
        return result;
    }
    for index in 0..result as usize {
        // SAFETY: the kernel sent as many messages as it said.
        unsafe {
            let message = messages.add(index);
            let (header, bytes) = (&raw const (*message).msg_hdr, (*message).msg_len as usize);
            if entry.kind() == Kind::Datagram {
                // The first of them names the socket, if need be.
                let entry = if index == 0 { entry } else { entry.named() };
                datagram::sent(
                    writer,
                    fd,
                    entry,
                    vector(header),
                    bytes,
                    destination(header),
                    begin,
                    end,
                );
            } else if bytes > 0 {
                let (direction, flow, bytes) = (Direction::Send, entry.flow(), bytes as u64);
                if entry.is_watched() {
                    let moved =
                        Moved { direction, flow, ticks: begin, bytes, duration: end - begin };
                    watch::moved(writer, &moved, vector(header), end);
                } else {
                    writer.transfer(direction, flow, begin, bytes, end - begin, end);
                }
            }
        }
    }
    result
}

/// # Safety
/// The header is readable.
unsafe fn destination(message: *const msghdr) -> Address {
    // SAFETY: as the caller says.
    unsafe {
        Address { start: (*message).msg_name.cast(), length: (*message).msg_namelen as usize }
    }
}

/// # Safety
/// As `sendfile`.
pub(crate) unsafe fn sendfile(
    real: types::sendfile,
    to: c_int,
    from: c_int,
    offset: *mut off_t,
    size: size_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    move_bytes(to, Direction::Send, || unsafe { real(to, from, offset, size) })
}

/// # Safety
/// As `splice`.
pub(crate) unsafe fn splice(
    real: types::splice,
    from: c_int,
    from_offset: *mut loff_t,
    to: c_int,
    to_offset: *mut loff_t,
    size: size_t,
    flags: c_uint,
) -> ssize_t {
    // One of the two is a pipe, so at most one is a socket.
    move_bytes(from, Direction::Receive, || {
        move_bytes(to, Direction::Send, || {
            // SAFETY: the program's own call.
            unsafe { real(from, from_offset, to, to_offset, size, flags) }
        })
    })
}

/// # Safety
/// As `tee`.
pub(crate) unsafe fn tee(
    real: types::tee,
    from: c_int,
    to: c_int,
    size: size_t,
    flags: c_uint,
) -> ssize_t {
    // Between pipes alone, for now; the kernel refuses a socket, and that is logged.
    move_bytes(from, Direction::Receive, || {
        // SAFETY: the program's own call.
        move_bytes(to, Direction::Send, || unsafe { real(from, to, size, flags) })
    })
}

/// # Safety
/// As `vmsplice`.
pub(crate) unsafe fn vmsplice(
    real: types::vmsplice,
    fd: c_int,
    first: *const iovec,
    count: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: the program's own call.
    move_bytes(fd, Direction::Send, || unsafe { real(fd, first, count, flags) })
}

/// Text that libc prints to a stream; its result is the number of bytes.
pub(crate) fn printed(fd: c_int, call: impl FnOnce() -> ssize_t) -> ssize_t {
    move_bytes(fd, Direction::Send, call)
}

/// A call that moves bytes between `fd` and another descriptor, without showing them.
fn move_bytes(fd: c_int, direction: Direction, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let entry = describe::resolve(fd, fds::get(fd));
    if entry.kind() != Kind::Stream {
        return call();
    }
    let begin = clock::now();
    let result = call();
    let end = clock::now();
    let Some(writer) = log::writer() else { return result };
    if result > 0 {
        let ticks = if direction == Direction::Send { begin } else { end };
        let (flow, bytes, duration) = (entry.flow(), result as u64, end - begin);
        if entry.is_watched() {
            watch::moved_unseen(writer, &Moved { direction, flow, ticks, bytes, duration }, end);
        } else {
            writer.transfer(direction, flow, ticks, bytes, duration, end);
        }
    } else if result < 0 {
        transfer::fail(writer, fd, entry, direction, end);
    }
    result
}
