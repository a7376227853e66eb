//! Inner gap: the longest pause within a connection's messages, learned from the connection.
//!
//! Two parts that one side sends while the other sends nothing may be one message with a pause in
//! it, or the end of one call and the beginning of the next: if both sides send requests on one
//! connection, an answer is followed by a request of the same side. A fixed time cannot distinguish
//! them. The calls can: between two pauses that separate calls there are as many messages in one
//! direction as in the other, however many calls there are. Pieces of one message break that. So
//! the result is the shortest limit for which the sides are even nearly everywhere between longer
//! pauses.
//!
//! Heads and bodies that come apart in both directions look like calls of alternating sides. There
//! each burst has a single call, so several bursts must have more.

use crate::calls::FlowMessage;
use crate::streams::fragment_order::OrderedFragments;
use crate::tuning::{
    BURSTS_PER_LONG_BURST, BURSTS_PER_UNEVEN_BURST, INNER_GAPS_NS, MIN_INNER_BOUNDARIES,
};

/// Maximum pause within the messages of a connection with these fragments, there and back, in
/// nanoseconds, in the view of end number `end`: the connecting (0) or the accepting one (1).
/// `most` if the connection does not determine it.
pub(crate) fn learn_inner_gap(
    there: impl Iterator<Item = FlowMessage>,
    back: impl Iterator<Item = FlowMessage>,
    end: usize,
    most: i64,
) -> i64 {
    let mut bursts = INNER_GAPS_NS.map(FragmentBursts::longer_than);
    let mut last: [Option<FlowMessage>; 2] = [None; 2];
    let mut former = None;
    for (direction, part) in OrderedFragments::new(there, back, end) {
        let is_turn = former != Some(direction);
        let pause = last[direction].filter(|_| !is_turn).map(|last| pause_between(&last, &part));
        for burst in &mut bursts {
            burst.add(direction, pause, most);
        }
        (last[direction], former) = (Some(part), Some(direction));
    }
    let learned = bursts.iter().find(|bursts| bursts.gap < most && bursts.are_calls());
    learned.map_or(most, |bursts| bursts.gap)
}

/// Time between two fragments at the sender; if that was not seen, at the receiver.
fn pause_between(last: &FlowMessage, next: &FlowMessage) -> i64 {
    let between = |[last, next]: [Option<crate::calls::CallSpan>; 2]| {
        Some(next?.first.saturating_sub(last?.last))
    };
    between([last.sent, next.sent])
        .or_else(|| between([last.received, next.received]))
        .unwrap_or(i64::MAX)
}

/// Bursts: the fragments between pauses that are longer than a limit.
#[derive(Clone, Copy, Debug)]
struct FragmentBursts {
    /// The limit, in nanoseconds.
    gap: i64,
    /// Messages of the current burst, there and back.
    messages: [u64; 2],
    /// Number of bursts.
    all: u64,
    /// Number of bursts with as many messages there as back.
    even: u64,
    /// Number of even bursts with several messages there and back.
    long: u64,
}

impl FragmentBursts {
    /// Bursts between pauses that are longer than `gap` nanoseconds.
    fn longer_than(gap: i64) -> FragmentBursts {
        FragmentBursts { gap, messages: [0; 2], all: 0, even: 0, long: 0 }
    }

    /// Adds a fragment after a `pause`, which is `None` if the other side has sent something in
    /// between. A pause longer than `most` separates messages anyway, and is no evidence.
    fn add(&mut self, direction: usize, pause: Option<i64>, most: i64) {
        match pause {
            Some(pause) if pause <= self.gap => return,
            Some(pause) if pause <= most => self.end_burst(),
            Some(_) => self.messages = [0; 2],
            None => {}
        }
        self.messages[direction] += 1;
    }

    /// Counts the current burst, and begins the next one.
    fn end_burst(&mut self) {
        let [there, back] = std::mem::take(&mut self.messages);
        self.all += 1;
        self.even += u64::from(there == back);
        self.long += u64::from(there == back && there > 1);
    }

    /// Whether the limit separates calls, and not parts of messages: nearly all bursts are even,
    /// and enough of them have several calls.
    fn are_calls(&self) -> bool {
        self.all >= MIN_INNER_BOUNDARIES
            && (self.all - self.even) * BURSTS_PER_UNEVEN_BURST <= self.all
            && self.long * BURSTS_PER_LONG_BURST >= self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallSpan;
    use crate::indices::ProcessIndex;

    const MS: i64 = 1_000_000;

    /// The gap learned from fragments in sequence, `>` there and `<` back; a digit is a pause of as
    /// many tens of milliseconds, and the default is a tenth of a millisecond.
    fn learned(talk: &str) -> i64 {
        let (mut at, mut sides) = (0, [Vec::new(), Vec::new()]);
        for letter in talk.chars() {
            let Some(side) = "><".find(letter) else {
                at += i64::from(letter.to_digit(10).unwrap_or(0)) * 10 * MS;
                continue;
            };
            at += MS / 10;
            let seen = Some(CallSpan::from_call(at, ProcessIndex::from_index(side), 1));
            sides[side].push(FlowMessage {
                sent: seen,
                received: seen,
                bytes: 40,
                parts: 1,
                elsewhere: true,
                acted: true,
                begins: [false; 2],
            });
        }
        let [there, back] = sides;
        let ends = [0, 1]
            .map(|end| learn_inner_gap(there.iter().copied(), back.iter().copied(), end, 100 * MS));
        assert_eq!(ends[0], ends[1]);
        ends[0]
    }

    #[test]
    fn peers_that_both_send_requests_pause_only_between_calls() {
        let calls = "><5><3<>4<>6><2<>5><7><4><5<>3<>3><6<>4<>5".repeat(6);
        assert_eq!(learned(&calls), INNER_GAPS_NS[0]);
        // Several at a time, and a head before each body.
        assert_eq!(learned(&">><<5>><<3<<<>>>4<>6><2<>5".repeat(9)), INNER_GAPS_NS[0].max(MS / 4));
    }

    #[test]
    fn bodies_in_pieces_with_stalls_are_one_message() {
        for talk in ["><4<4<6<3", "><<4<<5<", ">5>5><5<5<6", "><5<5"] {
            assert_eq!(learned(&talk.repeat(20)), 100 * MS, "{talk}");
        }
        // Both sides in two pieces each look like calls of alternating sides.
        assert_eq!(learned(&">5><5<5".repeat(40)), 100 * MS);
        assert_eq!(learned(&">5".repeat(99)), 100 * MS, "no answers");
        assert_eq!(learned("><5><3<>4<>6"), 100 * MS, "too few to tell");
    }

    #[test]
    fn stalls_of_peers_are_shorter_than_their_pauses() {
        // Answers in two pieces, 10 ms apart, and calls that are 50 ms apart.
        let talk = "><1<5><1<5<>1>5<>1>5><1<5".repeat(9);
        let learned = learned(&talk);
        assert!((10 * MS..50 * MS).contains(&learned), "{learned}");
    }
}
