//! Connections that were open before they were recorded: the calls of each end begin somewhere in
//! the stream, and the kernel's counts of bytes give the position.
//!
//! Bytes that both ends missed are left out, so that the bytes of both are counted from a common
//! origin. Bytes that one end missed appear among its calls as bytes without a call.
//!
//! The counts are trusted unless something contradicts them: a later count must agree with the
//! calls before it, and at no time may one end have received more than the other had sent.
//! Otherwise it is unknown which calls belong together.

use message_trace::PathError;

use crate::calls::StreamTransfer;
use crate::connections::causality_check::is_causally_possible;
use crate::streams::call_streams::CallStreams;
use crate::streams::tally::CallTally;

/// The calls of a connection, counted from origins in the streams that both ends share.
pub(crate) struct CountedStreams<'a, W> {
    streams: &'a W,
    /// Position of the origin in each direction.
    origins: [u64; 2],
    /// Whether both ends were recorded: with a single end nothing has to be counted.
    both: bool,
}

impl<'a, W: CallStreams> CountedStreams<'a, W> {
    /// Aligns the calls of `streams`, which are of `both` ends or of one. The ends have read their
    /// common clock at most `apart` nanoseconds apart, if they have one. `None` if it is uncertain
    /// which calls of the two ends belong together.
    pub(crate) fn align_counts(
        streams: &'a W,
        both: bool,
        apart: Option<i64>,
    ) -> Option<CountedStreams<'a, W>> {
        let mut this = CountedStreams { streams, origins: [0; 2], both };
        if !both {
            return Some(this);
        }
        for direction in 0..2 {
            let [sends, receives] =
                [0, 1].map(|stream| find_stream_start(streams.calls(2 * direction + stream)));
            this.origins[direction] = match (sends, receives) {
                (StreamStart::Uncertain, _) | (_, StreamStart::Uncertain) => return None,
                (StreamStart::At(one), StreamStart::At(other)) => one.min(other),
                (StreamStart::At(one), StreamStart::Nowhere)
                | (StreamStart::Nowhere, StreamStart::At(one)) => one,
                (StreamStart::Nowhere, StreamStart::Nowhere) => 0,
            };
        }
        let is_possible = apart.is_none_or(|apart| {
            (0..2).all(|direction| {
                let [sends, receives] = [2 * direction, 2 * direction + 1];
                // Sends after the last known one are unknown: its recording may have ended.
                let last = this.calls(sends).last().map_or(i64::MIN, |send| send.time);
                let known = |receive: &StreamTransfer| receive.time.saturating_add(apart) < last;
                is_causally_possible(
                    this.calls(sends),
                    this.calls(receives).take_while(known),
                    apart,
                )
            })
        });
        is_possible.then_some(this)
    }
}

/// Position at which a call stream begins in its direction, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamStart {
    /// There are no calls.
    Nowhere,
    At(u64),
    /// The kernel did not report the position, or its counts do not fit the calls.
    Uncertain,
}

/// The start of a call stream with `calls` and counts sorted by time.
fn find_stream_start(calls: impl Iterator<Item = StreamTransfer>) -> StreamStart {
    let (mut begin, mut end, mut latest, mut moved) = (None, 0u64, 0, false);
    let mut calls = calls.peekable();
    while let Some(call) = calls.next() {
        if !call.is_count() {
            moved = true;
            begin = begin.or(Some(0));
            end = end.saturating_add(call.bytes);
            latest = call.bytes;
            continue;
        }
        if call.bytes == StreamTransfer::UNKNOWN {
            return StreamStart::Uncertain;
        }
        // For a call in progress in another thread, the kernel may have counted less than its send
        // was given, or bytes that were not received yet.
        let under_way = calls.peek().map_or(0, |next| if next.is_count() { 0 } else { next.bytes });
        let range = end.saturating_sub(latest)..=end.saturating_add(under_way);
        let is_near = range.contains(&call.bytes);
        match begin {
            None => (begin, end) = (Some(call.bytes), call.bytes),
            Some(_) if call.begins && call.bytes > end => end = call.bytes,
            Some(_) if is_near => {}
            Some(_) => return StreamStart::Uncertain,
        }
    }
    begin.filter(|_| moved).map_or(StreamStart::Nowhere, StreamStart::At)
}

