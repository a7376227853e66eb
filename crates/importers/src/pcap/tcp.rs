//! One direction of a TCP connection, assembled from its segments as one sniffer saw them.
//!
//! Only the times at which bytes went out and came in matter, never their content; so only the
//! sequence numbers of a stream are kept. A byte was sent when it was first seen, as the sender had
//! it then. A byte has arrived when all bytes before it have arrived. Segments come twice, out of
//! order, overlapping, or not at all if the sniffer was too slow: bytes that the receiver
//! acknowledges were sent and have arrived, whether they were seen or not.

use std::collections::VecDeque;

use crate::tuning::{MAX_AHEAD, MAX_ARRIVALS, MESSAGE_PAUSE_NS, PATIENCE_NS, PATIENCE_PACKETS};

/// Maximum distance of a segment from the next expected byte, in bytes. Windows are not larger, so
/// bytes further ahead belong to another connection, or to none.
const MAX_SEQUENCE_DISTANCE: i64 = 1 << 30;

/// Event of the stream. Times are nanoseconds by the sniffer's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// The sender sent a message, with its size in bytes.
    Sent { time: i64, bytes: u64 },
    /// Bytes arrived: their number.
    Arrived { time: i64, bytes: u64 },
}

/// Odd bytes, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamOddities {
    /// Number of bytes seen more than once.
    pub(crate) repeated: u64,
    /// Number of bytes not seen, though acknowledged.
    pub(crate) missed: u64,
    /// Number of bytes seen, but never acknowledged.
    pub(crate) unacknowledged: u64,
    /// Number of bytes in segments with impossible sequence numbers.
    pub(crate) impossible: u64,
}

/// One direction of a connection. Offsets count the stream's bytes from the first one that is
/// known.
#[derive(Debug, Default)]
pub(crate) struct HalfStream {
    /// Sequence number at offset 0.
    origin: Option<u32>,
    /// Offset before which all bytes have been seen, or were given up.
    next: u64,
    /// Ranges that were seen beyond the next expected byte, in order, without overlaps.
    ahead: Vec<SegmentRange>,
    /// Offset before which the receiver has all bytes.
    acknowledged: u64,
    /// Since when acknowledged bytes have been missing; `None` if none are.
    gap: Option<StreamGap>,
    /// Offset in bytes where the stream ends.
    end: Option<u64>,
    /// Message that is being sent.
    open: Option<StreamMessage>,
    /// Arrivals that are not acknowledged yet.
    arrivals: VecDeque<StreamArrival>,
    pub(crate) odd: StreamOddities,
}

#[derive(Clone, Copy, Debug)]
struct SegmentRange {
    start: u64,
    end: u64,
    /// Time when the range was seen.
    time: i64,
    /// Whether the sender pushed the last byte: it ends a message.
    push: bool,
}

#[derive(Clone, Copy, Debug)]
struct StreamGap {
    since: i64,
    /// Number of packets of the connection since then.
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
    /// Whether the sniffer is at the receiver: bytes that it sees have arrived. Elsewhere only
    /// acknowledged bytes have.
    pub(crate) near: bool,
}

impl HalfStream {
    /// Begins the stream at `sequence`; earlier bytes are ignored. Only the first call counts.
    pub(crate) fn begin_at(&mut self, sequence: u32) {
        self.origin.get_or_insert(sequence);
    }

    /// Whether the beginning is known and differs from `sequence`.
    pub(crate) fn begins_elsewhere(&self, sequence: u32) -> bool {
        self.origin.is_some_and(|origin| origin != sequence)
    }

