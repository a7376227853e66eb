//! One direction of a TCP connection, put together from its segments as one sniffer saw them.
//!
//! What matters is when which bytes went out and came in, never what they were; so a stream is its
//! sequence numbers. Of every byte the first sight is when it was sent, since what the sender
//! repeats it had already. It has arrived when all before it have. Segments come twice, out of
//! order, overlapping, or not at all where the sniffer was too slow: what the receiver acknowledges
//! was sent and did arrive, whether it was seen or not.

use std::collections::VecDeque;

use crate::tuning::{MAX_AHEAD, MAX_ARRIVALS, MESSAGE_PAUSE_NS, PATIENCE_NS, PATIENCE_PACKETS};

/// No window is larger, so what lies further ahead belongs to another connection, or to none.
const FARTHEST: i64 = 1 << 30;

/// What became known of the stream. Times are nanoseconds by the sniffer's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// The sender sent a message, with its size in bytes.
    Sent { time: i64, bytes: u64 },
    /// Bytes arrived; their number.
    Arrived { time: i64, bytes: u64 },
}

/// What was odd, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamOddities {
    /// Seen more than once.
    pub(crate) repeated: u64,
    /// Not seen, though acknowledged.
    pub(crate) missed: u64,
    /// Seen, but never acknowledged.
    pub(crate) unacknowledged: u64,
    /// In segments of impossible sequence numbers.
    pub(crate) impossible: u64,
}

/// One direction of a connection. Offsets count the stream's bytes from the first one that is
/// known.
#[derive(Debug, Default)]
pub(crate) struct HalfStream {
    /// The sequence number at offset 0.
    origin: Option<u32>,
    /// All bytes before it have been seen, or were given up.
    next: u64,
    /// What was seen beyond, in order, without overlaps.
    ahead: Vec<SegmentRange>,
    /// The receiver has all bytes before it.
    acknowledged: u64,
    /// Since when bytes are acknowledged that have not been seen.
    gap: Option<StreamGap>,
    /// Where the stream ends.
    end: Option<u64>,
    /// The message that is being sent.
    open: Option<StreamMessage>,
    /// What has arrived and is not acknowledged yet.
    arrivals: VecDeque<StreamArrival>,
    pub(crate) odd: StreamOddities,
}

#[derive(Clone, Copy, Debug)]
struct SegmentRange {
    start: u64,
    end: u64,
    time: i64,
    push: bool,
}

#[derive(Clone, Copy, Debug)]
struct StreamGap {
    since: i64,
    packets: u32,
}

#[derive(Clone, Copy, Debug)]
struct StreamMessage {
    first: i64,
    last: i64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct StreamArrival {
    bytes: u64,
    end: u64,
    time: i64,
}

/// A segment with data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSegment {
    pub(crate) time: i64,
    pub(crate) sequence: u32,
    pub(crate) bytes: u32,
    pub(crate) push: bool,
    /// The sniffer is at the receiver: what it sees has arrived. Elsewhere only what is
    /// acknowledged has.
    pub(crate) near: bool,
}

impl HalfStream {
    /// The stream begins at `sequence`; what came before is not looked at. Only the first call
    /// counts.
    pub(crate) fn begin_at(&mut self, sequence: u32) {
        self.origin.get_or_insert(sequence);
    }

    /// Whether the beginning is known, and is another than `sequence`.
    pub(crate) fn begins_elsewhere(&self, sequence: u32) -> bool {
        self.origin.is_some_and(|origin| origin != sequence)
    }

