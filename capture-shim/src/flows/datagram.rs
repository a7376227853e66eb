//! Datagrams: size, checksum and peer of each, whichever call moved it.
//!
//! The checksum finds a datagram at the other end, where order and number prove nothing. It is made
//! of the caller's own buffers behind the call, so it delays nothing that others wait for.

use core::ffi::c_int;

use socket_log::encode::{self, Datagram, Direction, datagram_flag};

use super::{Address, Buffers, Control, Outgoing, adopt, names, segments, watch};
use crate::descriptors::Name;
use crate::descriptors::table::Entry;
use crate::log::{self, Transfer, Writer};
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
    /// Size of the datagrams that the kernel has joined, in bytes; 0 where it is one datagram.
    pub(crate) size: usize,
}

impl ReceivedDatagram {
    /// A datagram where the call tells nothing but its size, `bytes`.
    pub(crate) fn of_bytes(bytes: usize) -> ReceivedDatagram {
        let from = Address::NONE;
        ReceivedDatagram { bytes, truncated: false, peeked: false, from, size: 0 }
    }
}

/// Logs a datagram that was sent, or those that the kernel has cut a send into, and the socket's
/// own name if this send was what bound it.
///
/// # Safety
/// The buffers hold the datagram; its address and control data are readable.
#[inline(always)]
pub(crate) unsafe fn sent(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    outgoing: Outgoing,
    bytes: usize,
    begin: u64,
    end: u64,
) {
    let Outgoing { buffers, to, control } = outgoing;
    // SAFETY: as the caller says.
    if !entry.is_named() && !unsafe { is_wanted(writer, fd, entry, to) } {
        return;
    }
    let mut datagram = Datagram {
        direction: Direction::Send,
        flow: entry.flow(),
        ticks: begin,
        duration: end - begin,
        bytes: bytes as u64,
        checksum: 0,
        flags: 0,
        // SAFETY: as the caller says.
        peer: unsafe { to.as_bytes() },
    };
    // SAFETY: as the caller says.
    unsafe {
        let may_be_cut = !control.is_empty() || entry.is_cut();
        if !may_be_cut || !sent_cut(fd, entry, buffers, control, &datagram) {
            datagram.checksum = checksum(buffers, bytes);
            log_one(writer, entry, &datagram, buffers, end);
        }
    }
    if !entry.is_named() {
        names::bound(writer, fd, entry);
    }
}

/// Logs the datagrams that the kernel has cut a send into. False where it is one.
///
/// # Safety
/// As [`sent`].
#[cold]
#[inline(never)]
unsafe fn sent_cut(
    fd: c_int,
    entry: Entry,
    buffers: Buffers,
    control: Control,
    all: &Datagram,
) -> bool {
    // SAFETY: as the caller says.
    let size = unsafe { segments::size_sent(fd, entry, control) };
    let is_cut = size != 0 && all.bytes > size as u64;
    if is_cut {
        // SAFETY: as the caller says.
        unsafe { log_pieces(entry, all, buffers, size, all.ticks + all.duration) };
    }
    is_cut
}

/// Logs the datagrams, `size` bytes long, that a call has moved at once.
///
/// # Safety
/// The buffers are readable as far as they hold them.
#[inline(never)]
unsafe fn log_pieces(entry: Entry, all: &Datagram, buffers: Buffers, size: usize, end: u64) {
    let Some(writer) = log::writer() else { return };
    // SAFETY: as the caller says.
    let capacity = unsafe { buffers.capacity() };
    for (at, bytes) in segments::pieces(all.bytes as usize, size) {
        let is_cut_off = at + bytes > capacity;
        let kept = if is_cut_off { all.flags } else { all.flags & !datagram_flag::TRUNCATED };
        // SAFETY: as the caller says.
        unsafe {
            let checksum = checksum_behind(buffers, at, bytes);
            let piece = Datagram { bytes: bytes as u64, checksum, flags: kept, ..*all };
            let beginning = buffers.behind(at);
            log_one(writer, entry, &piece, Buffers { first: &beginning, count: 1 }, end);
        }
    }
}

/// Logs one datagram, which begins where the buffers do.
///
/// # Safety
/// The buffers are readable as far as they hold it.
#[inline(always)]
unsafe fn log_one(writer: Writer, entry: Entry, datagram: &Datagram, buffers: Buffers, end: u64) {
    writer.datagram(datagram, end);
    if entry.is_watched() {
        let Datagram { direction, flow, ticks, bytes, duration, flags, .. } = *datagram;
        let moved = Transfer { direction, flow, ticks, bytes, duration };
        let is_peeked = flags & datagram_flag::PEEKED != 0;
        let buffers = if is_peeked { Buffers::NONE } else { buffers };
        // SAFETY: as the caller says.
        unsafe { watch::datagram(writer, &moved, buffers, end) };
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

/// Logs a datagram that was received, or those that the kernel has joined, or the end of a
/// connection that keeps the bounds of messages.
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
    let mut datagram = Datagram {
        direction: Direction::Receive,
        flow: entry.flow(),
        ticks: end,
        duration: end - begin,
        bytes: message.bytes as u64,
        checksum: 0,
        flags,
        // SAFETY: as the caller says.
        peer: unsafe { message.from.as_bytes() },
    };
    // SAFETY: as the caller says.
    unsafe {
        if message.size == 0 || message.bytes <= message.size {
            datagram.checksum = checksum(buffers, message.bytes);
            log_one(writer, entry, &datagram, buffers, end);
        } else {
            log_pieces(entry, &datagram, buffers, message.size, end);
        }
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

/// CRC-32 of `bytes` bytes behind the first `skipped` ones, or of all of them that there are.
///
/// # Safety
/// As [`checksum`].
unsafe fn checksum_behind(buffers: Buffers, skipped: usize, bytes: usize) -> u32 {
    let mut sum = 0;
    let mut before = skipped;
    // SAFETY: as the caller says.
    for slice in unsafe { buffers.filled(skipped + bytes) } {
        let passed = slice.len().min(before);
        before -= passed;
        sum = checksum::update(sum, slice.get(passed..).unwrap_or(&[]));
    }
    sum
}
