//! Alignment of unix streams that were open before they were recorded: the calls of each end begin
//! somewhere in the stream, and the kernel has no count of the bytes before them.
//!
//! The library has looked at the receiver's queue from time to time. At the moment of a look, the
//! bytes that one end had sent are those that the other had received and those in the queue, so
//! that the look determines how far apart in the stream the two ends' recordings began. Calls in
//! progress at that moment make it a range; all looks together, and the rule that nothing is
//! received before it was sent, mostly leave a single number. If the looks leave several numbers,
//! or contradict each other, it is unknown which calls belong together. An end may be recorded in
//! several periods, which are called epochs ([`super::epochs`]).
//!
//! The result is counts like those that the kernel has for TCP, from an arbitrary origin, for
//! [`CountedStreams`](super::counted_streams::CountedStreams).

use message_trace::PathError;

use super::epochs::{Epoch, Epochs};
use super::looks::{self, EpochOverlap};
use crate::calls::StreamTransfer;
use crate::streams::call_streams::CallStreams;
use crate::streams::tally::CallTally;

/// The calls of an aligned connection, with counts.
pub(crate) struct AlignedStreams<'a, W> {
    streams: &'a W,
    /// By call stream: times from which its calls are counted anew, and the counts there.
    counts: [Vec<(i64, u64)>; 4],
}

impl<'a, W: CallStreams> AlignedStreams<'a, W> {
    /// The calls of `streams` with only one recorded end, so that nothing has to be counted.
    pub(crate) fn from_one_end(streams: &'a W) -> AlignedStreams<'a, W> {
        AlignedStreams { streams, counts: Default::default() }
    }

    /// Aligns the calls of `streams`. Its ends have read their common clock at most `apart`
    /// nanoseconds apart. `found` states whether the connecting and the accepting end were found in
    /// use. `None` if it is uncertain which calls of the two ends belong together.
    pub(crate) fn align(
        streams: &'a W,
        found: [bool; 2],
        apart: i64,
    ) -> Option<AlignedStreams<'a, W>> {
        let [connecting, accepting] = found;
        let connecting = Epochs::from_calls(streams.calls(0), streams.calls(3), connecting)?;
        let accepting = Epochs::from_calls(streams.calls(2), streams.calls(1), accepting)?;
        let mut counts: [Vec<(i64, u64)>; 4] = Default::default();
        for (direction, ends) in
            [[&connecting, &accepting], [&accepting, &connecting]].into_iter().enumerate()
        {
            let [from, to] = ends;
            let direction_streams = [2 * direction, 2 * direction + 1];
            let [sends, receives] = direction_streams.map(|stream| streams.calls(stream));
            let observed =
                looks::collect_looks(sends, receives, [&from.sending, &to.receiving], apart);
            let placed =
                place_epochs(&observed.cells, observed.bytes, [from.is_found, to.is_found])?;
            let positions_of_streams = [&from.sending, &to.receiving].into_iter().zip(placed);
            for (stream, (epochs, positions)) in
                direction_streams.into_iter().zip(positions_of_streams)
            {
                let begins = epochs.iter().map(|epoch: &Epoch| epoch.begin);
                counts[stream] =
                    begins.zip(positions).filter(|(begin, _)| *begin > i64::MIN).collect();
            }
        }
        Some(AlignedStreams { streams, counts })
    }
}

/// Positions at which the epochs of both call streams of a direction begin, counted from an
/// arbitrary byte, or from the first byte if the recording of an end has it. `bytes` are the bytes
/// of each epoch; `found` states whether the sender and the receiver were found in use. `None` if
/// the positions are uncertain.
fn place_epochs(
    cells: &[EpochOverlap],
    bytes: [Vec<i64>; 2],
    found: [bool; 2],
) -> Option<[Vec<u64>; 2]> {
    let mut places = EpochPlaces::new(bytes, found);
    for cell in cells {
        match cell.apart() {
            Some(apart) => places.place_pair(cell.epochs, apart)?,
            None if cell.is_impossible() || cell.moved == [true; 2] => return None,
            None => {}
        }
    }
    places.finish()
}

