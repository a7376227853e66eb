//! Looks at the queue of a unix stream: each limits how far apart in the stream the calls of the
//! two ends begin.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::epochs::Epoch;
use crate::calls::StreamTransfer;
use crate::indices::ProcessIndex;
use crate::tuning::LONGEST_LOOK_NS;

/// Facts about the time shared by one epoch of the sender and one of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EpochOverlap {
    /// The epochs of sender and receiver, by their indices.
    pub(crate) epochs: [usize; 2],
    /// Minimum and maximum number of bytes by which the receiver's epoch begins later in the stream
    /// than the sender's.
    range: [i64; 2],
    /// Whether bytes were sent and received meanwhile.
    pub(crate) moved: [bool; 2],
}

impl EpochOverlap {
    /// Number of bytes by which the receiver's epoch begins later in the stream; `None` if
    /// uncertain.
    pub(crate) fn apart(&self) -> Option<i64> {
        let [least, most] = self.range;
        (least == most).then_some(least)
    }

    /// Whether the limits contradict each other.
    pub(crate) fn is_impossible(&self) -> bool {
        self.range[0] > self.range[1]
    }
}

/// Observations of one direction.
#[derive(Debug, Default)]
pub(crate) struct DirectionLooks {
    /// Overlaps of the epochs of both sides, in the order of time.
    pub(crate) cells: Vec<EpochOverlap>,
    /// Bytes of each epoch, of sender and receiver.
    pub(crate) bytes: [Vec<i64>; 2],
}

/// A look or a receive that has to wait until all sends before it are known, because the two ends
/// read their common clock with a small difference.
struct PendingMoment {
    /// Time from which on all sends before the moment are known, in nanoseconds.
    due: i64,
    epochs: [usize; 2],
    /// Bytes received and in the queue at that time, counted from the receiver's epoch on.
    arrived: i64,
    /// Minimum number of bytes before the receiver's epoch; `i64::MIN` if unknown.
    least: i64,
}

/// One pass over both call streams of a direction. Pairs are of the sender and the receiver.
struct LookPass<'a> {
    epochs: [&'a [Epoch]; 2],
    /// Number of epochs that have begun.
    begun: [usize; 2],
    /// Bytes of calls before the current epochs, and of all calls.
    before: [i64; 2],
    total: [i64; 2],
    /// Bytes of sends that have certainly ended.
    ended: i64,
    /// Bytes of receives that may be in progress, by process and thread. Those of one thread may
    /// seem to overlap, because their durations are not exact.
    open: FxHashMap<(ProcessIndex, i32), i64>,
    moments: VecDeque<PendingMoment>,
    /// Time after a moment when all sends before it are known, in nanoseconds.
    delay: i64,
    seen: DirectionLooks,
}

/// The observations of a direction with these calls and epochs, the sender's first. The ends have
/// read their common clock at most `apart` nanoseconds apart.
pub(crate) fn collect_looks(
    sends: impl Iterator<Item = StreamTransfer>,
    receives: impl Iterator<Item = StreamTransfer>,
    epochs: [&[Epoch]; 2],
    apart: i64,
) -> DirectionLooks {
    let mut pass = LookPass {
        epochs,
        begun: [0; 2],
        before: [0; 2],
        total: [0; 2],
        ended: 0,
        open: FxHashMap::default(),
        moments: VecDeque::new(),
        delay: apart.saturating_add(LONGEST_LOOK_NS),
        seen: DirectionLooks::default(),
    };
    let (mut sends, mut receives) = (sends.peekable(), receives.peekable());
    loop {
        let [send, receive] =
            [sends.peek(), receives.peek()].map(|call| call.map(|call| call.time));
        let is_send = match (send, receive) {
            (None, None) => break,
            (Some(send), Some(receive)) => send <= receive,
            (send, _) => send.is_some(),
        };
        let next = if is_send { sends.next() } else { receives.next() };
        let Some(call) = next else { break };
        pass.advance_to(call.time);
        if is_send { pass.add_send(&call) } else { pass.add_receive(&call) }
    }
    pass.advance_to(i64::MAX);
    for side in 0..2 {
        // Epochs that have begun have all their bytes except the last.
        pass.end_epoch(side);
        pass.seen.bytes[side].resize(pass.epochs[side].len(), 0);
    }
    pass.seen
}

