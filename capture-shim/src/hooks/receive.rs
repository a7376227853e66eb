//! `recv`, `recvfrom`, `recvmsg`, `recvmmsg`: receives that have flags, senders and control data.
//!
//! A datagram's sender and true size are facts that the program may not ask for but the log needs.
//! They come with the very same system call when it is given a place for them, so the hooks add
//! that place where it is missing and hide from the program what it did not want.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use libc::{
    iovec, mmsghdr, msghdr, size_t, sockaddr, sockaddr_storage, socklen_t, ssize_t, timespec,
};
use socket_log::encode::Direction;

use crate::c_library::{real, types};
use crate::descriptors::table::{self, Kind};
use crate::flows::datagram::{self, Received};
use crate::flows::{Address, Buffers, duplicates, find, transfer};
use crate::log;
use crate::platform::{clock, raw};

/// # Safety
/// As `recv`.
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
        receive(fd, buffer, size, flags, None, |flags, address| match address {
            None => real(fd, buffer, size, flags),
            Some((start, length)) => real!(recvfrom)(fd, buffer, size, flags, start, length),
        })
    }
}

/// # Safety
/// As `recv`, with the buffer's true size, which libc checks.
pub(crate) unsafe fn recv_chk(
    real: types::__recv_chk,
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the program's own call. The check comes first, whatever the call is then.
    unsafe {
        receive(fd, buffer, size, flags, None, |flags, address| match address {
            Some((start, length)) if size <= room => {
                real!(recvfrom)(fd, buffer, size, flags, start, length)
            }
            _ => real(fd, buffer, size, room, flags),
        })
    }
}

/// # Safety
/// As `recvfrom`.
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
        receive(fd, buffer, size, flags, given(address, length), |flags, own| {
            let (start, room) = own.unwrap_or((address, length));
            real(fd, buffer, size, flags, start, room)
        })
    }
}

/// # Safety
/// As `recvfrom`, with the buffer's true size, which libc checks.
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
        receive(fd, buffer, size, flags, given(address, length), |flags, own| {
            let (start, space) = own.unwrap_or((address, length));
            real(fd, buffer, size, room, flags, start, space)
        })
    }
}

/// Room for an address, and for its length.
type AddressRoom = (*mut sockaddr, *mut socklen_t);

/// Room that the caller gave for the sender's address, where it gave some.
fn given(address: *mut sockaddr, length: *mut socklen_t) -> Option<AddressRoom> {
    (!address.is_null()).then_some((address, length))
}

/// Makes a receive with flags into one buffer. `call` makes the program's call with the flags and
/// the room for an address that it is given, or with the program's own room when it is given none.
///
/// # Safety
/// `buffer` and `size` are where `call` receives; `given` is what it gives to the kernel.
#[inline(always)]
unsafe fn receive(
    fd: c_int,
    buffer: *mut c_void,
    size: usize,
    flags: c_int,
    given: Option<AddressRoom>,
    call: impl FnOnce(c_int, Option<AddressRoom>) -> ssize_t,
) -> ssize_t {
    let entry = table::get(fd);
    if entry.is_other() {
        return call(flags, None);
    }
    let entry = find::resolve(fd, entry);
    if entry.is_other() || flags & libc::MSG_ERRQUEUE != 0 {
        return call(flags, None);
    }
    let buffer = iovec { iov_base: buffer, iov_len: size };
    let buffers = Buffers { first: &buffer, count: 1 };
    if entry.kind() == Kind::Datagram {
        // SAFETY: as the caller says.
        return unsafe { receive_datagram(fd, entry, buffers, flags, given, call) };
    }
    let begin = clock::now();
    let result = call(flags, None);
    let end = clock::now();
    if flags & libc::MSG_PEEK == 0
        && let Some(writer) = log::writer()
    {
        // SAFETY: the buffer's description is ours.
        unsafe {
            transfer::received(
                writer,
                fd,
                entry,
                result,
                filled(buffers, result, flags),
                begin,
                end,
            )
        };
    }
    result
}

/// Buffers that a receive on a stream has filled: with `MSG_TRUNC`, TCP throws the bytes away.
fn filled(buffers: Buffers, result: ssize_t, flags: c_int) -> Buffers {
    if flags & libc::MSG_TRUNC != 0 && result > 0 { Buffers::NONE } else { buffers }
}

