//! Watched sockets: optional data about a socket in addition to its messages. These are the
//! thread's CPU time after each message (`SOCKCAP_CPU`), the checksum of the first bytes of each
//! direction of a stream (`SOCKCAP_FINGERPRINT`), rare words of messages (unless `SOCKCAP_WORDS` is
//! 0), and snippets of messages (`SOCKCAP_PROTOCOLS`).
//!
//! A watched socket is marked in its descriptor's entry, which the hooks load anyway; so watching
//! costs nothing if it is off.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU64};

use crc32fast::Hasher;
use socket_log::encode::{self, Direction};

use super::{CallBuffers, WatchedTransfer, message_snippets, rare_words};
use crate::descriptors::table::DescriptorWord;
use crate::log::{RecordWriter, StreamTransfer, positions};
use crate::platform::raw;
use crate::state;
use crate::state::options::recording_options;
use crate::tuning::FINGERPRINTED_FLOWS;

/// Value in [`FINGERPRINTS`] of a direction whose fingerprint is logged or cannot be made.
const DONE: u64 = u32::MAX as u64;

/// Fingerprint of each flow and direction: the checksum of its first bytes in the high half, the
/// number of these bytes so far in the low half.
static FINGERPRINTS: AtomicPtr<[AtomicU64; 2]> = AtomicPtr::new(ptr::null_mut());

/// Maps the memory for the optional data of flows. Returns false if memory is lacking.
pub(crate) fn create_watches() -> bool {
    if recording_options().fingerprint > 0 {
        let Some(memory) =
            state::private_to_process(FINGERPRINTED_FLOWS * size_of::<[AtomicU64; 2]>())
        else {
            return false;
        };
        FINGERPRINTS.store(memory.cast(), Relaxed);
    }
    message_snippets::create_tables() && rare_words::create_tables()
}

/// Value in [`FINGERPRINTS`] of a direction of `flow`; `None` if fingerprints are not recorded.
fn fingerprint_of(flow: u32, direction: Direction) -> Option<&'static AtomicU64> {
    let all = FINGERPRINTS.load(Relaxed);
    if all.is_null() {
        return None;
    }
    // SAFETY: there are [`FINGERPRINTED_FLOWS`] pairs, zeros are valid, and they are never removed.
    let [send, receive] = unsafe { &*all.add(flow as usize % FINGERPRINTED_FLOWS) };
    Some(if direction == Direction::Send { send } else { receive })
}

/// Begins to watch a stream. If the stream was `found` in use, its first bytes are unknown, and no
/// fingerprint is made, unless the kernel says that there were none.
pub(crate) fn begin_watch(fd: c_int, flow: u32, found: bool) {
    message_snippets::begin_following(fd, flow, found);
    if recording_options().fingerprint == 0 {
        return;
    }
    let (sent, received) = if found { raw::is_fresh_stream(fd) } else { (true, true) };
    for (direction, is_fresh) in [(Direction::Send, sent), (Direction::Receive, received)] {
        if let Some(place) = fingerprint_of(flow, direction) {
            place.store(if is_fresh { 0 } else { DONE }, Relaxed);
        }
    }
}

/// Writes a transfer of a watched stream, and the optional data about the transfer. Inlined: the
/// called functions have stack frames of their own.
///
/// # Safety
/// The buffers are readable as far as the transfer has bytes.
#[inline(always)]
pub(crate) unsafe fn log_moved(moved: &WatchedTransfer) {
    let options = recording_options();
    // SAFETY: as the caller guarantees.
    unsafe {
        if options.watches_words_alone {
            log_moved_with_words(moved);
        } else if options.watches_heads_alone {
            log_moved_with_heads(moved);
        } else {
            log_moved_all(moved);
        }
    }
}

/// Writes a transfer and its rare words.
///
/// # Safety
/// As for [`log_moved`].
#[inline(never)]
unsafe fn log_moved_with_words(moved: &WatchedTransfer) {
    write_transfer(moved);
    // SAFETY: as the caller guarantees.
    unsafe { rare_words::log_words(moved) }
}

/// Writes a transfer, in a chunk that has room for its rare words.
#[inline(always)]
fn write_transfer(moved: &WatchedTransfer) {
    let StreamTransfer { direction, flow, ticks, bytes, duration } = moved.transfer;
    let _full_chunk = moved.writer.make_room_for_words(moved.now);
    moved.writer.transfer(direction, flow, ticks, bytes, duration, moved.now);
}

/// Writes a transfer and its snippets.
///
/// # Safety
/// As for [`log_moved`].
#[cold]
#[inline(never)]
unsafe fn log_moved_with_heads(moved: &WatchedTransfer) {
    let StreamTransfer { direction, flow, ticks, bytes, duration } = moved.transfer;
    moved.writer.transfer(direction, flow, ticks, bytes, duration, moved.now);
    // SAFETY: as the caller guarantees.
    unsafe { message_snippets::keep_snippets(moved) };
}

/// Writes a transfer with those of its position, rare words, fingerprint, CPU time and snippets
/// that are recorded.
///
/// # Safety
/// As for [`log_moved`].
#[cold]
#[inline(never)]
unsafe fn log_moved_all(moved: &WatchedTransfer) {
    write_positioned_transfer(moved);
    // SAFETY: as the caller guarantees.
    unsafe { log_words_and_fingerprint(moved) };
    log_cpu_time(moved.writer, moved.now);
    // SAFETY: as the caller guarantees.
    unsafe { log_snippets_only(moved) };
}