impl LookPass<'_> {
    /// Advances to `time`: evaluates moments that are due, and begins epochs.
    fn advance_to(&mut self, time: i64) {
        while self.moments.front().is_some_and(|moment| moment.due < time) {
            let Some(moment) = self.moments.pop_front() else { break };
            self.evaluate_moment(&moment);
        }
        for side in 0..2 {
            while self.epochs[side].get(self.begun[side]).is_some_and(|next| next.begin <= time)
                && time < i64::MAX
            {
                self.end_epoch(side);
                self.begun[side] += 1;
                self.before[side] = self.total[side];
            }
        }
    }

    /// Records the bytes of the current epoch.
    fn end_epoch(&mut self, side: usize) {
        if self.begun[side] > 0 {
            self.seen.bytes[side].push(self.total[side] - self.before[side]);
        }
    }

    /// The current epochs, if both sides have one.
    fn current_epochs(&self) -> Option<[usize; 2]> {
        let [sender, receiver] = self.begun;
        Some([sender.checked_sub(1)?, receiver.checked_sub(1)?])
    }

    /// The overlap of two epochs, which is the latest or a new one.
    fn overlap_mut(&mut self, epochs: [usize; 2]) -> Option<&mut EpochOverlap> {
        let cells = &mut self.seen.cells;
        if cells.last().is_none_or(|cell| cell.epochs != epochs) {
            cells.push(EpochOverlap { epochs, range: [i64::MIN, i64::MAX], moved: [false; 2] });
        }
        cells.last_mut()
    }

    /// Adds a send, or the edge at which it returned.
    fn add_send(&mut self, call: &StreamTransfer) {
        let bytes = call.bytes as i64;
        if call.is_mark() {
            self.ended += bytes;
            return;
        }
        self.total[0] += bytes;
        self.mark_moved(0);
    }

    /// Adds a receive, the edge at which it was called, or a look.
    fn add_receive(&mut self, call: &StreamTransfer) {
        let bytes = call.bytes as i64;
        let own = (call.process(), call.tid);
        if call.is_edge() {
            *self.open.entry(own).or_default() += bytes;
            return;
        }
        if call.is_mark() {
            let others = self.open.iter().filter(|open| *open.0 != own);
            let under_way: i64 = others.map(|open| open.1).sum();
            self.add_moment(call.time, bytes, Some(under_way));
            return;
        }
        self.total[1] += bytes;
        if let Entry::Occupied(mut open) = self.open.entry(own) {
            *open.get_mut() -= bytes;
            if *open.get() == 0 {
                open.remove();
            }
        }
        self.mark_moved(1);
        self.add_moment(call.time, 0, None);
    }

    /// Records that bytes were sent (side 0) or received (1) in the current epochs.
    fn mark_moved(&mut self, side: usize) {
        if let Some(cell) = self.current_epochs().and_then(|epochs| self.overlap_mut(epochs)) {
            cell.moved[side] = true;
        }
    }

    /// Records a moment at which at least `queued` bytes were in the queue. With `under_way` the
    /// number is exact, except that receives in progress may have taken that many bytes more.
    fn add_moment(&mut self, time: i64, queued: i64, under_way: Option<i64>) {
        let Some(epochs) = self.current_epochs() else { return };
        let due = time.saturating_add(self.delay);
        // Sends after the end of the sender's recording are unknown.
        if self.epochs[0].get(epochs[0]).is_none_or(|epoch| epoch.until < due) {
            return;
        }
        let arrived = self.total[1] - self.before[1] + queued;
        let least = under_way
            .map_or(i64::MIN, |under_way| self.ended - self.before[0] - arrived - under_way);
        self.moments.push_back(PendingMoment { due, epochs, arrived, least });
    }

    /// Evaluates a moment, after all earlier sends are known.
    fn evaluate_moment(&mut self, moment: &PendingMoment) {
        if self.current_epochs() != Some(moment.epochs) {
            return;
        }
        let most = self.total[0] - self.before[0] - moment.arrived;
        if let Some(cell) = self.overlap_mut(moment.epochs) {
            cell.range[0] = cell.range[0].max(moment.least);
            cell.range[1] = cell.range[1].min(most);
        }
    }
}
