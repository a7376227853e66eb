//! Positions of transfers in their streams, if the log overwrites its oldest part
//! (`SOCKCAP_WHEN_FULL=newest`).
//!
//! A reader finds the other end of a message by counting bytes from the stream's first one, and the
//! number of overwritten bytes is unknown. So the first transfer of each direction of a flow in a
//! chunk is preceded by a record of its position. A later transfer in the same chunk adjoins the
//! one before, unless another thread has moved bytes in between: then it has a position, too. Each
//! chunk can thus be read by itself, whichever other chunks are gone. All bytes moved by this
//! process are counted, whether their records were written or not.

use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use socket_log::encode::{self, Direction};
use socket_log::layout::NO_POSITION;

use super::{RecordWriter, StreamTransfer};
use crate::state;
use crate::state::options::recording_options;
use crate::tuning::COUNTED_FLOWS;

/// Numbers of bytes moved on one flow.
#[repr(C)]
struct FlowCounts {
    /// Number of the flow; 0 for none.
    flow: AtomicU32,
    sent: DirectionCounts,
    received: DirectionCounts,
}

/// Numbers of bytes moved in one direction of a flow.
#[repr(C)]
struct DirectionCounts {
    /// Number of bytes that have moved so far.
    total: AtomicU64,
    /// Chunk of the latest record and the position of its last byte, encoded by [`record_mark`]; 0
    /// if there is no record yet.
    latest: AtomicU64,
}

impl FlowCounts {
    fn counts_in(&self, direction: Direction) -> &DirectionCounts {
        match direction {
            Direction::Send => &self.sent,
            Direction::Receive => &self.received,
        }
    }
}

/// Counts of all flows; null if they are not needed.
static COUNTS: AtomicPtr<FlowCounts> = AtomicPtr::new(ptr::null_mut());

/// Maps the counts, if they are needed. Returns false if memory is lacking.
pub(crate) fn create_counts() -> bool {
    if recording_options().keeps_newest {
        let Some(memory) = state::private_to_process(COUNTED_FLOWS * size_of::<FlowCounts>())
        else {
            return false;
        };
        COUNTS.store(memory.cast(), Relaxed);
    }
    true
}

/// Counts at the place of `flow`, which may belong to another flow.
fn counts_of(flow: u32) -> Option<&'static FlowCounts> {
    let all = COUNTS.load(Relaxed);
    // SAFETY: null, or [`COUNTED_FLOWS`] counts, which stay mapped and in which zeros are valid.
    (!all.is_null()).then(|| unsafe { &*all.add(flow as usize % COUNTED_FLOWS) })
}

/// Begins to count a flow.
pub(crate) fn begin_flow(flow: u32) {
    if let Some(flow_counts) = counts_of(flow) {
        flow_counts.flow.store(0, Relaxed);
        for counts in [&flow_counts.sent, &flow_counts.received] {
            counts.total.store(0, Relaxed);
            counts.latest.store(0, Relaxed);
        }
        flow_counts.flow.store(flow, Relaxed);
    }
}

/// Begins to count a direction of a flow. `before` is the number of bytes that were moved before;
/// if it is not known, nothing is counted.
pub(crate) fn begin_flow_at(flow: u32, direction: Direction, before: Option<u64>) {
    let Some(flow_counts) = counts_of(flow).filter(|counts| counts.flow.load(Relaxed) == flow)
    else {
        return;
    };
    match before {
        Some(before) => flow_counts.counts_in(direction).total.store(before, Relaxed),
        None => flow_counts.flow.store(0, Relaxed),
    }
}

/// Writes a transfer as [`RecordWriter::transfer`] does, with its position if the log needs it.
pub(crate) fn write_transfer(writer: RecordWriter, moved: &StreamTransfer, now: u64) {
    if recording_options().keeps_newest {
        write_positioned(writer, moved, now);
    } else {
        let StreamTransfer { direction, flow, ticks, bytes, duration } = *moved;
        writer.transfer(direction, flow, ticks, bytes, duration, now);
    }
}

/// Writes a transfer with its position, and counts it.
fn write_positioned(writer: RecordWriter, moved: &StreamTransfer, now: u64) {
    let known =
        counts_of(moved.flow).filter(|flow_counts| flow_counts.flow.load(Relaxed) == moved.flow);
    let counts = known.map(|flow_counts| flow_counts.counts_in(moved.direction));
    let before = counts.map_or(NO_POSITION, |counts| counts.total.fetch_add(moved.bytes, Relaxed));
    let position = encode::position_record(now, moved.flow, moved.direction, before);
    // Checked again when the words of the record are reserved, since a signal handler may have
    // written a transfer meanwhile.
    let follows = |chunk| {
        counts.is_some_and(|counts| counts.latest.load(Relaxed) == record_mark(chunk, before))
    };
    let written = writer.transfer_after(position.as_slice(), follows, moved, now);
    if let (Some(counts), Some(chunk)) = (counts, written) {
        counts.latest.store(record_mark(chunk, before.wrapping_add(moved.bytes)), Relaxed);
    }
}

/// Hash that stands for a record in `chunk` that ends at the byte `end` of the stream; 0 if `end`
/// is 0, since no record precedes the first byte.
fn record_mark(chunk: u64, end: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    if end == 0 { 0 } else { (chunk ^ end.wrapping_mul(ODD)).wrapping_mul(ODD) | 1 }
}