/// Writes a transfer, with its position if positions are recorded, in a stack frame of its own.
#[inline(never)]
fn write_positioned_transfer(moved: &WatchedTransfer) {
    let WatchedTransfer { writer, ref transfer, now, .. } = *moved;
    // In a flight recorder, a record with a position may begin a new chunk; then words may be lost.
    let _full_chunk = (!recording_options().keeps_newest).then(|| writer.make_room_for_words(now));
    positions::write_transfer(writer, transfer, now);
}

/// Writes the rare words and the fingerprint of a transfer, in a stack frame of its own.
///
/// # Safety
/// As for [`log_moved`].
#[inline(never)]
unsafe fn log_words_and_fingerprint(moved: &WatchedTransfer) {
    let WatchedTransfer { writer, ref transfer, buffers, now } = *moved;
    let StreamTransfer { direction, flow, bytes, .. } = *transfer;
    // SAFETY: as the caller guarantees.
    unsafe {
        rare_words::log_words(moved);
        update_fingerprint(writer, flow, direction, buffers, bytes as usize, now);
    }
}

/// Writes the snippets of a transfer to the log, in a stack frame of its own, since the preceding
/// writes need much of the stack, too.
///
/// # Safety
/// As for [`log_moved`].
#[inline(never)]
unsafe fn log_snippets_only(moved: &WatchedTransfer) {
    // SAFETY: as the caller guarantees.
    unsafe { message_snippets::keep_snippets(moved) };
}

/// Writes a transfer of a watched stream whose bytes never were in the program's memory. The
/// direction's fingerprint ends before it.
#[cold]
#[inline(never)]
pub(crate) fn log_moved_without_buffers(writer: RecordWriter, moved: &StreamTransfer, now: u64) {
    positions::write_transfer(writer, moved, now);
    if let Some(place) = fingerprint_of(moved.flow, moved.direction) {
        let before = place.swap(DONE, Relaxed);
        log_fingerprint(writer, moved.flow, moved.direction, before, now);
    }
    log_cpu_time(writer, now);
    message_snippets::pass_transfer(moved);
    rare_words::pass_transfer(moved);
}

/// Writes the optional data about a datagram of a watched socket. The datagram lies in `buffers`,
/// which are empty if it was only peeked at.
///
/// # Safety
/// The buffers are readable up to the end of the datagram, or up to their own end.
#[inline(never)]
pub(crate) unsafe fn log_datagram(
    writer: RecordWriter,
    moved: &StreamTransfer,
    buffers: CallBuffers,
    now: u64,
) {
    // SAFETY: as the caller guarantees.
    unsafe { rare_words::log_datagram_words(writer, moved, buffers) };
    log_cpu_time(writer, now);
    // SAFETY: as the caller guarantees.
    unsafe { message_snippets::keep_datagram(writer, moved, buffers, now) };
}

/// Logs the unfinished fingerprints of a flow when a descriptor of it is closed, since there may be
/// no more bytes.
#[cold]
#[inline(never)]
pub(crate) fn log_closed(writer: RecordWriter, entry: DescriptorWord, now: u64) {
    for direction in [Direction::Send, Direction::Receive] {
        if let Some(place) = fingerprint_of(entry.flow(), direction) {
            log_fingerprint(writer, entry.flow(), direction, place.load(Relaxed), now);
        }
    }
}

/// Logs the CPU time of the calling thread, if it is recorded.
#[inline(never)]
fn log_cpu_time(writer: RecordWriter, now: u64) {
    if recording_options().cpu
        && let Some(nanoseconds) = raw::thread_cpu_time()
    {
        writer.record(&encode::cpu_time_record(now, nanoseconds), now);
    }
}

/// Adds the bytes of a transfer to the fingerprint of its direction, and logs the fingerprint when
/// it has as many bytes as the user asked for.
///
/// # Safety
/// The buffers are readable for `bytes` bytes, or up to their end.
unsafe fn update_fingerprint(
    writer: RecordWriter,
    flow: u32,
    direction: Direction,
    buffers: CallBuffers,
    bytes: usize,
    now: u64,
) {
    let Some(place) = fingerprint_of(flow, direction) else { return };
    let before = place.load(Relaxed);
    if before == DONE {
        return;
    }
    let wanted = recording_options().fingerprint.saturating_sub(before as u32) as usize;
    let mut rest = wanted.min(bytes);
    let taken = rest;
    let mut hasher = Hasher::new_with_initial((before >> 32) as u32);
    for index in 0..buffers.count {
        // SAFETY: within the caller's array.
        let buffer = unsafe { *buffers.first.add(index) };
        let length = buffer.iov_len.min(rest);
        if length > 0 {
            // SAFETY: the kernel has just read or written this many bytes here.
            hasher.update(unsafe { core::slice::from_raw_parts(buffer.iov_base.cast(), length) });
        }
        rest -= length;
    }
    let after = u64::from(hasher.finalize()) << 32 | u64::from(before as u32 + taken as u32);
    // The exchange fails if two threads use one direction at the same time: then the order of their
    // bytes is unknown.
    let is_whole = taken == wanted;
    let kept =
        place.compare_exchange(before, if is_whole { DONE } else { after }, Relaxed, Relaxed);
    match kept {
        Ok(_) if is_whole => log_fingerprint(writer, flow, direction, after, now),
        Ok(_) => {}
        Err(_) => place.store(DONE, Relaxed),
    }
}

/// Writes the record of a fingerprint, unless `value` is [`DONE`] or there were no bytes.
fn log_fingerprint(writer: RecordWriter, flow: u32, direction: Direction, value: u64, now: u64) {
    if value != DONE && value != 0 {
        let record =
            encode::fingerprint_record(now, flow, direction, value as u32, (value >> 32) as u32);
        writer.record(&record, now);
    }
}
