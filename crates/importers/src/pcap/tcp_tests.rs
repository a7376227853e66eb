//! Tests of stream assembly: handwritten ones, and with arbitrary cuts, repetitions and orders of
//! segments.

use proptest::prelude::*;

use super::*;

fn data(time: i64, sequence: u32, bytes: u32, push: bool) -> DataSegment {
    DataSegment { time, sequence, bytes, push, near: true }
}

fn sent(out: &[StreamEvent]) -> Vec<(i64, u64)> {
    let sent = |event: &StreamEvent| match event {
        StreamEvent::Sent { time, bytes } => Some((*time, *bytes)),
        StreamEvent::Arrived { .. } => None,
    };
    out.iter().filter_map(sent).collect()
}

fn arrived(out: &[StreamEvent]) -> Vec<(i64, u64)> {
    let arrived = |event: &StreamEvent| match event {
        StreamEvent::Arrived { time, bytes } => Some((*time, *bytes)),
        StreamEvent::Sent { .. } => None,
    };
    out.iter().filter_map(arrived).collect()
}

fn run(origin: u32, segments: &[DataSegment]) -> (HalfStream, Vec<StreamEvent>) {
    let (mut half, mut out) = (HalfStream::default(), Vec::new());
    half.begin_at(origin);
    for segment in segments {
        half.add_segment(segment, &mut out);
    }
    (half, out)
}

#[test]
fn segments_up_to_a_push_are_a_message() {
    let (mut half, mut out) = run(
        7,
        &[
            data(1, 7, 100, false),
            data(2, 107, 50, true),
            data(3, 157, 10, true),
            data(4, 167, 5, false),
        ],
    );
    half.close_stream(true, true, &mut out);
    assert_eq!(sent(&out), [(1, 150), (3, 10), (4, 5)]);
    assert_eq!(arrived(&out), [(1, 100), (2, 50), (3, 10), (4, 5)]);
}

#[test]
fn a_pause_and_a_turn_end_a_message() {
    let (mut half, mut out) =
        run(0, &[data(0, 0, 10, false), data(MESSAGE_PAUSE_NS + 1, 10, 10, false)]);
    half.end_message(&mut out);
    half.add_segment(&data(MESSAGE_PAUSE_NS + 2, 20, 10, false), &mut out);
    half.close_stream(true, true, &mut out);
    assert_eq!(sent(&out), [(0, 10), (MESSAGE_PAUSE_NS + 1, 10), (MESSAGE_PAUSE_NS + 2, 10)]);
}

#[test]
fn sequence_numbers_wrap_around() {
    let origin = u32::MAX - 9;
    let (half, out) = run(
        origin,
        &[data(1, origin, 8, true), data(2, origin.wrapping_add(8), 8, true), data(3, 6, 4, true)],
    );
    assert_eq!(sent(&out), [(1, 8), (2, 8), (3, 4)]);
    assert_eq!(half.next, 20);
}

#[test]
fn bytes_on_both_sides_of_the_wrap_are_in_their_places() {
    let origin = u32::MAX - 9;
    let (half, out) =
        run(origin, &[data(1, 6, 4, true), data(2, origin, 16, true), data(3, origin, 4, false)]);
    assert_eq!(sent(&out), [(1, 16), (1, 4)]);
    assert_eq!((half.next, half.odd.repeated, half.odd.impossible), (20, 4, 0));
}

#[test]
fn more_than_four_gigabytes_are_one_stream() {
    let (mut half, mut out) = (HalfStream::default(), Vec::new());
    half.begin_at(5);
    let mut sequence = 5u32;
    for _ in 0..5 {
        half.add_segment(&data(1, sequence, 1 << 30, true), &mut out);
        sequence = sequence.wrapping_add(1 << 30);
    }
    assert_eq!(half.next, 5 << 30);
    assert_eq!(half.odd, StreamOddities::default());
}

