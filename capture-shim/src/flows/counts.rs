//! The kernel's byte counts of streams that were found in use. A reader of logs finds the other end
//! of a message by counting bytes from the stream's first one, and only the kernel knows how many
//! preceded the library.
//!
//! The counts are queried before the first transfer of each direction, since until then a call that
//! began before the library was loaded may still move bytes, and once more when the descriptor is
//! closed: then the kernel's and the library's count agree if no byte went unseen.

use core::ffi::c_int;

use socket_log::encode::{self, Direction};
use socket_log::layout::NO_POSITION;

use super::{closing, queues, resolve};
use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::log::{self, RecordWriter, positions};
use crate::platform::{clock, raw};

/// Entry of `fd` for a transfer in this direction, as [`resolve::resolve_entry`] finds it. Before
/// the first transfer on a stream that was found in use, the kernel's count is logged.
#[inline(always)]
pub(crate) fn resolve_counted(
    fd: c_int,
    entry: DescriptorWord,
    direction: Direction,
) -> DescriptorWord {
    if entry.is_ambiguous_or_uncounted() {
        resolve_counted_slow(fd, entry, direction)
    } else {
        entry
    }
}

/// Resolves an entry that is ambiguous or uncounted, as [`resolve_counted`] does.
#[cold]
#[inline(never)]
fn resolve_counted_slow(fd: c_int, entry: DescriptorWord, direction: Direction) -> DescriptorWord {
    let mut entry = resolve::resolve_entry(fd, entry);
    // A descriptor that is not a socket must not be the reason for which a log is begun.
    let is_unix = queues::is_sampled(entry);
    if !is_unix && entry.as_counted(direction).is_none() {
        return entry;
    }
    let Some(writer) = log::current_writer() else { return entry };
    if is_unix {
        return queues::sample_if_due(writer, fd, entry, direction);
    }
    // The entry may change in between, when another thread names or counts it. It has only few
    // possible successors.
    const MAX_CHANGES: usize = 8;
    for _ in 0..MAX_CHANGES {
        let Some(counted) = entry.as_counted(direction) else { break };
        // The count is logged before another thread continues with a transfer of its own.
        let now = clock::current_ticks();
        let before = kernel_count(fd, direction);
        match table::replace_entry(writer.state(), fd, entry, counted) {
            Ok(()) => {
                positions::begin_flow_at(entry.flow(), direction, before);
                log_count(writer, now, entry, direction, before, true);
                return counted;
            }
            Err(other) => entry = other,
        }
    }
    entry
}

/// Clears the entry of `fd`, which is about to be closed, and logs the close, after the counts of a
/// stream that was found in use. `fd` is negative for none.
#[inline(always)]
pub(crate) fn log_final_and_forget(fd: c_int) {
    let entry = table::get_entry(fd);
    if fd >= 0 && entry != DescriptorWord::UNKNOWN {
        log_final(fd, entry);
        closing::forget_descriptor(fd);
    }
}

/// Logs the counts of a stream that was found in use, before its descriptor is closed.
#[inline(always)]
pub(crate) fn log_final(fd: c_int, entry: DescriptorWord) {
    if entry.is_found() && entry.kind() == DescriptorKind::Stream {
        log_final_slow(fd, entry);
    }
}

#[cold]
#[inline(never)]
fn log_final_slow(fd: c_int, entry: DescriptorWord) {
    let Some(writer) = log::current_writer() else { return };
    if queues::is_sampled(entry) {
        return queues::sample_before_close(writer, fd, entry);
    }
    for direction in [Direction::Send, Direction::Receive] {
        // If nothing was moved, there is nothing to compare.
        if entry.as_counted(direction).is_none()
            && let Some(count) = kernel_count(fd, direction)
        {
            log_count(writer, clock::current_ticks(), entry, direction, Some(count), false);
        }
    }
}

/// The kernel's count of the bytes of one direction; `None` if it is not known.
fn kernel_count(fd: c_int, direction: Direction) -> Option<u64> {
    match direction {
        Direction::Send => raw::bytes_sent(fd),
        Direction::Receive => raw::bytes_received(fd),
    }
}

/// Logs the kernel's count of the bytes of one direction: before the first transfer if `begins`,
/// otherwise before the descriptor is closed.
fn log_count(
    writer: RecordWriter,
    now: u64,
    entry: DescriptorWord,
    direction: Direction,
    count: Option<u64>,
    begins: bool,
) {
    let count = count.unwrap_or(NO_POSITION);
    writer.record(&encode::byte_count_record(now, entry.flow(), direction, count, begins), now);
}
