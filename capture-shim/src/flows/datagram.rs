//! Datagrams: size, checksum and peer of each, whichever call moved it.
//!
//! The checksum finds a datagram at the other end, where order and number prove nothing. It is made
//! of the caller's own buffers behind the call, so it delays nothing that others wait for.

use core::ffi::c_int;

use socket_log::encode::{self, Datagram, Direction, datagram_flag};

use super::{Address, Buffers, adopt, names, watch};
use crate::descriptors::Name;
use crate::descriptors::table::Entry;
use crate::log::{Transfer, Writer};
use crate::platform::checksum;

/// Facts that a receive told of its datagram.
pub(crate) struct ReceivedDatagram {
    /// Whole size of the datagram, as far as it is known, in bytes.
    pub(crate) bytes: usize,
    /// Whether a part of it was cut off.
    pub(crate) truncated: bool,
    /// Whether it stays in the queue.
    pub(crate) peeked: bool,
    /// Sender's address.
    pub(crate) from: Address,
}

/// Logs a datagram that was sent, and the socket's own name if this send was what bound it.
///
/// # Safety
/// `buffers` hold the datagram, `to` is readable.
#[expect(
    clippy::too_many_arguments,
    reason = "the facts of one call; a struct for one use would hide nothing"
)]
#[inline(always)]
pub(crate) unsafe fn sent(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    buffers: Buffers,
    bytes: usize,
    to: Address,
    begin: u64,
    end: u64,
) {
    // SAFETY: as the caller says.
    if !entry.is_named() && !unsafe { is_wanted(writer, fd, entry, to) } {
        return;
    }
    let datagram = Datagram {
        direction: Direction::Send,
        flow: entry.flow(),
        ticks: begin,
        duration: end - begin,
        bytes: bytes as u64,
        // SAFETY: as the caller says.
        checksum: unsafe { checksum(buffers, bytes) },
        flags: 0,
        // SAFETY: as the caller says.
        peer: unsafe { to.as_bytes() },
    };
    writer.datagram(&datagram, end);
    if entry.is_watched() {
        let (direction, flow, bytes) = (Direction::Send, entry.flow(), bytes as u64);
        let moved = Transfer { direction, flow, ticks: begin, bytes, duration: end - begin };
        // SAFETY: as the caller says.
        unsafe { watch::datagram(writer, &moved, buffers, end) };
    }
    if !entry.is_named() {
        names::bound(writer, fd, entry);
    }
}

/// Whether a socket without a name of its own choice is recorded. It is judged by the first address
/// that it sends to.
///
/// # Safety
/// `to` is readable.
#[cold]
#[inline(never)]
unsafe fn is_wanted(writer: Writer, fd: c_int, entry: Entry, to: Address) -> bool {
    // SAFETY: as the caller says.
    let peer = unsafe { Name::copy(to.start, to.length) };
    adopt::stays(writer, fd, entry, &Name::local(fd), &peer)
}

/// Logs a datagram that was received, or the end of a connection that keeps the bounds of messages.
///
/// # Safety
/// `buffers` hold what was received of it, and the sender's name is readable.
#[inline(always)]
pub(crate) unsafe fn received(
    writer: Writer,
    entry: Entry,
    buffers: Buffers,
    message: &ReceivedDatagram,
    begin: u64,
    end: u64,
) {
    if message.bytes == 0 && entry.has_end() {
        if !message.peeked {
            writer.record(&encode::end_of_file(end, entry.flow()), end);
        }
        return;
    }
    let mut flags = 0;
    if message.truncated {
        flags |= datagram_flag::TRUNCATED;
    }
    if message.peeked {
        flags |= datagram_flag::PEEKED;
    }
    let datagram = Datagram {
        direction: Direction::Receive,
        flow: entry.flow(),
        ticks: end,
        duration: end - begin,
        bytes: message.bytes as u64,
        // SAFETY: as the caller says.
        checksum: unsafe { checksum(buffers, message.bytes) },
        flags,
        // SAFETY: as the caller says.
        peer: unsafe { message.from.as_bytes() },
    };
    writer.datagram(&datagram, end);
    if entry.is_watched() {
        let (direction, flow, bytes) = (Direction::Receive, entry.flow(), message.bytes as u64);
        let moved = Transfer { direction, flow, ticks: end, bytes, duration: end - begin };
        let buffers = if message.peeked { Buffers::NONE } else { buffers };
        // SAFETY: as the caller says.
        unsafe { watch::datagram(writer, &moved, buffers, end) };
    }
}

/// CRC-32 of the first `bytes` bytes in `buffers`, or of all that they hold.
///
/// # Safety
/// The buffers are readable as far as that.
#[inline(always)]
unsafe fn checksum(buffers: Buffers, bytes: usize) -> u32 {
    let mut sum = 0;
    let mut rest = bytes;
    for index in 0..buffers.count {
        if rest == 0 {
            break;
        }
        // SAFETY: within the caller's array.
        let buffer = unsafe { *buffers.first.add(index) };
        let length = buffer.iov_len.min(rest);
        if length > 0 {
            // SAFETY: the kernel has just read or written this many bytes here.
            let bytes = unsafe { core::slice::from_raw_parts(buffer.iov_base.cast(), length) };
            sum = checksum::update(sum, bytes);
        }
        rest -= length;
    }
    sum
}
