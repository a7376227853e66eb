//! `recvmsg` and `recvmmsg`: receives into messages, which have buffers, a sender and control data.

use core::ffi::{c_int, c_uint};
use core::mem::MaybeUninit;

use libc::{mmsghdr, msghdr, sockaddr_storage, socklen_t, ssize_t, timespec};
use socket_log::encode::Direction;

use super::receive::{clamp_result, filled_buffers, sender_address};
use crate::c_library::types;
use crate::descriptors::table::{self, DescriptorKind};
use crate::flows::datagram::{self, ReceivedDatagram};
use crate::flows::{
    CallBuffers, CallerAddress, ControlData, counts, duplicates, segments, transfer,
};
use crate::log;
use crate::platform::{clock, raw};

/// Which messages of a batch have space for the longest name of a sender, a bit for each message.
/// This is inspected before the call: once the kernel has written a name's length over the size of
/// its buffer, it cannot be determined any more whether the name was cut.
struct SenderRooms([u64; SenderRooms::MAX_MESSAGES / 64]);

impl SenderRooms {
    /// Maximum number of messages that the kernel accepts in one call.
    const MAX_MESSAGES: usize = 1024;

    /// Inspects the headers before the call, as far as they can be read.
    fn from_messages(messages: *const mmsghdr, count: c_uint, domain: c_int) -> SenderRooms {
        let mut rooms = SenderRooms([0; SenderRooms::MAX_MESSAGES / 64]);
        let longest = match domain {
            libc::AF_INET => size_of::<libc::sockaddr_in>(),
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            libc::AF_UNIX => size_of::<libc::sockaddr_un>(),
            _ => size_of::<sockaddr_storage>(),
        };
        // End of the page that was last found readable: each page is checked once.
        let mut readable = 0;
        for index in 0..(count as usize).min(SenderRooms::MAX_MESSAGES) {
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

    /// Address of the sender of the message at `index`; none if its name may have been cut.
    fn sender_address(&self, index: usize, message: &msghdr) -> CallerAddress {
        let is_whole = self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0);
        let (start, length) = (message.msg_name.cast(), message.msg_namelen as usize);
        if is_whole { CallerAddress { start, length } } else { CallerAddress::NONE }
    }
}

/// # Safety
/// As for `recvmsg`.
#[inline(always)]
pub(crate) unsafe fn recvmsg(
    real: types::recvmsg,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    let entry = table::get_entry(fd);
    if entry.is_uncaptured() || message.is_null() {
        // SAFETY: the program's own call.
        return unsafe { real(fd, message, flags) };
    }
    let entry = counts::resolve_counted(fd, entry, Direction::Receive);
    if entry.is_uncaptured() || flags & libc::MSG_ERRQUEUE != 0 {
        // SAFETY: the program's own call.
        return unsafe { real(fd, message, flags) };
    }
    if entry.kind() == DescriptorKind::Datagram && raw::is_readable(message) {
        // SAFETY: the program's own call.
        return unsafe { recvmsg_datagram(real, fd, entry, message, flags) };
    }
    let begin = clock::current_ticks();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, message, flags) };
    let end = clock::current_ticks();
    // SAFETY: a call that succeeded has used the message's header.
    unsafe {
        if result >= 0 {
            duplicates::clear_received(message);
        }
        if flags & libc::MSG_PEEK == 0
            && let Some(writer) = log::current_writer()
        {
            let buffers = if result < 0 {
                CallBuffers::NONE
            } else {
                filled_buffers(CallBuffers::from_message(message), result, flags)
            };
            transfer::log_received(writer, fd, entry, result, buffers, begin, end);
        }
    }
    result
}

/// Receives a datagram by `recvmsg` and logs it, with its sender and its true size.
///
/// # Safety
/// As for `recvmsg`, with a header that can be read.
unsafe fn recvmsg_datagram(
    real: types::recvmsg,
    fd: c_int,
    entry: table::DescriptorWord,
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
    let begin = clock::current_ticks();
    // SAFETY: the program's own call, with a copy of its header.
    let result = unsafe { real(fd, &mut copy, flags | libc::MSG_TRUNC) };
    let end = clock::current_ticks();
    if result >= 0 {
        // SAFETY: the program's header receives what the kernel would have written into it.
        unsafe {
            if !(*message).msg_name.is_null() {
                (*message).msg_namelen = copy.msg_namelen;
            }
            (*message).msg_controllen = copy.msg_controllen;
            (*message).msg_flags = copy.msg_flags;
            duplicates::clear_received(message);
        }
    }
    let capacity = match result {
        ..0 => 0,
        // SAFETY: a call that succeeded has used the buffers' descriptions.
        _ => unsafe { CallBuffers::from_message(message).capacity() },
    };
    let Some(writer) = log::current_writer() else { return clamp_result(result, capacity, flags) };
    if result < 0 {
        transfer::log_failure(writer, fd, entry, Direction::Receive, end);
        return result;
    }
    // SAFETY: the kernel wrote the name and filled the buffers.
    unsafe {
        let what = ReceivedDatagram {
            bytes: result as usize,
            truncated: copy.msg_flags & libc::MSG_TRUNC != 0,
            peeked: flags & libc::MSG_PEEK != 0,
            from: sender_address(copy.msg_name.cast(), copy.msg_namelen, room),
            size: segments::size_received(ControlData::from_message(&copy)),
        };
        datagram::log_received(
            writer,
            entry,
            CallBuffers::from_message(message),
            &what,
            begin,
            end,
        );
    }
    clamp_result(result, capacity, flags)
}

/// # Safety
/// As for `recvmmsg`.
pub(crate) unsafe fn recvmmsg(
    real: types::recvmmsg,
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    let entry = counts::resolve_counted(fd, table::get_entry(fd), Direction::Receive);
    if entry.is_uncaptured() || flags & libc::MSG_ERRQUEUE != 0 {
        // SAFETY: the program's own call.
        return unsafe { real(fd, messages, count, flags, timeout) };
    }
    let rooms = match entry.kind() {
        DescriptorKind::Datagram => SenderRooms::from_messages(messages, count, entry.domain()),
        _ => SenderRooms::from_messages(messages, 0, 0),
    };
    let begin = clock::current_ticks();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, messages, count, flags, timeout) };
    let end = clock::current_ticks();
    let Some(writer) = log::current_writer() else { return result };
    if result < 0 {
        transfer::log_failure(writer, fd, entry, Direction::Receive, end);
        return result;
    }
    for index in 0..result as usize {
        // SAFETY: the kernel filled as many messages as it returned.
        unsafe {
            let message = messages.add(index);
            let (header, bytes) = (&raw mut (*message).msg_hdr, (*message).msg_len as usize);
            duplicates::clear_received(header);
            if entry.kind() == DescriptorKind::Datagram {
                let what = ReceivedDatagram {
                    bytes,
                    truncated: (*header).msg_flags & libc::MSG_TRUNC != 0,
                    peeked: flags & libc::MSG_PEEK != 0,
                    from: rooms.sender_address(index, &*header),
                    size: segments::size_received(ControlData::from_message(header)),
                };
                datagram::log_received(
                    writer,
                    entry,
                    CallBuffers::from_message(header),
                    &what,
                    begin,
                    end,
                );
            } else if flags & libc::MSG_PEEK == 0 {
                transfer::log_received(
                    writer,
                    fd,
                    entry,
                    bytes as ssize_t,
                    CallBuffers::from_message(header),
                    begin,
                    end,
                );
            }
        }
    }
    result
}
