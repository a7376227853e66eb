//! Samples the receive queues of unix streams that were found in use. The kernel does not count
//! their bytes as it does for TCP. But once both ends are recorded, the bytes sent by one end,
//! received by the other, and held by the queue in between show which bytes correspond.
//!
//! The queue is sampled before calls of the end that receives from it: at that moment its thread
//! receives nothing. It is unknown when the recording of the other end begins, so samples are taken
//! from time to time as long as the descriptor is used, and one before it is closed. They are most
//! reliable when it is this end's turn, since the other end mostly waits then. Reconciliation uses
//! the samples at which no call was under way.

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::{self, Direction};

use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::log::RecordWriter;
use crate::platform::{clock, raw};
use crate::tuning::{BETWEEN_LOOKS, FIRST_LOOKS, FLOWS_WITH_QUEUES, WITHIN_TURNS};

/// By flow, the ticks of the latest sample, the number of samples up to [`MAX_LOOKS_COUNTED`], and
/// whether the latest call was a receive, in the form of [`Latest::word`].
static LATEST: [AtomicU64; FLOWS_WITH_QUEUES] = [const { AtomicU64::new(0) }; FLOWS_WITH_QUEUES];

/// Largest number of samples that is counted.
const MAX_LOOKS_COUNTED: u64 = 63;

/// State of the sampling of a queue.
struct Latest {
    ticks: u64,
    looks: u64,
    received: bool,
}

impl Latest {
    fn of(word: u64) -> Latest {
        Latest { ticks: word >> 7, looks: word >> 1 & MAX_LOOKS_COUNTED, received: word & 1 != 0 }
    }

    fn word(&self) -> u64 {
        self.ticks << 7 | self.looks << 1 | u64::from(self.received)
    }

    /// Whether another sample is due, before a call that receives, or sends.
    fn is_due(&self, now: u64, receives: bool) -> bool {
        let since = now.saturating_sub(self.ticks);
        let is_turn = receives != self.received;
        let is_soon = self.looks < FIRST_LOOKS || since >= BETWEEN_LOOKS;
        is_turn && is_soon || since >= WITHIN_TURNS
    }
}

/// Whether the queue of a descriptor is sampled: whether it is a unix stream that was found in use.
pub(super) fn are_looked_at(entry: DescriptorWord) -> bool {
    entry.is_found() && entry.kind() == DescriptorKind::Stream && entry.domain() == libc::AF_UNIX
}

/// Samples the queue of `fd`, if a sample is due, before a call in this direction. Returns the
/// entry of the descriptor, for further samples.
pub(super) fn look(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    direction: Direction,
) -> DescriptorWord {
    let is_first = entry.as_counted(Direction::Receive).is_some();
    // A receive that began before the library was loaded may take bytes unseen until the next
    // receive.
    if is_first && direction == Direction::Send {
        return entry;
    }
    let now = clock::current_ticks();
    let Some(latest) = LATEST.get(entry.flow() as usize % FLOWS_WITH_QUEUES) else { return entry };
    let nothing = Latest { ticks: 0, looks: 0, received: false };
    let before = if is_first { nothing } else { Latest::of(latest.load(Relaxed)) };
    let receives = direction == Direction::Receive;
    let is_due = is_first || before.is_due(now, receives);
    let (ticks, looks) = if is_due {
        (now, MAX_LOOKS_COUNTED.min(before.looks + 1))
    } else {
        (before.ticks, before.looks)
    };
    latest.store(Latest { ticks, looks, received: receives }.word(), Relaxed);
    if is_due {
        ask(writer, fd, entry, now);
    }
    match entry.as_counted(Direction::Receive) {
        // The replacement fails if another thread has made it, or the descriptor was closed
        // meanwhile.
        Some(known) => match table::replace_entry(writer.state(), fd, entry, known) {
            Ok(()) => known,
            Err(other) => other,
        },
        None => entry,
    }
}

/// Samples the queue of a descriptor that is about to be closed.
pub(super) fn look_finally(writer: RecordWriter, fd: c_int, entry: DescriptorWord) {
    if entry.as_counted(Direction::Receive).is_none() {
        ask(writer, fd, entry, clock::current_ticks());
    }
}

/// Logs how many bytes the queue holds.
fn ask(writer: RecordWriter, fd: c_int, entry: DescriptorWord, now: u64) {
    let Some(bytes) = raw::bytes_unread(fd) else { return };
    let end = clock::current_ticks();
    let took = u32::try_from(end.saturating_sub(now)).unwrap_or(u32::MAX);
    writer.record(&encode::queued(now, entry.flow(), bytes, took), end);
}
