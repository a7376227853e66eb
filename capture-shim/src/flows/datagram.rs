//! Datagrams: size, checksum and peer of each, whichever call moved it.
//!
//! The checksum identifies a datagram at the other end, where order and number prove nothing. It is
//! computed from the caller's own buffers after the call, so it delays nothing that other processes
//! wait for.

use core::ffi::c_int;

use socket_log::encode::{self, DatagramRecord, Direction, datagram_flag};

use super::{
    CallBuffers, CallerAddress, ControlData, OutgoingMessage, adopt, names, segments, watch,
};
use crate::descriptors::RawSocketName;
use crate::descriptors::table::DescriptorWord;
use crate::log::{self, RecordWriter, StreamTransfer};
use crate::platform::checksum;

/// Facts about a received datagram, as the receiving call reports them.
pub(crate) struct ReceivedDatagram {
    /// Whole size of the datagram, as far as it is known, in bytes.
    pub(crate) bytes: usize,
    /// Whether a part of the datagram was cut off.
    pub(crate) truncated: bool,
    /// Whether the datagram stays in the queue.
    pub(crate) peeked: bool,
    /// Sender's address.
    pub(crate) from: CallerAddress,
    /// Size of the datagrams that the kernel has joined, in bytes; 0 if it is one datagram.
    pub(crate) size: usize,
}

impl ReceivedDatagram {
    /// A datagram with only its size, `bytes`, reported by the call.
    pub(crate) fn from_byte_count(bytes: usize) -> ReceivedDatagram {
        let from = CallerAddress::NONE;
        ReceivedDatagram { bytes, truncated: false, peeked: false, from, size: 0 }
    }
}

/// Logs a datagram that was sent, or the datagrams into which the kernel has split a send, and the
/// socket's own name if this send bound the socket.
///
/// # Safety
/// The buffers hold the datagram; its address and control data are readable.
#[inline(always)]
pub(crate) unsafe fn log_sent(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    outgoing: OutgoingMessage,
    bytes: usize,
    begin: u64,
    end: u64,
) {
    let OutgoingMessage { buffers, to, control } = outgoing;
    // SAFETY: as the caller guarantees.
    if !entry.is_named() && !unsafe { is_selected(writer, fd, entry, to) } {
        return;
    }
    let mut datagram = DatagramRecord {
        direction: Direction::Send,
        flow: entry.flow(),
        ticks: begin,
        duration: end - begin,
        bytes: bytes as u64,
        checksum: 0,
        flags: 0,
        // SAFETY: as the caller guarantees.
        peer: unsafe { to.as_bytes() },
    };
    // SAFETY: as the caller guarantees.
    unsafe {
        let may_be_split = !control.is_empty() || entry.splits_sends();
        if !may_be_split || !log_segmented(fd, entry, buffers, control, &datagram) {
            datagram.checksum = checksum_of(buffers, bytes);
            log_one(writer, entry, &datagram, buffers, end);
        }
    }
    if !entry.is_named() {
        names::log_bound(writer, fd, entry);
    }
}

/// Logs the datagrams into which the kernel has split a send, which `all` describes as a whole.
/// Returns false, and logs nothing, if there is only one datagram.
///
/// # Safety
/// As for [`log_sent`].
#[cold]
#[inline(never)]
unsafe fn log_segmented(
    fd: c_int,
    entry: DescriptorWord,
    buffers: CallBuffers,
    control: ControlData,
    all: &DatagramRecord,
) -> bool {
    // SAFETY: as the caller guarantees.
    let size = unsafe { segments::size_sent(fd, entry, control) };
    let is_split = size != 0 && all.bytes > size as u64;
    if is_split {
        // SAFETY: as the caller guarantees.
        unsafe { log_segments(entry, all, buffers, size, all.ticks + all.duration) };
    }
    is_split
}

