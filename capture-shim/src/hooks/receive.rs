//! `recv` and `recvfrom`: receives into one buffer, with flags and senders.
//!
//! A datagram's sender and true size are facts that the program may not ask for but the log needs.
//! `recvfrom` and `recvmsg` return them if they are given a place for them, so the hooks add a
//! missing place and hide the additional results from the program.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use libc::{iovec, size_t, sockaddr, sockaddr_storage, socklen_t, ssize_t};
use socket_log::encode::Direction;

use crate::c_library::{real, types};
use crate::descriptors::table::{self, DescriptorKind};
use crate::flows::datagram::{self, ReceivedDatagram};
use crate::flows::{CallBuffers, CallerAddress, counts, transfer};
use crate::log;
use crate::platform::{clock, raw};

/// # Safety
/// As for `recv`.
#[inline(always)]
pub(crate) unsafe fn recv(
    real: types::recv,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the program's own call; without an address, recvfrom is recv.
    unsafe {
        receive_with_flags(fd, buffer, size, flags, None, |flags, address| match address {
            None => real(fd, buffer, size, flags),
            Some((start, length)) => real!(recvfrom)(fd, buffer, size, flags, start, length),
        })
    }
}

/// # Safety
/// As for `recv`, with the buffer's true size, which libc checks.
pub(crate) unsafe fn recv_chk(
    real: types::__recv_chk,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the program's own call. The check comes first, whichever call follows.
    unsafe {
        receive_with_flags(fd, buffer, size, flags, None, |flags, address| match address {
            Some((start, length)) if size <= room => {
                real!(recvfrom)(fd, buffer, size, flags, start, length)
            }
            _ => real(fd, buffer, size, room, flags),
        })
    }
}

/// # Safety
/// As for `recvfrom`.
#[inline(always)]
pub(crate) unsafe fn recvfrom(
    real: types::recvfrom,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        receive_with_flags(fd, buffer, size, flags, sender_room(address, length), |flags, own| {
            let (start, room) = own.unwrap_or((address, length));
            real(fd, buffer, size, flags, start, room)
        })
    }
}

/// # Safety
/// As for `recvfrom`, with the buffer's true size, which libc checks.
#[expect(clippy::too_many_arguments, reason = "as many as libc's function has, and that function")]
pub(crate) unsafe fn recvfrom_chk(
    real: types::__recvfrom_chk,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the program's own call.
    unsafe {
        receive_with_flags(fd, buffer, size, flags, sender_room(address, length), |flags, own| {
            let (start, space) = own.unwrap_or((address, length));
            real(fd, buffer, size, room, flags, start, space)
        })
    }
}

/// Buffer for an address, and the place of its length.
type AddressRoom = (*mut sockaddr, *mut socklen_t);

/// Buffer of the caller for the sender's address, if there is one.
fn sender_room(address: *mut sockaddr, length: *mut socklen_t) -> Option<AddressRoom> {
    (!address.is_null()).then_some((address, length))
}

/// Makes a receive with flags into one buffer, and logs it. `call` makes the program's call with
/// the flags and the address buffer that are passed to it; if no address buffer is passed, with the
/// program's own.
///
/// # Safety
/// `buffer` and `size` are where `call` receives; `given` is the program's own address buffer, if
/// it has one.
#[inline(always)]
unsafe fn receive_with_flags(
    fd: c_int,
    buffer: *mut c_void,
    size: usize,
    flags: c_int,
    given: Option<AddressRoom>,
    call: impl FnOnce(c_int, Option<AddressRoom>) -> ssize_t,
) -> ssize_t {
    let entry = table::get_entry(fd);
    if entry.is_uncaptured() {
        return call(flags, None);
    }
    let entry = counts::resolve_counted(fd, entry, Direction::Receive);
    if entry.is_uncaptured() || flags & libc::MSG_ERRQUEUE != 0 {
        return call(flags, None);
    }
    let buffer = iovec { iov_base: buffer, iov_len: size };
    let buffers = CallBuffers { first: &buffer, count: 1 };
    if entry.kind() == DescriptorKind::Datagram {
        // SAFETY: as the caller guarantees.
        return unsafe { receive_datagram(fd, entry, buffers, flags, given, call) };
    }
    let begin = clock::current_ticks();
    let result = call(flags, None);
    let end = clock::current_ticks();
    if flags & libc::MSG_PEEK == 0
        && let Some(writer) = log::current_writer()
    {
        // SAFETY: `buffers` describes the local `buffer`, where `call` received.
        unsafe {
            transfer::log_received(
                writer,
                fd,
                entry,
                result,
                filled_buffers(buffers, result, flags),
                begin,
                end,
            )
        };
    }
    result
}