/// Positions of epochs in the stream, the sender's and the receiver's, in bytes.
struct EpochPlaces {
    /// Number of bytes of each epoch.
    bytes: [Vec<i64>; 2],
    /// Position at which each epoch begins; `None` if it has none yet.
    begins: [Vec<Option<i64>>; 2],
    /// End of the last placed epoch, of each side.
    ends: [i64; 2],
}

impl EpochPlaces {
    /// Places only the first epoch of an end that was recorded from its first byte on.
    fn new(bytes: [Vec<i64>; 2], found: [bool; 2]) -> EpochPlaces {
        let begins = [0, 1].map(|side: usize| vec![None; bytes[side].len()]);
        let mut this = EpochPlaces { bytes, begins, ends: [-1; 2] };
        (0..2).filter(|side| !found[*side]).for_each(|side| this.place_at(side, 0, 0));
        this
    }

    /// Places an epoch at `begin`, after all placed epochs of its side.
    fn place_at(&mut self, side: usize, epoch: usize, begin: i64) {
        if let Some(place) = self.begins[side].get_mut(epoch) {
            *place = Some(begin);
            self.ends[side] = begin + self.bytes[side][epoch];
        }
    }

    /// A position after all placed epochs, with a gap of one byte: an epoch without a counterpart
    /// must not be adjacent to anything at the other end.
    fn free_position(&self) -> i64 {
        self.ends[0].max(self.ends[1]) + 1
    }

    /// Places the epochs before `epoch` that have no place, because no look covered them.
    fn place_uncovered(&mut self, side: usize, epoch: usize) {
        for before in 0..epoch.min(self.begins[side].len()) {
            if self.begins[side][before].is_none() {
                let begin = self.free_position();
                self.place_at(side, before, begin);
            }
        }
    }