/// Logs the datagrams, `size` bytes each, that one call has moved. `all` describes them as a whole.
///
/// # Safety
/// `buffers` are readable for the bytes that were moved, as far as they had room for them.
#[inline(never)]
unsafe fn log_segments(
    entry: DescriptorWord,
    all: &DatagramRecord,
    buffers: CallBuffers,
    size: usize,
    end: u64,
) {
    let Some(writer) = log::current_writer() else { return };
    // SAFETY: as the caller guarantees.
    let capacity = unsafe { buffers.capacity() };
    for (at, bytes) in segments::segment_ranges(all.bytes as usize, size) {
        let is_cut_off = at + bytes > capacity;
        let kept = if is_cut_off { all.flags } else { all.flags & !datagram_flag::TRUNCATED };
        // SAFETY: as the caller guarantees.
        unsafe {
            let checksum = checksum_after(buffers, at, bytes);
            let piece = DatagramRecord { bytes: bytes as u64, checksum, flags: kept, ..*all };
            let beginning = buffers.slice_after(at);
            log_one(writer, entry, &piece, CallBuffers { first: &beginning, count: 1 }, end);
        }
    }
}

/// Logs one datagram, which begins at the start of the buffers.
///
/// # Safety
/// The buffers are readable as far as they hold the datagram.
#[inline(always)]
unsafe fn log_one(
    writer: RecordWriter,
    entry: DescriptorWord,
    datagram: &DatagramRecord,
    buffers: CallBuffers,
    end: u64,
) {
    {
        let _full_chunk = entry.is_watched().then(|| writer.make_room_for_words(end));
        writer.datagram(datagram, end);
    }
    if entry.is_watched() {
        let DatagramRecord { direction, flow, ticks, bytes, duration, flags, .. } = *datagram;
        let moved = StreamTransfer { direction, flow, ticks, bytes, duration };
        let is_peeked = flags & datagram_flag::PEEKED != 0;
        let buffers = if is_peeked { CallBuffers::NONE } else { buffers };
        // SAFETY: as the caller guarantees.
        unsafe { watch::log_datagram(writer, &moved, buffers, end) };
    }
}

/// Whether an automatically named socket is recorded, judged by the first address that it sends to.
///
/// # Safety
/// `to` is readable.
#[cold]
#[inline(never)]
unsafe fn is_selected(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    to: CallerAddress,
) -> bool {
    // SAFETY: as the caller guarantees.
    let peer = unsafe { RawSocketName::copy_from(to.start, to.length) };
    adopt::keep_if_selected(writer, fd, entry, &RawSocketName::local_name(fd), &peer)
}

/// Logs a datagram that was received, or the datagrams that the kernel has joined, or the end of a
/// connection that preserves message boundaries.
///
/// # Safety
/// `buffers` hold the received part, and the sender's name is readable.
#[inline(always)]
pub(crate) unsafe fn log_received(
    writer: RecordWriter,
    entry: DescriptorWord,
    buffers: CallBuffers,
    message: &ReceivedDatagram,
    begin: u64,
    end: u64,
) {
    if message.bytes == 0 && entry.has_end() {
        if !message.peeked {
            writer.record(&encode::end_of_file_record(end, entry.flow()), end);
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
    let mut datagram = DatagramRecord {
        direction: Direction::Receive,
        flow: entry.flow(),
        ticks: end,
        duration: end - begin,
        bytes: message.bytes as u64,
        checksum: 0,
        flags,
        // SAFETY: as the caller guarantees.
        peer: unsafe { message.from.as_bytes() },
    };
    // SAFETY: as the caller guarantees.
    unsafe {
        if message.size == 0 || message.bytes <= message.size {
            datagram.checksum = checksum_of(buffers, message.bytes);
            log_one(writer, entry, &datagram, buffers, end);
        } else {
            log_segments(entry, &datagram, buffers, message.size, end);
        }
    }
}

/// CRC-32 of the first `bytes` bytes in `buffers`, or of all bytes if there are fewer.
///
/// # Safety
/// The buffers are readable for `bytes` bytes, or up to their end.
#[inline(always)]
unsafe fn checksum_of(buffers: CallBuffers, bytes: usize) -> u32 {
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
            sum = checksum::update_crc32(sum, bytes);
        }
        rest -= length;
    }
    sum
}

/// CRC-32 of `bytes` bytes after the first `skipped` ones, or of all bytes after them if there are
/// fewer.
///
/// # Safety
/// As for [`checksum_of`].
unsafe fn checksum_after(buffers: CallBuffers, skipped: usize, bytes: usize) -> u32 {
    let mut sum = 0;
    let mut before = skipped;
    // SAFETY: as the caller guarantees.
    for slice in unsafe { buffers.filled_slices(skipped + bytes) } {
        let passed = slice.len().min(before);
        before -= passed;
        sum = checksum::update_crc32(sum, slice.get(passed..).unwrap_or(&[]));
    }
    sum
}