impl<W: CallStreams> CallStreams for CountedStreams<'_, W> {
    fn calls(&self, stream: usize) -> impl Iterator<Item = StreamTransfer> {
        // Unrecorded sends may have happened at any time since the previous call.
        let is_send = stream.is_multiple_of(2);
        let (mut end, mut is_first, mut latest) = (self.origins[stream / 2], true, i64::MIN);
        self.streams.calls(stream).filter_map(move |call| {
            if !call.is_count() {
                end = end.saturating_add(call.bytes);
                (is_first, latest) = (false, call.time);
                return Some(call);
            }
            let missing = call.bytes.checked_sub(end).filter(|missing| *missing > 0);
            let missing = missing.filter(|_| call.begins && self.both)?;
            end = call.bytes;
            let time = if is_send { latest } else { call.time };
            Some(StreamTransfer::counted_gap(time, missing, std::mem::take(&mut is_first)))
        })
    }

    fn tally(&self, stream: usize) -> CallTally {
        let mut tally = CallTally::default();
        self.calls(stream).for_each(|call| tally.add_call(&call));
        tally
    }

    fn check(&self) -> Result<(), PathError> {
        self.streams.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::TransferOrigin;

    /// The four call streams of a connection.
    struct GivenStreams([Vec<StreamTransfer>; 4]);

    impl CallStreams for GivenStreams {
        fn calls(&self, stream: usize) -> impl Iterator<Item = StreamTransfer> {
            self.0[stream].iter().copied()
        }

        fn tally(&self, stream: usize) -> CallTally {
            let mut tally = CallTally::default();
            self.calls(stream).for_each(|call| tally.add_call(&call));
            tally
        }

        fn check(&self) -> Result<(), PathError> {
            Ok(())
        }
    }

    fn call(time: i64, bytes: u64) -> StreamTransfer {
        let origin = TransferOrigin::default();
        StreamTransfer { time, bytes, origin, tid: 7, elsewhere: false, begins: false }
    }

    fn count(time: i64, before: u64) -> StreamTransfer {
        StreamTransfer { begins: true, origin: TransferOrigin::COUNTED, ..call(time, before) }
    }

    fn last_count(time: i64, before: u64) -> StreamTransfer {
        StreamTransfer { begins: false, ..count(time, before) }
    }

    /// Times and bytes of calls, in their order; bytes without a call have no time.
    type TimesAndBytes = Vec<(Option<i64>, u64)>;

    /// Places the sends and receives of one direction, towards the accepting end. `None` if their
    /// places are uncertain.
    fn placed(sends: &[StreamTransfer], receives: &[StreamTransfer]) -> Option<[TimesAndBytes; 2]> {
        let streams = GivenStreams([sends.to_vec(), receives.to_vec(), Vec::new(), Vec::new()]);
        let counted = CountedStreams::align_counts(&streams, true, Some(0))?;
        Some([0, 1].map(|stream| {
            let seen =
                |call: StreamTransfer| (Some(call.time).filter(|_| call.tid == 7), call.bytes);
            counted.calls(stream).map(seen).collect()
        }))
    }

    #[test]
    fn bytes_missed_by_both_are_left_out_and_bytes_missed_by_one_keep_their_place() {
        let (at, gap) = (|time| Some(time), None);
        let in_flight = placed(&[count(1, 1_000), call(2, 50)], &[count(1, 900), call(3, 150)]);
        assert_eq!(in_flight, Some([vec![(gap, 100), (at(2), 50)], vec![(at(3), 150)]]));
        let later = placed(&[count(1, 900), call(2, 150)], &[count(5, 1_000), call(6, 50)]);
        assert_eq!(later, Some([vec![(at(2), 150)], vec![(gap, 100), (at(6), 50)]]));
        let sender_later =
            placed(&[count(5, 950), call(6, 10)], &[count(1, 900), call(2, 50), call(7, 10)]);
        assert_eq!(
            sender_later,
            Some([vec![(gap, 50), (at(6), 10)], vec![(at(2), 50), (at(7), 10)]])
        );
    }

    #[test]
    fn an_end_may_continue_after_its_recording() {
        let sends = [count(1, 100), call(2, 10)];
        assert!(placed(&sends, &[count(1, 100), call(3, 10), call(9, 50)]).is_some());
    }

    #[test]
    fn an_end_that_was_seen_from_the_first_byte_on_needs_no_count() {
        let placed = placed(&[call(1, 100), call(4, 10)], &[count(3, 100), call(5, 10)]);
        let sends = vec![(Some(1), 100), (Some(4), 10)];
        assert_eq!(placed, Some([sends, vec![(None, 100), (Some(5), 10)]]));
    }

    #[test]
    fn a_second_recording_continues_at_the_kernels_count() {
        let sends = [count(1, 100), call(2, 10), count(20, 150), call(21, 10)];
        let receives = [count(1, 100), call(3, 10), count(20, 150), call(22, 10)];
        let twice = placed(&sends, &receives);
        let stream = |first, last| vec![(Some(first), 10), (None, 40), (Some(last), 10)];
        assert_eq!(twice, Some([stream(2, 21), stream(3, 22)]));
    }

    #[test]
    fn unrecorded_bytes_of_an_end_may_have_moved_at_any_time() {
        let sends = [count(1, 100), call(2, 10), count(20, 150), call(21, 10)];
        let receives = [count(1, 100), call(3, 10), call(10, 40), call(22, 10)];
        let [sends, _] = placed(&sends, &receives).unwrap();
        assert_eq!(sends, [(Some(2), 10), (None, 40), (Some(21), 10)]);
    }

    #[test]
    fn counts_that_do_not_fit_the_calls_are_rejected() {
        let (sends, receives) = ([count(1, 100), call(2, 10)], [count(1, 100), call(3, 10)]);
        let with =
            |sends: &[StreamTransfer], receives: &[StreamTransfer], more: &[StreamTransfer]| {
                placed(sends, &[receives, more].concat()).is_some()
            };
        assert!(with(&sends, &receives, &[last_count(4, 110)]));
        assert!(!with(&sends, &receives, &[last_count(4, 111)]), "a call was not seen");
        assert!(!with(&sends, &[count(1, StreamTransfer::UNKNOWN), call(3, 10)], &[]));
        let more = [count(1, 100), call(2, 10), call(9, 10)];
        assert!(with(&more, &[count(1, 100), call(3, 10)], &[]));
        assert!(!with(&more, &[count(1, 105), call(3, 10)], &[]), "more than was sent");
        assert!(!with(&more, &[count(1, 100), call(1, 10)], &[]), "before it was sent");
    }

    #[test]
    fn the_kernel_may_have_counted_part_of_a_call_in_progress() {
        let fits = |calls: &[StreamTransfer]| {
            find_stream_start(calls.iter().copied()) == StreamStart::At(100)
        };
        let sends = |counted| [count(1, 100), call(2, 10), last_count(3, counted)];
        assert!(fits(&sends(104)) && fits(&sends(110)) && !fits(&sends(111)));
        let receives = |counted| [count(1, 100), last_count(2, counted), call(3, 10)];
        assert!(fits(&receives(104)) && fits(&receives(110)) && !fits(&receives(111)));
    }

    #[test]
    fn one_end_alone_has_its_calls_only() {
        let streams =
            GivenStreams([vec![count(1, 100), call(2, 10)], Vec::new(), Vec::new(), Vec::new()]);
        let alone = CountedStreams::align_counts(&streams, false, None).unwrap();
        assert_eq!(alone.calls(0).collect::<Vec<_>>(), [call(2, 10)]);
    }
}
