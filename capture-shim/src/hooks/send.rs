//! `sendmsg`, `sendmmsg`, `sendfile` and `splice`: sends with their bytes in a message or in
//! another descriptor.

use core::ffi::{c_int, c_uint};

use libc::{iovec, loff_t, mmsghdr, msghdr, off_t, size_t, ssize_t};
use socket_log::encode::Direction;

use super::lifecycle;
use crate::c_library::{errno, types};
use crate::descriptors::table::{self, DescriptorKind};
use crate::flows::{
    CallBuffers, OutgoingMessage, WatchedTransfer, between_descriptors, counts, datagram, transfer,
    watch,
};
use crate::log::{self, StreamTransfer};
use crate::platform::clock;
use crate::state::options::RESOURCES;

/// # Safety
/// As for `sendmsg`.
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
    // SAFETY: the program's own call and message, which is read after the kernel has accepted it.
    unsafe {
        let what = || OutgoingMessage::from_message(message);
        let result = transfer::send_vector(fd, what, || real(fd, message, flags));
        if flags & libc::MSG_FASTOPEN != 0
            && (result >= 0 || errno::get_errno() == libc::EINPROGRESS)
        {
            let to = what().to;
            let length = to.length as libc::socklen_t;
            lifecycle::log_connection(fd, result >= 0, to.start, length, None);
        }
        result
    }
}

/// # Safety
/// As for `sendmmsg`.
pub(crate) unsafe fn sendmmsg(
    real: types::sendmmsg,
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    let entry = counts::resolve_counted(fd, table::get_entry(fd), Direction::Send);
    if entry.is_uncaptured() {
        // SAFETY: the program's own call.
        return unsafe { real(fd, messages, count, flags) };
    }
    let begin = clock::current_ticks();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, messages, count, flags) };
    let end = clock::current_ticks();
    let Some(writer) = log::current_writer() else { return result };
    if result < 0 {
        transfer::log_failure(writer, fd, entry, Direction::Send, end);
        return result;
    }
    for index in 0..result as usize {
        // SAFETY: the kernel sent as many messages as it returned.
        unsafe {
            let message = messages.add(index);
            let (header, bytes) = (&raw const (*message).msg_hdr, (*message).msg_len as usize);
            if entry.kind() == DescriptorKind::Datagram {
                // The first datagram logs the socket's name if it is not logged yet.
                let entry = if index == 0 { entry } else { entry.as_named() };
                let outgoing = OutgoingMessage::from_message(header);
                datagram::log_sent(writer, fd, entry, outgoing, bytes, begin, end);
            } else if bytes > 0 {
                let (direction, flow, bytes) = (Direction::Send, entry.flow(), bytes as u64);
                if entry.is_watched() {
                    let transfer = StreamTransfer {
                        direction,
                        flow,
                        ticks: begin,
                        bytes,
                        duration: end - begin,
                    };
                    let buffers = CallBuffers::from_message(header);
                    watch::log_moved(&WatchedTransfer { writer, transfer, buffers, now: end });
                } else {
                    writer.transfer(direction, flow, begin, bytes, end - begin, end);
                }
            }
        }
    }
    result
}

/// # Safety
/// As for `sendfile`.
pub(crate) unsafe fn sendfile(
    real: types::sendfile,
    to: c_int,
    from: c_int,
    offset: *mut off_t,
    size: size_t,
) -> ssize_t {
    let send = || {
        // SAFETY: the program's own call.
        between_descriptors::log_moved_bytes(to, Direction::Send, || unsafe {
            real(to, from, offset, size)
        })
    };
    // The source matters only if it may be a file with recorded use.
    if RESOURCES {
        between_descriptors::log_moved_bytes(from, Direction::Receive, send)
    } else {
        send()
    }
}

/// # Safety
/// As for `splice`.
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
    between_descriptors::log_moved_bytes(from, Direction::Receive, || {
        between_descriptors::log_moved_bytes(to, Direction::Send, || {
            // SAFETY: the program's own call.
            unsafe { real(from, from_offset, to, to_offset, size, flags) }
        })
    })
}

/// # Safety
/// As for `tee`.
pub(crate) unsafe fn tee(
    real: types::tee,
    from: c_int,
    to: c_int,
    size: size_t,
    flags: c_uint,
) -> ssize_t {
    // `tee` works only between pipes, for now; the kernel refuses a socket, which is logged.
    between_descriptors::log_moved_bytes(from, Direction::Receive, || {
        // SAFETY: the program's own call.
        between_descriptors::log_moved_bytes(to, Direction::Send, || unsafe {
            real(from, to, size, flags)
        })
    })
}

/// # Safety
/// As for `vmsplice`.
pub(crate) unsafe fn vmsplice(
    real: types::vmsplice,
    fd: c_int,
    first: *const iovec,
    count: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: the program's own call.
    between_descriptors::log_moved_bytes(fd, Direction::Send, || unsafe {
        real(fd, first, count, flags)
    })
}