/// # Safety
/// As [`receive`], with its one buffer.
unsafe fn receive_datagram(
    fd: c_int,
    entry: table::Entry,
    buffers: Buffers,
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
    let begin = clock::now();
    // With this flag the kernel gives the datagram's true size.
    let result = call(flags | libc::MSG_TRUNC, given.is_none().then_some(own));
    let end = clock::now();
    // SAFETY: the description is ours.
    let size = unsafe { buffers.capacity() };
    let Some(writer) = log::writer() else { return as_asked(result, size, flags) };
    if result < 0 {
        transfer::fail(writer, fd, entry, Direction::Receive, end);
        return result;
    }
    let message = Received {
        bytes: result as usize,
        truncated: result as usize > size,
        peeked: flags & libc::MSG_PEEK != 0,
        // SAFETY: the kernel wrote the length.
        from: name(start, unsafe { *space }, room),
    };
    // SAFETY: the buffer was just filled.
    unsafe { datagram::received(writer, entry, buffers, &message, begin, end) };
    as_asked(result, size, flags)
}

/// Sender's address, `length` bytes long; none where the program left so little room that it was
/// cut.
fn name(start: *const sockaddr, length: socklen_t, room: socklen_t) -> Address {
    if length <= room { Address { start, length: length as usize } } else { Address::NONE }
}

/// Messages of a batch that have room for a whole name, a bit for each. Once the kernel has written
/// how long each name is, nobody can tell whether it was cut, and what lies behind is the program's
/// own.
struct Rooms([u64; Rooms::MAX_MESSAGES / 64]);

impl Rooms {
    /// Maximum number of messages that the kernel takes at once.
    const MAX_MESSAGES: usize = 1024;

    /// Looks at the headers before the call, as far as they can be read.
    fn of(messages: *const mmsghdr, count: c_uint, domain: c_int) -> Rooms {
        let mut rooms = Rooms([0; Rooms::MAX_MESSAGES / 64]);
        let longest = match domain {
            libc::AF_INET => size_of::<libc::sockaddr_in>(),
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            libc::AF_UNIX => size_of::<libc::sockaddr_un>(),
            _ => size_of::<sockaddr_storage>(),
        };
        // The end of the page that was found readable last: each is looked at once.
        let mut readable = 0;
        for index in 0..(count as usize).min(Rooms::MAX_MESSAGES) {
            let message = messages.wrapping_add(index);
            let end = message.wrapping_add(1).addr();
            if end > readable {
                if !raw::is_readable(message) {
                    break;
                }
                readable = (end.wrapping_sub(1) | (raw::PAGE - 1)).wrapping_add(1);
            }
            // SAFETY: just found readable.
            let (start, room) =
                unsafe { ((*message).msg_hdr.msg_name, (*message).msg_hdr.msg_namelen) };
            if let Some(word) = rooms.0.get_mut(index / 64)
                && !start.is_null()
                && room as usize >= longest
            {
                *word |= 1 << (index % 64);
            }
        }
        rooms
    }

    /// Address of the sender of a message.
    fn name(&self, index: usize, message: &msghdr) -> Address {
        let is_whole = self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0);
        let (start, length) = (message.msg_name.cast(), message.msg_namelen as usize);
        if is_whole { Address { start, length } } else { Address::NONE }
    }
}

/// Result that the program gets: the size received, unless it asked for the true one.
fn as_asked(result: ssize_t, capacity: usize, flags: c_int) -> ssize_t {
    // No object is as large as to make this negative, but the capacity told may be any number.
    if flags & libc::MSG_TRUNC != 0 || result < 0 || result as usize <= capacity {
        result
    } else {
        capacity as ssize_t
    }
}

/// # Safety
/// As `recvmsg`.
#[inline(always)]
pub(crate) unsafe fn recvmsg(
    real: types::recvmsg,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    let entry = table::get(fd);
    if entry.is_other() || message.is_null() {
        // SAFETY: the program's own call.
        return unsafe { real(fd, message, flags) };
    }
    let entry = find::resolve(fd, entry);
    if entry.is_other() || flags & libc::MSG_ERRQUEUE != 0 {
        // SAFETY: the program's own call.
        return unsafe { real(fd, message, flags) };
    }
    if entry.kind() == Kind::Datagram && raw::is_readable(message) {
        // SAFETY: the program's own call.
        return unsafe { recvmsg_datagram(real, fd, entry, message, flags) };
    }
    let begin = clock::now();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, message, flags) };
    let end = clock::now();
    // SAFETY: a call that succeeded has used the message's header.
    unsafe {
        if result >= 0 {
            duplicates::passed(message);
        }
        if flags & libc::MSG_PEEK == 0
            && let Some(writer) = log::writer()
        {
            let buffers = if result < 0 {
                Buffers::NONE
            } else {
                filled(Buffers::of_message(message), result, flags)
            };
            transfer::received(writer, fd, entry, result, buffers, begin, end);
        }
    }
    result
}