#[test]
fn out_of_order_bytes_arrive_with_the_missing_ones() {
    // The second of three is seen last: it was sent before the third was seen.
    let (_, out) = run(0, &[data(1, 0, 10, true), data(3, 20, 10, true), data(5, 10, 10, true)]);
    assert_eq!(sent(&out), [(1, 10), (3, 10), (3, 10)]);
    assert_eq!(arrived(&out), [(1, 10), (5, 10), (5, 10)]);
}

#[test]
fn overlapping_bytes_count_once() {
    let (half, out) = run(
        0,
        &[
            data(1, 20, 10, true),
            data(2, 15, 20, true),
            data(3, 40, 5, true),
            data(4, 0, 50, true),
            data(5, 45, 10, true),
        ],
    );
    let bytes: u64 = sent(&out).iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(bytes, 55);
    assert_eq!(half.odd.repeated, 10 + 5);
    assert_eq!(half.next, 55);
}

#[test]
fn keep_alives_and_old_probes_are_not_data() {
    let (half, out) = run(
        0,
        &[data(1, 0, 10, true), data(2, 9, 1, false), data(3, 9, 0, false), data(4, 10, 1, true)],
    );
    assert_eq!(sent(&out), [(1, 10), (4, 1)]);
    assert_eq!(half.odd.repeated, 1);
}

#[test]
fn bytes_dropped_by_the_sniffer_are_known_from_acknowledgements() {
    let (mut half, mut out) = run(0, &[data(1, 0, 10, true)]);
    half.add_segment(&data(8, 30, 10, true), &mut out);
    half.acknowledge_until(40, 9, &mut out);
    half.advance_time(9 + PATIENCE_NS, true, &mut out);
    assert_eq!(sent(&out), [(1, 10)]);
    half.advance_time(10 + PATIENCE_NS, true, &mut out);
    // The lost bytes went out before the bytes after them, and in one message with them, as nothing
    // else is known.
    assert_eq!(sent(&out), [(1, 10), (8, 30)]);
    assert_eq!(arrived(&out), [(1, 10), (9, 20), (9, 10)]);
    assert_eq!(half.odd.missed, 20);
}

#[test]
fn an_acknowledgement_that_overtakes_its_data_drops_nothing() {
    let (mut half, mut out) = run(0, &[]);
    half.acknowledge_until(10, 1, &mut out);
    half.advance_time(2, true, &mut out);
    half.add_segment(&data(2, 0, 10, true), &mut out);
    half.advance_time(PATIENCE_NS * 2, true, &mut out);
    assert_eq!((sent(&out), half.odd.missed), (vec![(2, 10)], 0));
}

#[test]
fn the_end_of_a_stream_is_not_a_byte_of_it() {
    for fin_seen in [true, false] {
        let (mut half, mut out) = run(0, &[data(1, 0, 10, true)]);
        if fin_seen {
            half.finish_at(10);
        }
        half.acknowledge_until(11, 2, &mut out);
        half.advance_time(PATIENCE_NS * 2, true, &mut out);
        half.close_stream(true, true, &mut out);
        assert_eq!((sent(&out), half.odd.missed), (vec![(1, 10)], 0), "{fin_seen}");
        assert_eq!(half.is_finished(), fin_seen);
    }
}

#[test]
fn away_from_the_receiver_a_lost_segment_arrives_with_its_repetition() {
    let far =
        |time, sequence, bytes| DataSegment { near: false, ..data(time, sequence, bytes, true) };
    let (mut half, mut out) = run(0, &[far(1, 0, 10), far(2, 10, 10), far(3, 20, 10)]);
    half.acknowledge_until(10, 4, &mut out);
    // The second segment was lost after the sniffer; the third segment waits for the second at the
    // receiver.
    half.add_segment(&far(9, 10, 10), &mut out);
    half.acknowledge_until(30, 10, &mut out);
    // A needless repetition has no further effect.
    half.add_segment(&far(12, 20, 10), &mut out);
    assert_eq!(sent(&out), [(1, 10), (2, 10), (3, 10)]);
    assert_eq!(arrived(&out), [(1, 10), (9, 10), (9, 10)]);
}

