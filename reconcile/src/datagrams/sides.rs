//! Sides: the send or one receive of a datagram, as recorded at one end. The sides that take part
//! in a matching pass are sorted by the key that both ends share: groups of one key, and in them
//! classes of one socket and peer.

use std::ops::Range;

use out_of_core::SpillableVec;

use crate::datagrams::fifo_matching::TimeSequence;
use crate::indices::{OptionalIndex, SocketIndex};
use crate::socket_names::SocketNameId;

/// The send or receive of a datagram, with its sort key.
#[derive(Clone, Copy)]
pub(super) struct DatagramSide {
    /// Destination, checksum and size, as far as the pass compares them.
    pub(super) key: (u64, u32, u32),
    /// Time of the call, in nanoseconds.
    pub(super) time: i64,
    /// Facts that decide which sides of the other end this one can belong to: the socket, the peer,
    /// and the size.
    pub(super) class: (SocketIndex, OptionalIndex<SocketNameId>, u32),
    /// Index of the datagram in its partition.
    pub(super) at: u32,
    /// Whether the side is matched.
    pub(super) done: bool,
}

/// The sends and the receives that take part in a pass, sorted.
pub(super) type DatagramSides = [SpillableVec<DatagramSide>; 2];
/// Ranges of consecutive sends and receives.
pub(super) type SideRanges = [Range<usize>; 2];

/// The times of a range of consecutive sides.
pub(super) struct SideTimes<'a>(pub(super) &'a SpillableVec<DatagramSide>, pub(super) Range<usize>);

impl TimeSequence for SideTimes<'_> {
    fn len(&self) -> usize {
        self.1.len()
    }

    fn time(&self, at: usize) -> i64 {
        self.0[self.1.start + at].time
    }
}

/// The sides of one socket and peer.
#[derive(Clone, Copy)]
pub(super) struct PeerClass {
    start: u32,
    end: u32,
}

impl PeerClass {
    pub(super) fn from_range(range: Range<usize>) -> PeerClass {
        PeerClass { start: range.start as u32, end: range.end as u32 }
    }

    pub(super) fn to_range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The subranges of `range` with the sides of each socket and peer. `sides` are sorted by these.
pub(super) fn class_ranges(
    sides: &SpillableVec<DatagramSide>,
    range: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> {
    let Range { mut start, end } = range.clone();
    std::iter::from_fn(move || {
        let one = *sides.get(start).filter(|_| start < end)?;
        let first = start;
        start = find_run_end(sides, start, |side| (side.key, side.class) == (one.key, one.class))
            .min(end);
        Some(first..start)
    })
}

/// Whether all sides of `range` are matched.
pub(super) fn all_done(sides: &SpillableVec<DatagramSide>, range: &Range<usize>) -> bool {
    sides.range(range.clone()).all(|side| side.done)
}

/// First index, from `from` on, of a side that is not `in_run`. Runs are mostly short, so the step
/// doubles.
pub(super) fn find_run_end(
    sides: &SpillableVec<DatagramSide>,
    from: usize,
    in_run: impl Fn(&DatagramSide) -> bool,
) -> usize {
    let mut step = 1;
    while sides.get(from + step).is_some_and(&in_run) {
        step *= 2;
    }
    sides.partition_point(from..from + step + 1, in_run)
}