    /// Whether all of the stream was seen, and its end.
    pub(crate) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.next >= end)
    }

    /// A segment with data was seen. Says whether it brought anything new in order.
    pub(crate) fn add_segment(
        &mut self,
        segment: &DataSegment,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        self.begin_at(segment.sequence);
        let Some(start) = self.offset_of_sequence(segment.sequence) else {
            self.odd.impossible += u64::from(segment.bytes);
            return false;
        };
        let (next, end) = (self.next as i64, start + i64::from(segment.bytes));
        if start < next {
            self.add_retransmission(start, end.min(next), segment);
        }
        if end <= next {
            return false;
        }
        let (start, end) = (start.max(next) as u64, end as u64);
        let DataSegment { time, push, near, .. } = *segment;
        if start == self.next {
            let sent = self.first_sight(0).min(time);
            self.deliver_range(SegmentRange { start, end, time: sent, push }, time, near, out);
            self.absorb_buffered(time, near, out);
            return true;
        }
        self.buffer_range(SegmentRange { start, end, time, push });
        if self.ahead.len() > MAX_AHEAD {
            self.give_up(u64::MAX, time, near, out);
        }
        false
    }

    /// The receiver acknowledged all bytes before `sequence`.
    pub(crate) fn acknowledge_until(
        &mut self,
        sequence: u32,
        time: i64,
        out: &mut Vec<StreamEvent>,
    ) {
        self.begin_at(sequence);
        let Some(offset) =
            self.offset_of_sequence(sequence).and_then(|offset| u64::try_from(offset).ok())
        else {
            return;
        };
        // The end of the stream counts as a byte.
        let offset = self.end.map_or(offset, |end| offset.min(end));
        if offset <= self.acknowledged {
            return;
        }
        self.acknowledged = offset;
        if offset > self.next && self.gap.is_none() {
            self.gap = Some(StreamGap { since: time, packets: 0 });
        }
        self.release_acknowledged(out);
    }

    /// Any packet of the connection was seen: time goes on.
    pub(crate) fn advance_time(&mut self, time: i64, near: bool, out: &mut Vec<StreamEvent>) {
        let Some(gap) = &mut self.gap else { return };
        gap.packets += 1;
        let StreamGap { since, packets } = *gap;
        if self.next >= self.acknowledged {
            self.gap = None;
        } else if packets > PATIENCE_PACKETS || time.saturating_sub(since) > PATIENCE_NS {
            self.fill_gaps(since, near, out);
        }
    }

    /// The stream ends behind the segment that ends with `sequence`.
    pub(crate) fn finish_at(&mut self, sequence: u32) {
        self.begin_at(sequence);
        if let Some(end) = self.offset_of_sequence(sequence).and_then(|end| u64::try_from(end).ok())
        {
            self.end.get_or_insert(end);
            self.acknowledged = self.acknowledged.min(end.max(self.next));
        }
    }

    /// The other direction has its turn: what is being sent is a message.
    pub(crate) fn end_message(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(message) = self.open.take() {
            out.push(StreamEvent::Sent { time: message.first, bytes: message.bytes });
        }
    }

    /// No more will be seen. `answered`: packets of the other direction were seen, which
    /// acknowledge.
    pub(crate) fn close_stream(&mut self, near: bool, answered: bool, out: &mut Vec<StreamEvent>) {
        if let Some(StreamGap { since, .. }) = self.gap {
            self.fill_gaps(since, near, out);
        }
        // Pieces behind a gap that was never acknowledged were sent all the same.
        if !self.ahead.is_empty() && !answered {
            while let Some(piece) = self.ahead.first() {
                let (start, time) = (piece.start, piece.time);
                self.give_up(start, time, near, out);
            }
        }
        self.end_message(out);
        for arrival in std::mem::take(&mut self.arrivals) {
            if answered {
                self.odd.unacknowledged += arrival.bytes;
            } else {
                out.push(StreamEvent::Arrived { time: arrival.time, bytes: arrival.bytes });
            }
        }
        self.odd.unacknowledged +=
            self.ahead.iter().map(|piece| piece.end - piece.start).sum::<u64>();
        self.ahead.clear();
    }

    /// Where `sequence` is; the nearest such place to what comes next. `None`: too far from it to
    /// be true.
    fn offset_of_sequence(&self, sequence: u32) -> Option<i64> {
        let next = self.origin?.wrapping_add(self.next as u32);
        let distance = i64::from(sequence.wrapping_sub(next) as i32);
        (distance.abs() <= FARTHEST).then(|| self.next as i64 + distance)
    }

    /// The bytes from `start` to `end` were seen once more. Where the sniffer is not at the
    /// receiver, the first copy may not have got there: as long as nothing is acknowledged, the
    /// latest counts, for all that waited for it.
    fn add_retransmission(&mut self, start: i64, end: i64, segment: &DataSegment) {
        self.odd.repeated += u64::try_from(end - start).unwrap_or(0);
        let first = self.arrivals.iter().position(|arrival| arrival.end as i64 > start);
        if let Some(first) = first.filter(|_| start < end && end > self.acknowledged as i64) {
            for arrival in self.arrivals.iter_mut().skip(first) {
                arrival.time = arrival.time.max(segment.time);
            }
        }
    }

    /// When the first of the pieces from `from` on was seen.
    fn first_sight(&self, from: usize) -> i64 {
        self.ahead.iter().skip(from).map(|piece| piece.time).min().unwrap_or(i64::MAX)
    }

    /// Holds a piece that lies ahead, but for what is held already.
    fn buffer_range(&mut self, mut piece: SegmentRange) {
        let mut at = self.ahead.partition_point(|held| held.end <= piece.start);
        while piece.start < piece.end {
            match self.ahead.get(at).copied() {
                Some(held) if held.start <= piece.start => {
                    self.odd.repeated += held.end.min(piece.end) - piece.start;
                    piece.start = held.end;
                }
                Some(held) if held.start < piece.end => {
                    self.ahead.insert(at, SegmentRange { end: held.start, push: false, ..piece });
                    piece.start = held.start;
                }
                _ => {
                    self.ahead.insert(at, piece);
                    break;
                }
            }
            at += 1;
        }
    }

    /// Takes what was held and is in order now. It has arrived at `time`, when what was missing
    /// came.
    fn absorb_buffered(&mut self, time: i64, near: bool, out: &mut Vec<StreamEvent>) {
        let mut taken = 0;
        while let Some(piece) =
            self.ahead.get(taken).copied().filter(|piece| piece.start <= self.next)
        {
            let sent = self.first_sight(taken);
            taken += 1;
            if piece.end > self.next {
                let rest = SegmentRange { start: self.next, time: sent, ..piece };
                self.deliver_range(rest, time.max(piece.time), near, out);
            }
        }
        self.ahead.drain(..taken);
    }

    /// The next bytes of the stream: sent at the piece's time, arrived at `arrived`.
    fn deliver_range(
        &mut self,
        piece: SegmentRange,
        arrived: i64,
        near: bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let bytes = piece.end - piece.start;
        self.next = piece.end;
        match &mut self.open {
            Some(message) if piece.time.saturating_sub(message.last) <= MESSAGE_PAUSE_NS => {
                message.bytes += bytes;
                message.last = piece.time;
            }
            _ => {
                self.end_message(out);
                self.open = Some(StreamMessage { first: piece.time, last: piece.time, bytes });
            }
        }
        if piece.push {
            self.end_message(out);
        }
        if near {
            out.push(StreamEvent::Arrived { time: arrived, bytes });
        } else {
            self.arrivals.push_back(StreamArrival { bytes, end: piece.end, time: arrived });
            self.release_acknowledged(out);
        }
    }

    /// Passes on what is acknowledged of what has arrived.
    fn release_acknowledged(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some(arrival) = self.arrivals.front() {
            if arrival.end > self.acknowledged && self.arrivals.len() <= MAX_ARRIVALS {
                break;
            }
            out.push(StreamEvent::Arrived { time: arrival.time, bytes: arrival.bytes });
            self.arrivals.pop_front();
        }
    }

    /// Gives up waiting for what was acknowledged and not seen: by `since` it had been sent, and
    /// had arrived.
    fn fill_gaps(&mut self, since: i64, near: bool, out: &mut Vec<StreamEvent>) {
        while self.next < self.acknowledged {
            // A single byte with nothing behind it is the end of the stream, which counts as one,
            // unless that is known.
            if self.end.is_none() && self.next + 1 == self.acknowledged && self.ahead.is_empty() {
                break;
            }
            self.give_up(self.acknowledged, since, near, out);
        }
        self.gap = None;
    }

    /// Takes the bytes up to `limit`, or to the first piece that is held, for sent and arrived at
    /// `time`.
    fn give_up(&mut self, limit: u64, time: i64, near: bool, out: &mut Vec<StreamEvent>) {
        let end = self.ahead.first().map_or(limit, |piece| piece.start.min(limit));
        if end > self.next && end != u64::MAX {
            self.odd.missed += end - self.next;
            let sent = self.first_sight(0).min(time);
            self.deliver_range(
                SegmentRange { start: self.next, end, time: sent, push: false },
                time,
                near,
                out,
            );
        }
        self.absorb_buffered(time, near, out);
    }
}

#[cfg(test)]
#[path = "tcp_tests.rs"]
mod tests;