#[test]
fn away_from_the_receiver_unacknowledged_bytes_have_not_arrived() {
    let far = |time, sequence| DataSegment { near: false, ..data(time, sequence, 10, true) };
    for (answered, arrivals) in [(true, vec![]), (false, vec![(1, 10)])] {
        let (mut half, mut out) = run(0, &[far(1, 0)]);
        half.close_stream(false, answered, &mut out);
        assert_eq!(sent(&out), [(1, 10)]);
        assert_eq!(arrived(&out), arrivals);
        assert_eq!(half.odd.unacknowledged, if answered { 10 } else { 0 });
    }
}

#[test]
fn a_midstream_connection_begins_with_its_first_seen_byte() {
    let (mut half, mut out) = (HalfStream::default(), Vec::new());
    half.add_segment(&data(1, 5000, 10, true), &mut out);
    half.add_segment(&data(2, 4000, 10, true), &mut out);
    half.add_segment(&data(3, 4990, 30, true), &mut out);
    assert_eq!(sent(&out), [(1, 10), (3, 10)]);
}

#[test]
fn impossible_numbers_are_counted() {
    let (half, out) = run(0, &[data(1, 0, 10, true), data(2, 0x6000_0000, 10, true)]);
    assert_eq!((sent(&out), half.odd.impossible), (vec![(1, 10)], 10));
}

/// A stream of messages, and the segments by which it may be seen: cut anywhere, with duplicates,
/// overlapping, shuffled within a distance.
#[derive(Clone, Debug)]
struct Wire {
    origin: u32,
    messages: Vec<u32>,
    segments: Vec<(u32, u32, usize)>,
}

fn wire() -> impl Strategy<Value = Wire> {
    let messages = prop::collection::vec(1u32..3000, 1..12);
    let cuts = prop::collection::vec((1u32..1500, 0u32..400, 0usize..6, any::<bool>()), 1..60);
    // Mostly such that the numbers wrap around on the way.
    let origin = prop_oneof![any::<u32>(), u32::MAX - 8000..=u32::MAX];
    (origin, messages, cuts).prop_map(|(origin, messages, cuts)| {
        let mut cuts = cuts.into_iter().cycle();
        let mut segments = Vec::new();
        let mut start = 0;
        for message in &messages {
            let end = start + message;
            let mut at = start;
            while at < end {
                let (bytes, before, delay, twice) = cuts.next().unwrap_or((1, 0, 0, false));
                let bytes = bytes.min(end - at);
                // The segment may begin earlier, with bytes that were sent already.
                let from = at - before.min(at);
                let order = segments.len() + delay;
                segments.push((from, at + bytes - from, order));
                if twice {
                    segments.push((from, at + bytes - from, order + 9));
                }
                at += bytes;
            }
            start = end;
        }
        segments.sort_by_key(|(.., order)| *order);
        Wire { origin, messages, segments }
    })
}