/// Buffers that a receive on a stream has filled: none with `MSG_TRUNC`, by which TCP discards the
/// bytes.
pub(super) fn filled_buffers(buffers: CallBuffers, result: ssize_t, flags: c_int) -> CallBuffers {
    if flags & libc::MSG_TRUNC != 0 && result > 0 { CallBuffers::NONE } else { buffers }
}

/// Receives a datagram from the socket `fd` and logs it, with its sender and its true size.
///
/// # Safety
/// As for [`receive_with_flags`], with its one buffer.
unsafe fn receive_datagram(
    fd: c_int,
    entry: table::DescriptorWord,
    buffers: CallBuffers,
    flags: c_int,
    given: Option<AddressRoom>,
    call: impl FnOnce(c_int, Option<AddressRoom>) -> ssize_t,
) -> ssize_t {
    let mut storage = MaybeUninit::<sockaddr_storage>::uninit();
    let mut length = size_of::<sockaddr_storage>() as socklen_t;
    let own = (storage.as_mut_ptr().cast::<sockaddr>(), ptr::from_mut(&mut length));
    let (start, space) = given.unwrap_or(own);
    // SAFETY: just found readable.
    let room = if raw::is_readable(space) { unsafe { *space } } else { 0 };
    let begin = clock::current_ticks();
    // With `MSG_TRUNC` the kernel returns the datagram's true size.
    let result = call(flags | libc::MSG_TRUNC, given.is_none().then_some(own));
    let end = clock::current_ticks();
    // SAFETY: `buffers` describes a local variable of the caller.
    let size = unsafe { buffers.capacity() };
    let Some(writer) = log::current_writer() else { return clamp_result(result, size, flags) };
    if result < 0 {
        transfer::log_failure(writer, fd, entry, Direction::Receive, end);
        return result;
    }
    let message = ReceivedDatagram {
        bytes: result as usize,
        truncated: result as usize > size,
        peeked: flags & libc::MSG_PEEK != 0,
        // SAFETY: the kernel wrote the length.
        from: sender_address(start, unsafe { *space }, room),
        size: 0,
    };
    // SAFETY: the buffer was just filled.
    unsafe { datagram::log_received(writer, entry, buffers, &message, begin, end) };
    clamp_result(result, size, flags)
}

/// Sender's address, `length` bytes long; none if the program's buffer of `room` bytes was too
/// small for it.
pub(super) fn sender_address(
    start: *const sockaddr,
    length: socklen_t,
    room: socklen_t,
) -> CallerAddress {
    if length <= room {
        CallerAddress { start, length: length as usize }
    } else {
        CallerAddress::NONE
    }
}

/// Result for the program: the number of received bytes, unless it requested the datagram's true
/// size.
pub(super) fn clamp_result(result: ssize_t, capacity: usize, flags: c_int) -> ssize_t {
    // No object is so large that this becomes negative, but the stated capacity may be any number.
    if flags & libc::MSG_TRUNC != 0 || result < 0 || result as usize <= capacity {
        result
    } else {
        capacity as ssize_t
    }
}
