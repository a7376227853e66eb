//! Families of `read` and `write`: converts each call's own arguments into those of
//! [`crate::flows::transfer`].
//!
//! Every function receives libc's own function of the same name first, and then the program's
//! arguments.

use core::ffi::{c_int, c_void};
use core::ptr;

use libc::{iovec, off_t, size_t, sockaddr, socklen_t, ssize_t};

use super::lifecycle;
use crate::c_library::types;
use crate::flows::{CallBuffers, CallerAddress, OutgoingMessage, transfer};

/// # Safety
/// As for `read`.
#[inline(always)]
pub(crate) unsafe fn read(
    real: types::read,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe { transfer::receive_bytes(fd, buffer.cast(), size, || real(fd, buffer, size)) }
}

/// # Safety
/// As for `read`, with the buffer's true size, which libc checks.
pub(crate) unsafe fn read_chk(
    real: types::__read_chk,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    room: size_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe { transfer::receive_bytes(fd, buffer.cast(), size, || real(fd, buffer, size, room)) }
}

/// # Safety
/// As for `pread`, which fails on every socket.
pub(crate) unsafe fn pread(
    real: types::pread,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe { transfer::receive_bytes(fd, buffer.cast(), size, || real(fd, buffer, size, offset)) }
}

/// # Safety
/// As for `pread`, with the buffer's true size, which libc checks.
pub(crate) unsafe fn pread_chk(
    real: types::__pread_chk,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    offset: off_t,
    room: size_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::receive_bytes(fd, buffer.cast(), size, || real(fd, buffer, size, offset, room))
    }
}

/// # Safety
/// As for `readv`.
#[inline(always)]
pub(crate) unsafe fn readv(
    real: types::readv,
    fd: c_int,
    first: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe { transfer::receive_vector(fd, call_buffers(first, count), || real(fd, first, count)) }
}

/// # Safety
/// As for `preadv`, which fails on every socket.
pub(crate) unsafe fn preadv(
    real: types::preadv,
    fd: c_int,
    first: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::receive_vector(fd, call_buffers(first, count), || real(fd, first, count, offset))
    }
}

/// # Safety
/// As for `preadv2`.
pub(crate) unsafe fn preadv2(
    real: types::preadv2,
    fd: c_int,
    first: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::receive_vector(fd, call_buffers(first, count), || {
            real(fd, first, count, offset, flags)
        })
    }
}

/// # Safety
/// As for `write`.
#[inline(always)]
pub(crate) unsafe fn write(
    real: types::write,
    fd: c_int,
    buffer: *const c_void,
    size: size_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::send_bytes(fd, buffer.cast(), size, CallerAddress::NONE, || {
            real(fd, buffer, size)
        })
    }
}

/// # Safety
/// As for `pwrite`, which fails on every socket.
pub(crate) unsafe fn pwrite(
    real: types::pwrite,
    fd: c_int,
    buffer: *const c_void,
    size: size_t,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::send_bytes(fd, buffer.cast(), size, CallerAddress::NONE, || {
            real(fd, buffer, size, offset)
        })
    }
}

/// # Safety
/// As for `writev`.
#[inline(always)]
pub(crate) unsafe fn writev(
    real: types::writev,
    fd: c_int,
    first: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::send_vector(
            fd,
            || OutgoingMessage::new(call_buffers(first, count), CallerAddress::NONE),
            || real(fd, first, count),
        )
    }
}

/// # Safety
/// As for `pwritev`, which fails on every socket.
pub(crate) unsafe fn pwritev(
    real: types::pwritev,
    fd: c_int,
    first: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::send_vector(
            fd,
            || OutgoingMessage::new(call_buffers(first, count), CallerAddress::NONE),
            || real(fd, first, count, offset),
        )
    }
}

/// # Safety
/// As for `pwritev2`.
pub(crate) unsafe fn pwritev2(
    real: types::pwritev2,
    fd: c_int,
    first: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::send_vector(
            fd,
            || OutgoingMessage::new(call_buffers(first, count), CallerAddress::NONE),
            || real(fd, first, count, offset, flags),
        )
    }
}

/// # Safety
/// As for `send`.
#[inline(always)]
pub(crate) unsafe fn send(
    real: types::send,
    fd: c_int,
    buffer: *const c_void,
    size: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        transfer::send_bytes(fd, buffer.cast(), size, CallerAddress::NONE, || {
            real(fd, buffer, size, flags)
        })
    }
}

/// # Safety
/// As for `sendto`.
#[inline(always)]
pub(crate) unsafe fn sendto(
    real: types::sendto,
    fd: c_int,
    buffer: *const c_void,
    size: size_t,
    flags: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> ssize_t {
    let to = CallerAddress { start: address, length: length as usize };
    // SAFETY: the program's own call.
    let result = unsafe {
        transfer::send_bytes(fd, buffer.cast(), size, to, || {
            real(fd, buffer, size, flags, address, length)
        })
    };
    if flags & libc::MSG_FASTOPEN != 0 {
        // SAFETY: the program's own address.
        unsafe { lifecycle::log_connection(fd, result >= 0, address, length, None) };
    }
    result
}

/// Makes a receive into several buffers that the program requests by its system call's number.
///
/// # Safety
/// `call` is the program's own, with these arguments.
pub(crate) unsafe fn receive_vector(
    fd: c_int,
    first: *const iovec,
    count: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    // SAFETY: as the caller guarantees.
    unsafe { transfer::receive_vector(fd, call_buffers(first, count), call) }
}

/// Makes a send from several buffers that the program requests by its system call's number.
///
/// # Safety
/// `call` is the program's own, with these arguments.
pub(crate) unsafe fn send_vector(
    fd: c_int,
    first: *const iovec,
    count: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    // SAFETY: as the caller guarantees.
    unsafe {
        transfer::send_vector(
            fd,
            || OutgoingMessage::new(call_buffers(first, count), CallerAddress::NONE),
            call,
        )
    }
}

/// Buffers of a call that takes `count` buffers from `first` on.
pub(crate) fn call_buffers(first: *const iovec, count: c_int) -> CallBuffers {
    // A negative number is an error that the kernel reports.
    if first.is_null() {
        CallBuffers { first: ptr::null(), count: 0 }
    } else {
        CallBuffers { first, count: count.max(0) as usize }
    }
}