/// End of each message of `wire`.
fn ends(wire: &Wire) -> Vec<u64> {
    let mut end = 0;
    wire.messages
        .iter()
        .map(|message| {
            end += u64::from(*message);
            end
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// However a stream is cut, repeated and shuffled: each message is sent when its first byte, or
    /// any later byte, was seen, and each byte arrives when all bytes before it have been seen.
    #[test]
    fn arbitrary_segments_yield_the_messages_of_the_stream(wire in wire()) {
        let ends = ends(&wire);
        let total = *ends.last().unwrap() as usize;
        let (mut half, mut out) = (HalfStream::default(), Vec::new());
        half.begin_at(wire.origin);
        let (mut first, mut whole) = (vec![i64::MAX; total], vec![i64::MAX; total]);
        for (time, (start, bytes, _)) in wire.segments.iter().enumerate() {
            let time = time as i64;
            let (from, to) = (*start as usize, (start + bytes) as usize);
            first[from..to].iter_mut().for_each(|seen| *seen = time.min(*seen));
            let missing = first.iter().position(|seen| *seen == i64::MAX).unwrap_or(total);
            whole[..missing].iter_mut().for_each(|seen| *seen = time.min(*seen));
            let push = ends.contains(&(to as u64));
            half.add_segment(&data(time, wire.origin.wrapping_add(*start), *bytes, push), &mut out);
        }
        half.close_stream(true, true, &mut out);
        prop_assert_eq!(half.odd.missed, 0);
        // A message border is hidden by a segment across it that was seen first, such as a
        // repetition of two messages.
        let hidden = |end: u64| wire.segments.iter().any(|(start, bytes, _)| {
            u64::from(*start) < end && end < u64::from(start + bytes)
        });
        let mut start = 0;
        let mut borders = Vec::new();
        for (time, bytes) in sent(&out) {
            prop_assert_eq!(time, *first[start as usize..].iter().min().unwrap());
            start += bytes;
            borders.push(start);
        }
        prop_assert_eq!(start, total as u64);
        prop_assert!(borders.iter().all(|border| ends.contains(border)));
        prop_assert!(ends.iter().all(|end| borders.contains(end) || hidden(*end)));
        let mut at = 0;
        for (time, bytes) in arrived(&out) {
            for seen in &whole[at..at + bytes as usize] {
                prop_assert_eq!(*seen, time);
            }
            at += bytes as usize;
        }
        prop_assert_eq!(at, total);
    }

    /// Acknowledgements make up for all losses of the sniffer: every byte is accounted for, seen or
    /// missed.
    #[test]
    fn acknowledgements_make_up_for_losses_of_the_sniffer(wire in wire(), dropped in prop::collection::vec(any::<bool>(), 60)) {
        let total = *ends(&wire).last().unwrap();
        let (mut half, mut out) = (HalfStream::default(), Vec::new());
        half.begin_at(wire.origin);
        let mut seen = vec![false; total as usize];
        let mut time = 0;
        for ((start, bytes, _), dropped) in wire.segments.iter().zip(dropped.into_iter().cycle()) {
            time += 1;
            if !dropped {
                seen[*start as usize..(start + bytes) as usize].fill(true);
                half.add_segment(&data(time, wire.origin.wrapping_add(*start), *bytes, true), &mut out);
            }
        }
        half.finish_at(wire.origin.wrapping_add(total as u32));
        half.acknowledge_until(wire.origin.wrapping_add(total as u32).wrapping_add(1), time, &mut out);
        half.close_stream(true, true, &mut out);
        let sum = |calls: Vec<(i64, u64)>| calls.iter().map(|(_, bytes)| bytes).sum::<u64>();
        prop_assert_eq!(sum(sent(&out)), total);
        prop_assert_eq!(sum(arrived(&out)), total);
        prop_assert_eq!(half.odd.missed, seen.iter().filter(|seen| !**seen).count() as u64);
        prop_assert!(sent(&out).is_sorted_by_key(|(time, _)| *time));
        prop_assert!(arrived(&out).is_sorted_by_key(|(time, _)| *time));
    }

    /// Arbitrary segments cause no panic, and no byte is counted twice.
    #[test]
    fn arbitrary_segments_do_not_panic(
        packets in prop::collection::vec((any::<u32>(), 0u32..100_000, any::<u32>(), any::<bool>(), 0u8..8), 0..60),
    ) {
        let (mut half, mut out) = (HalfStream::default(), Vec::new());
        for (time, (sequence, bytes, acknowledged, near, what)) in packets.into_iter().enumerate() {
            let time = time as i64 * 3_000_000;
            half.advance_time(time, near, &mut out);
            match what {
                0 => half.finish_at(sequence),
                1 => half.acknowledge_until(acknowledged, time, &mut out),
                _ => { half.add_segment(&DataSegment { near, ..data(time, sequence, bytes, true) }, &mut out); }
            }
        }
        half.close_stream(true, true, &mut out);
        let sum = |calls: Vec<(i64, u64)>| calls.iter().map(|(_, bytes)| bytes).sum::<u64>();
        prop_assert!(sum(sent(&out)) >= sum(arrived(&out)));
        prop_assert_eq!(sum(sent(&out)), half.next);
    }
}