/// # Safety
/// As `recvmsg`, with a header that can be read.
unsafe fn recvmsg_datagram(
    real: types::recvmsg,
    fd: c_int,
    entry: table::Entry,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    let mut storage = MaybeUninit::<sockaddr_storage>::uninit();
    // SAFETY: the message is the program's.
    let mut copy = unsafe { *message };
    if copy.msg_name.is_null() {
        copy.msg_name = storage.as_mut_ptr().cast();
        copy.msg_namelen = size_of::<sockaddr_storage>() as socklen_t;
    }
    let room = copy.msg_namelen;
    let begin = clock::now();
    // SAFETY: the program's own call, with a copy of its header.
    let result = unsafe { real(fd, &mut copy, flags | libc::MSG_TRUNC) };
    let end = clock::now();
    if result >= 0 {
        // SAFETY: the program's header gets what the kernel would have written into it.
        unsafe {
            if !(*message).msg_name.is_null() {
                (*message).msg_namelen = copy.msg_namelen;
            }
            (*message).msg_controllen = copy.msg_controllen;
            (*message).msg_flags = copy.msg_flags;
            duplicates::passed(message);
        }
    }
    // SAFETY: a call that succeeded has used the buffers' descriptions.
    let capacity = if result < 0 { 0 } else { unsafe { Buffers::of_message(message).capacity() } };
    let Some(writer) = log::writer() else { return as_asked(result, capacity, flags) };
    if result < 0 {
        transfer::fail(writer, fd, entry, Direction::Receive, end);
        return result;
    }
    // SAFETY: the kernel wrote the name and filled the buffers.
    unsafe {
        let what = Received {
            bytes: result as usize,
            truncated: copy.msg_flags & libc::MSG_TRUNC != 0,
            peeked: flags & libc::MSG_PEEK != 0,
            from: name(copy.msg_name.cast(), copy.msg_namelen, room),
        };
        datagram::received(writer, entry, Buffers::of_message(message), &what, begin, end);
    }
    as_asked(result, capacity, flags)
}

/// # Safety
/// As `recvmmsg`.
pub(crate) unsafe fn recvmmsg(
    real: types::recvmmsg,
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    let entry = find::resolve(fd, table::get(fd));
    if entry.is_other() || flags & libc::MSG_ERRQUEUE != 0 {
        // SAFETY: the program's own call.
        return unsafe { real(fd, messages, count, flags, timeout) };
    }
    let rooms = match entry.kind() {
        Kind::Datagram => Rooms::of(messages, count, entry.domain()),
        _ => Rooms::of(messages, 0, 0),
    };
    let begin = clock::now();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, messages, count, flags, timeout) };
    let end = clock::now();
    let Some(writer) = log::writer() else { return result };
    if result < 0 {
        transfer::fail(writer, fd, entry, Direction::Receive, end);
        return result;
    }
    for index in 0..result as usize {
        // SAFETY: the kernel filled as many messages as it said.
        unsafe {
            let message = messages.add(index);
            let (header, bytes) = (&raw mut (*message).msg_hdr, (*message).msg_len as usize);
            duplicates::passed(header);
            if entry.kind() == Kind::Datagram {
                let what = Received {
                    bytes,
                    truncated: (*header).msg_flags & libc::MSG_TRUNC != 0,
                    peeked: flags & libc::MSG_PEEK != 0,
                    from: rooms.name(index, &*header),
                };
                datagram::received(writer, entry, Buffers::of_message(header), &what, begin, end);
            } else if flags & libc::MSG_PEEK == 0 {
                transfer::received(
                    writer,
                    fd,
                    entry,
                    bytes as ssize_t,
                    Buffers::of_message(header),
                    begin,
                    end,
                );
            }
        }
    }
    result
}