    /// Places an epoch of the sender and one of the receiver, which begins `apart` bytes later.
    /// `None` if that contradicts known positions.
    fn place_pair(&mut self, epochs: [usize; 2], apart: i64) -> Option<()> {
        (0..2).for_each(|side| self.place_uncovered(side, epochs[side]));
        let known = [0, 1].map(|side| self.begins[side].get(epochs[side]).copied().flatten());
        let begins = match known {
            [Some(sent), _] => [sent, sent + apart],
            [None, Some(received)] => [received - apart, received],
            [None, None] => {
                let sent = self.free_position() + 0.max(-apart);
                [sent, sent + apart]
            }
        };
        for side in 0..2 {
            match known[side] {
                Some(known) if known == begins[side] => {}
                None if begins[side] >= self.ends[side].max(0) => {
                    self.place_at(side, epochs[side], begins[side]);
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn finish(mut self) -> Option<[Vec<u64>; 2]> {
        (0..2).for_each(|side| self.place_uncovered(side, usize::MAX));
        let [sent, received] = self.begins.map(|of_side| {
            let begins = of_side.into_iter().map(|begin| u64::try_from(begin?).ok());
            begins.collect::<Option<Vec<u64>>>()
        });
        Some([sent?, received?])
    }
}

impl<W: CallStreams> CallStreams for AlignedStreams<'_, W> {
    fn calls(&self, stream: usize) -> impl Iterator<Item = StreamTransfer> {
        let counts = self.counts.get(stream).map_or(&[][..], Vec::as_slice);
        let mut counts = counts.iter().copied().peekable();
        let calls = self.streams.calls(stream).filter(|call| !call.is_mark());
        calls.flat_map(move |call| {
            let mut latest = None;
            while let Some((_, count)) = counts.next_if(|(begin, _)| *begin <= call.time) {
                latest = Some(StreamTransfer::counted_from(call.time, count));
            }
            latest.into_iter().chain([call])
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
    use crate::indices::ProcessIndex;
    use crate::streams::counted_streams::CountedStreams;

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

    /// Microseconds.
    const US: i64 = 1_000;
    const APART: i64 = 10 * US;

    /// One direction between two ends, with recordings (processes) of each. Times are in
    /// microseconds: `s 0 100..110 50` is a send in recording 0, `r` a receive, `l 0 100 7` a look
    /// at a queue of 7 bytes. The number after a slash is the thread of a receive or look.
    fn direction(text: &str) -> [Vec<StreamTransfer>; 2] {
        let mut streams: [Vec<StreamTransfer>; 2] = Default::default();
        for line in text.split(';') {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [kind, caller, when, bytes] = words[..] else { panic!("{line}") };
            let (process, tid) = caller.split_once('/').unwrap_or((caller, "1"));
            let (process, tid): (usize, i32) = (process.parse().unwrap(), tid.parse().unwrap());
            let process = ProcessIndex::from_index(process);
            let (from, to) = when.split_once("..").unwrap_or((when, when));
            let [from, to] = [from, to].map(|time| time.parse::<i64>().unwrap() * US);
            let call = |time, origin| StreamTransfer {
                time,
                bytes: bytes.parse().unwrap(),
                origin,
                tid,
                elsewhere: false,
                begins: false,
            };
            let by = TransferOrigin::from_call(process);
            let edge = TransferOrigin::from_edge(process);
            let look = TransferOrigin::from_look(process);
            match kind {
                "s" => streams[0].extend([call(from, by), call(to + APART, edge)]),
                "r" => streams[1].extend([call(from - APART, edge), call(to, by)]),
                _ => streams[1].push(call(from, look)),
            }
        }
        streams.iter_mut().for_each(|stream| stream.sort_by_key(|call| call.time));
        streams
    }

    /// Time and place in the stream of the calls of both ends; the first is at 0.
    fn placed_calls(text: &str, found: [bool; 2]) -> Option<[Vec<(i64, u64)>; 2]> {
        let [sends, receives] = direction(text);
        let streams = GivenStreams([sends, receives, Vec::new(), Vec::new()]);
        let aligned = AlignedStreams::align(&streams, found, APART)?;
        let counted = CountedStreams::align_counts(&aligned, true, Some(APART))?;
        Some([0, 1].map(|stream| {
            let mut place = 0;
            let mut all = Vec::new();
            for call in counted.calls(stream) {
                if !call.is_forgotten() {
                    all.push((call.time / US, place));
                }
                place += call.bytes;
            }
            all
        }))
    }

    fn of_found(text: &str) -> Option<[Vec<(i64, u64)>; 2]> {
        placed_calls(text, [true; 2])
    }

    #[test]
    fn a_look_at_a_quiet_moment_locates_the_receiver() {
        // 30 of 100 bytes are in the queue, so the receiver had 20 before its recording.
        let text = "s 0 100..110 50; l 1 200 30; r 1 201..210 30; s 0 300..310 7; r 1 301..320 7;
                    s 0 900..910 1";
        let [sends, receives] = of_found(text).unwrap();
        assert_eq!(sends, [(100, 0), (300, 50), (900, 57)]);
        assert_eq!(receives, [(210, 20), (320, 50)]);
    }

    #[test]
    fn a_receiver_that_was_recorded_before_is_counted_from_its_own_first_byte() {
        let text = "l 1 50 0; r 1 51..60 40; l 1 61 10; r 1 62..70 10; s 0 100..110 5;
                    r 1 105..115 5; l 1 200 0; s 0 300..310 3; r 1 201..320 3; s 0 900..910 1";
        let [sends, receives] = of_found(text).unwrap();
        assert_eq!(sends, [(100, 50), (300, 55), (900, 58)]);
        assert_eq!(receives, [(60, 0), (70, 40), (115, 50), (320, 55)]);
    }

    #[test]
    fn calls_in_progress_at_a_look_leave_it_uncertain() {
        // The send may have put any part of its bytes into the queue.
        let sends = "s 0 100..110 50; s 0 200..400 1000";
        let last = "r 1 301..410 500; s 0 900..910 1";
        assert_eq!(of_found(&format!("{sends}; l 1 300 400; {last}")), None);
        // One more look at a quiet moment.
        assert!(of_found(&format!("{sends}; l 1 300 400; {last}; l 1 500 20")).is_some());
        // Another thread may have received it; the looking thread has not.
        let text = |thread| {
            format!(
                "s 0 100..110 50; l 1 150 0; s 0 200..210 50; r 1/{thread} 140..320 50;
                 l 1 400 0; r 1/{thread} 399..800 50; s 0 700..710 50; s 0 900..910 1"
            )
        };
        assert!(of_found(&text(1)).is_some());
        let other = "s 0 100..110 50; r 1/2 140..320 50; l 1 150 0; s 0 200..210 50;
                     l 1 400 0; r 1/2 330..800 50; s 0 700..710 50; s 0 900..910 1";
        assert_eq!(of_found(other), None);
    }

    #[test]
    fn receives_of_a_thread_that_seem_to_overlap_are_over_once_all_have_returned() {
        let text = "s 0 100..110 50; r 1/2 160..90000 8; r 1/2 170..180 42;
                    s 0 80000..80010 8; l 1 95000 8; s 0 99000..99010 1";
        let [sends, receives] = of_found(text).unwrap();
        assert_eq!(sends, [(100, 0), (80_000, 50), (99_000, 58)]);
        assert_eq!(receives, [(180, 0), (90_000, 42)]);
    }

    #[test]
    fn contradicting_looks_are_rejected() {
        let text = "s 0 100..110 50; l 1 200 50; r 1 201..210 50; s 0 300..310 7;
                    r 1 301..320 7; s 0 900..910 1";
        assert!(of_found(&format!("{text}; l 1 500 0")).is_some());
        assert_eq!(of_found(&format!("{text}; l 1 500 1")), None, "a call was not seen");
    }

    #[test]
    fn a_second_recording_continues_at_a_look() {
        // The sender was not recorded while 40 bytes were sent.
        let text = "s 0 100..110 50; l 1 200 50; r 1 201..210 50; s 0 300..310 1; r 1 305..315 1;
                    r 1 401..410 40; s 2 500..510 5; r 1 501..515 5; l 1 600 0;
                    s 2 700..710 3; r 1 601..720 3; s 2 900..910 1";
        let [sends, receives] = of_found(text).unwrap();
        assert_eq!(sends, [(100, 0), (300, 50), (500, 91), (700, 96), (900, 99)]);
        assert_eq!(receives, [(210, 0), (315, 50), (410, 51), (515, 91), (720, 96)]);
        // Neither end was recorded in between: the number of bytes is unknown, and none is matched.
        let text = "s 0 100..110 50; l 1 200 50; r 1 201..210 50; s 0 300..310 1; r 1 305..315 1;
                    l 3 500 10; r 3 501..510 10; s 2 520..530 5; l 3 600 5; r 3 601..610 5;
                    s 2 900..910 1";
        let [sends, receives] = of_found(text).unwrap();
        let [first, second] = [sends[2].1, receives[3].1];
        assert_eq!(sends, [(100, 0), (300, 50), (520, first), (900, first + 5)]);
        assert_eq!(receives, [(210, 0), (315, 50), (510, second - 10), (610, second)]);
        assert!(first == second && receives[2].1 > 51);
    }

    #[test]
    fn recordings_of_one_end_alone_match_nothing() {
        let text = "s 0 100..110 50; s 0 200..210 1; l 1 300 9; r 1 301..310 9;
                    s 2 500..510 5; l 3 600 5; r 3 601..610 5; s 2 900..910 1";
        let [sends, receives] = of_found(text).unwrap();
        assert_eq!(sends[2].1, receives[1].1);
        assert!(sends[1].1 < receives[0].1 && receives[0].1 + 9 <= receives[1].1, "{receives:?}");
    }

    #[test]
    fn an_end_that_was_seen_from_the_first_byte_on_is_counted_from_there() {
        let text = "s 0 100..110 50; s 0 200..210 9; l 1 300 9; r 1 301..310 9; s 0 900..910 1";
        let [sends, receives] = placed_calls(text, [false, true]).unwrap();
        assert_eq!((sends[0], receives), ((100, 0), vec![(310, 50)]));
        let more = "l 1 300 70; r 1 301..310 9; s 0 100..110 50; s 0 900..910 1";
        assert_eq!(placed_calls(more, [false, true]), None, "more than was sent");
    }

    #[test]
    fn without_a_look_the_alignment_is_uncertain() {
        let text = "s 0 100..110 50; r 1 201..210 50; s 0 300..310 7; r 1 301..320 7";
        assert_eq!(of_found(text), None);
        assert!(of_found("s 0 100..110 50; s 0 900..910 1").is_some());
    }
}