    /// Whether all of the stream was seen, and its end.
    pub(crate) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.next >= end)
    }

    /// Adds a segment with data. Returns whether it brought new bytes in order.
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

    /// Processes an acknowledgement of all bytes before `sequence`.
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

    /// Notes a packet of the connection at `time`: if acknowledged bytes have been missing for too
    /// long, it stops waiting for them.
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

    /// Ends the stream after the segment that ends with `sequence`.
    pub(crate) fn finish_at(&mut self, sequence: u32) {
        self.begin_at(sequence);
        if let Some(end) = self.offset_of_sequence(sequence).and_then(|end| u64::try_from(end).ok())
        {
            self.end.get_or_insert(end);
            self.acknowledged = self.acknowledged.min(end.max(self.next));
        }
    }

    /// Ends the message that is being sent, as the other direction has its turn.
    pub(crate) fn end_message(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(message) = self.open.take() {
            out.push(StreamEvent::Sent { time: message.first, bytes: message.bytes });
        }
    }

    /// Closes the stream: no more packets follow. `answered`: packets of the other direction, with
    /// acknowledgements, were seen.
    pub(crate) fn close_stream(&mut self, near: bool, answered: bool, out: &mut Vec<StreamEvent>) {
        if let Some(StreamGap { since, .. }) = self.gap {
            self.fill_gaps(since, near, out);
        }
        // Ranges after a gap that was never acknowledged were sent all the same.
        if !self.ahead.is_empty() && !answered {
            while let Some(range) = self.ahead.first() {
                let (start, time) = (range.start, range.time);
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
            self.ahead.iter().map(|range| range.end - range.start).sum::<u64>();
        self.ahead.clear();
    }

    /// Offset of `sequence`, chosen nearest to the next expected byte. `None` if it is too far away
    /// to be valid.
    fn offset_of_sequence(&self, sequence: u32) -> Option<i64> {
        let next = self.origin?.wrapping_add(self.next as u32);
        let distance = i64::from(sequence.wrapping_sub(next) as i32);
        (distance.abs() <= MAX_SEQUENCE_DISTANCE).then(|| self.next as i64 + distance)
    }

    /// Handles the bytes from `start` to `end`, which were seen once more. If the sniffer is not at
    /// the receiver, the first copy may have been lost: until something is acknowledged, the latest
    /// copy counts, for all bytes that waited for it.
    fn add_retransmission(&mut self, start: i64, end: i64, segment: &DataSegment) {
        self.odd.repeated += u64::try_from(end - start).unwrap_or(0);
        let first = self.arrivals.iter().position(|arrival| arrival.end as i64 > start);
        if let Some(first) = first.filter(|_| start < end && end > self.acknowledged as i64) {
            for arrival in self.arrivals.iter_mut().skip(first) {
                arrival.time = arrival.time.max(segment.time);
            }
        }
    }

    /// Earliest time when a buffered range from index `from` on was seen.
    fn first_sight(&self, from: usize) -> i64 {
        self.ahead.iter().skip(from).map(|range| range.time).min().unwrap_or(i64::MAX)
    }

    /// Buffers a range that lies ahead, without the parts that are buffered already.
    fn buffer_range(&mut self, mut range: SegmentRange) {
        let mut at = self.ahead.partition_point(|buffered| buffered.end <= range.start);
        while range.start < range.end {
            match self.ahead.get(at).copied() {
                Some(buffered) if buffered.start <= range.start => {
                    self.odd.repeated += buffered.end.min(range.end) - range.start;
                    range.start = buffered.end;
                }
                Some(buffered) if buffered.start < range.end => {
                    self.ahead
                        .insert(at, SegmentRange { end: buffered.start, push: false, ..range });
                    range.start = buffered.start;
                }
                _ => {
                    self.ahead.insert(at, range);
                    break;
                }
            }
            at += 1;
        }
    }

    /// Takes buffered ranges that are in order now. These ranges have arrived at `time`, when the
    /// missing bytes came.
    fn absorb_buffered(&mut self, time: i64, near: bool, out: &mut Vec<StreamEvent>) {
        let mut taken = 0;
        while let Some(range) =
            self.ahead.get(taken).copied().filter(|range| range.start <= self.next)
        {
            let sent = self.first_sight(taken);
            taken += 1;
            if range.end > self.next {
                let rest = SegmentRange { start: self.next, time: sent, ..range };
                self.deliver_range(rest, time.max(range.time), near, out);
            }
        }
        self.ahead.drain(..taken);
    }

    /// Delivers the next bytes of the stream: sent at the range's time, arrived at `arrived`.
    fn deliver_range(
        &mut self,
        range: SegmentRange,
        arrived: i64,
        near: bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let bytes = range.end - range.start;
        self.next = range.end;
        match &mut self.open {
            Some(message) if range.time.saturating_sub(message.last) <= MESSAGE_PAUSE_NS => {
                message.bytes += bytes;
                message.last = range.time;
            }
            _ => {
                self.end_message(out);
                self.open = Some(StreamMessage { first: range.time, last: range.time, bytes });
            }
        }
        if range.push {
            self.end_message(out);
        }
        if near {
            out.push(StreamEvent::Arrived { time: arrived, bytes });
        } else {
            self.arrivals.push_back(StreamArrival { bytes, end: range.end, time: arrived });
            self.release_acknowledged(out);
        }
    }

    /// Emits arrivals that are acknowledged.
    fn release_acknowledged(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some(arrival) = self.arrivals.front() {
            if arrival.end > self.acknowledged && self.arrivals.len() <= MAX_ARRIVALS {
                break;
            }
            out.push(StreamEvent::Arrived { time: arrival.time, bytes: arrival.bytes });
            self.arrivals.pop_front();
        }
    }

    /// Stops waiting for bytes that were acknowledged and not seen: by `since` they had been sent,
    /// and had arrived.
    fn fill_gaps(&mut self, since: i64, near: bool, out: &mut Vec<StreamEvent>) {
        while self.next < self.acknowledged {
            // A single byte with nothing after it is the end of the stream, which counts as one,
            // unless the end is known.
            if self.end.is_none() && self.next + 1 == self.acknowledged && self.ahead.is_empty() {
                break;
            }
            self.give_up(self.acknowledged, since, near, out);
        }
        self.gap = None;
    }

    /// Assumes the bytes up to `limit`, or to the first buffered range, to be sent and arrived at
    /// `time`.
    fn give_up(&mut self, limit: u64, time: i64, near: bool, out: &mut Vec<StreamEvent>) {
        let end = self.ahead.first().map_or(limit, |range| range.start.min(limit));
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
