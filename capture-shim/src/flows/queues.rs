//! Samples the receive queues of unix streams that were found in use. The kernel does not count
//! their bytes as it does for TCP. But once both ends are recorded, the bytes sent by one end, the
//! bytes received by the other, and the bytes in the queue in between show which bytes correspond.
//!
//! The queue is sampled before calls of the end that receives from it: at that moment the end's
//! thread receives nothing. It is unknown when the recording of the other end begins, so samples
//! are taken from time to time as long as the descriptor is used, and one before it is closed. A
//! sample is most reliable when the direction of the calls changes, since the other end mostly
//! waits then. Reconciliation uses the samples at which no call was under way.

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::{self, Direction};

use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::log::RecordWriter;
use crate::platform::{clock, raw};
use crate::tuning::{
    FIRST_QUEUE_SAMPLES, FLOWS_WITH_QUEUES, TICKS_BETWEEN_SAMPLES, TICKS_BETWEEN_SAMPLES_OF_TURN,
};

/// By flow, the ticks of the latest sample, the number of samples up to [`MAX_COUNTED_SAMPLES`],
/// and whether the latest call was a receive, in the form of [`SamplingState::word`].
static SAMPLING_STATES: [AtomicU64; FLOWS_WITH_QUEUES] =
    [const { AtomicU64::new(0) }; FLOWS_WITH_QUEUES];

/// Largest number of samples that is counted.
const MAX_COUNTED_SAMPLES: u64 = 63;

/// State of the sampling of a queue.
struct SamplingState {
    /// Time of the latest sample, in ticks.
    ticks: u64,
    /// Number of samples, up to [`MAX_COUNTED_SAMPLES`].
    samples: u64,
    /// Whether the latest call was a receive.
    received: bool,
}

impl SamplingState {
    fn from_word(word: u64) -> SamplingState {
        SamplingState {
            ticks: word >> 7,
            samples: word >> 1 & MAX_COUNTED_SAMPLES,
            received: word & 1 != 0,
        }
    }

    fn word(&self) -> u64 {
        self.ticks << 7 | self.samples << 1 | u64::from(self.received)
    }

    /// Whether another sample is due before a call at the time `now`. `receives` is whether the
    /// call receives.
    fn is_due(&self, now: u64, receives: bool) -> bool {
        let since = now.saturating_sub(self.ticks);
        let is_turn = receives != self.received;
        let may_repeat = self.samples < FIRST_QUEUE_SAMPLES || since >= TICKS_BETWEEN_SAMPLES;
        is_turn && may_repeat || since >= TICKS_BETWEEN_SAMPLES_OF_TURN
    }
}

/// Whether the queue of a descriptor is sampled: the descriptor is a unix stream that was found in
/// use.
pub(super) fn is_sampled(entry: DescriptorWord) -> bool {
    entry.is_found() && entry.kind() == DescriptorKind::Stream && entry.domain() == libc::AF_UNIX
}

/// Samples the queue of `fd`, if a sample is due, before a call in this direction. Returns the
/// descriptor's entry, in which the first sample is noted.
pub(super) fn sample_if_due(
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
    let Some(latest) = SAMPLING_STATES.get(entry.flow() as usize % FLOWS_WITH_QUEUES) else {
        return entry;
    };
    let nothing = SamplingState { ticks: 0, samples: 0, received: false };
    let before = if is_first { nothing } else { SamplingState::from_word(latest.load(Relaxed)) };
    let receives = direction == Direction::Receive;
    let is_due = is_first || before.is_due(now, receives);
    let (ticks, samples) = if is_due {
        (now, MAX_COUNTED_SAMPLES.min(before.samples + 1))
    } else {
        (before.ticks, before.samples)
    };
    latest.store(SamplingState { ticks, samples, received: receives }.word(), Relaxed);
    if is_due {
        log_sample(writer, fd, entry, now);
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
pub(super) fn sample_before_close(writer: RecordWriter, fd: c_int, entry: DescriptorWord) {
    if entry.as_counted(Direction::Receive).is_none() {
        log_sample(writer, fd, entry, clock::current_ticks());
    }
}

/// Logs how many bytes are in the receive queue of `fd`.
fn log_sample(writer: RecordWriter, fd: c_int, entry: DescriptorWord, now: u64) {
    let Some(bytes) = raw::bytes_unread(fd) else { return };
    let end = clock::current_ticks();
    let took = u32::try_from(end.saturating_sub(now)).unwrap_or(u32::MAX);
    writer.record(&encode::queued_record(now, entry.flow(), bytes, took), end);
}
