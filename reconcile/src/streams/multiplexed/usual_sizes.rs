//! Messages of usual sizes on a multiplexed connection. There a program writes several messages in
//! one call, or one in several calls, and only their sizes show where they end. Most calls of a
//! connection are alike, so that few sizes are usual: data as long as two of them together is two
//! messages, and two pieces that add up to one are one message.
//!
//! The usual sizes are learned from the data sent without a turn of the other side. If it varies
//! much, nothing is cut.

use std::collections::{BTreeMap, VecDeque};

use crate::calls::{FlowMessage, append_message};
use crate::tuning::{
    MAX_MESSAGES_OF_A_PIECE, MAX_SETUP_TURNS, MAX_USUAL_SIZES, MIN_OF_A_USUAL_SIZE,
    MIN_SINGLE_MESSAGE_SHARE, MIN_TURNS_AFTER_SETUP, MIN_WHOLE_MESSAGES_SHARE, TURNS_A_USUAL_SIZE,
};

/// The usual sizes of the messages of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsualSizes {
    /// The sizes of the messages that add up to a number of bytes, with the fewest messages.
    sums: BTreeMap<u64, Vec<u64>>,
    /// Sizes of frequent parts of messages.
    parts: Vec<u64>,
}

impl UsualSizes {
    /// Learns the usual sizes from turns of these sizes.
    pub(crate) fn from_turns(turns: &[u64]) -> UsualSizes {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        turns
            .iter()
            .filter(|size| **size > 0)
            .for_each(|size| *counts.entry(*size).or_default() += 1);
        let often = |count: usize| {
            count >= MIN_OF_A_USUAL_SIZE && count * TURNS_A_USUAL_SIZE >= turns.len()
        };
        let mut usual: Vec<(u64, usize)> =
            counts.into_iter().filter(|(_, count)| often(*count)).collect();
        let all = usual.clone();
        // A size that makes up a more frequent message together with something else is a part of
        // it. Two of one size are two messages, however often they come together.
        let count =
            |size: u64| all.iter().find(|(of, _)| *of == size).map_or(0, |(_, count)| *count);
        let is_part = |(size, own): &(u64, usize)| {
            all.iter().any(|(whole, of)| {
                whole > size
                    && whole - size != *size
                    && of > own
                    && count(whole - size) > 0
                    && of > &count(whole - size)
            })
        };
        let parts: Vec<u64> =
            usual.iter().filter(|size| is_part(size)).map(|(size, _)| *size).collect();
        usual.retain(|size| !is_part(size));
        // A size that is the sum of several messages is not the size of one message.
        let mut sizes: Vec<u64> = Vec::new();
        for (size, _) in &usual {
            if sizes.len() > MAX_USUAL_SIZES {
                return UsualSizes::default();
            }
            if !sums_of_sizes(&sizes).contains_key(size) {
                sizes.push(*size);
            }
        }
        let sums = sums_of_sizes(&sizes);
        let is_whole = |size: &u64| sums.contains_key(size) || parts.contains(size);
        let setup = turns.iter().take(MAX_SETUP_TURNS).take_while(|size| !is_whole(size)).count();
        let turns =
            if turns.len() >= setup + MIN_TURNS_AFTER_SETUP { &turns[setup..] } else { turns };
        let share = |is: &dyn Fn(&u64) -> bool| {
            turns.iter().filter(|size| is(size)).count() as f64 / turns.len() as f64
        };
        let is_usual = !sizes.is_empty()
            && sizes.len() <= MAX_USUAL_SIZES
            && share(&|size| sizes.contains(size)) >= MIN_SINGLE_MESSAGE_SHARE
            && share(&is_whole) >= MIN_WHOLE_MESSAGES_SHARE;
        if is_usual { UsualSizes { sums, parts } } else { UsualSizes::default() }
    }

    /// Whether this number of bytes is one or several whole messages.
    pub(crate) fn are_whole(&self, bytes: u64) -> bool {
        self.sums.contains_key(&bytes)
    }

    /// Number of messages in these bytes, if they are whole ones.
    pub(crate) fn count_messages(&self, bytes: u64) -> Option<usize> {
        self.sums.get(&bytes).map(Vec::len)
    }

    /// The size of the largest usual message; 0 if none is usual.
    pub(crate) fn largest_size(&self) -> u64 {
        let single = self.sums.iter().filter(|(_, messages)| messages.len() == 1);
        single.map(|(size, _)| *size).max().unwrap_or(0)
    }

    /// Whether this number of bytes may be a part of a usual message.
    fn is_shorter(&self, bytes: u64) -> bool {
        self.sums.iter().any(|(size, messages)| messages.len() == 1 && bytes < *size)
    }

    /// Whether two pieces make up messages together. A piece that is not a frequent part must make
    /// up exactly one with the other piece.
    fn completes_message(&self, begun: u64, piece: u64) -> bool {
        let is_one = self.sums.get(&(begun + piece)).is_some_and(|messages| messages.len() == 1);
        is_one || self.parts.contains(&begun) && self.cut_messages(begun + piece).is_some()
    }

    /// Cuts these bytes into messages, and returns these with the number of remaining bytes, which
    /// begin an incomplete one.
    fn cut_messages(&self, bytes: u64) -> Option<(&[u64], u64)> {
        if let Some(sizes) = self.sums.get(&bytes) {
            return Some((sizes, 0));
        }
        if self.parts.contains(&bytes) {
            return Some((&[], bytes));
        }
        let left = self
            .parts
            .iter()
            .find(|part| bytes > **part && self.sums.contains_key(&(bytes - **part)))?;
        Some((self.sums.get(&(bytes - left))?, *left))
    }
}

/// Sums of up to [`MAX_MESSAGES_OF_A_PIECE`] messages of these sizes, by their number of bytes.
fn sums_of_sizes(sizes: &[u64]) -> BTreeMap<u64, Vec<u64>> {
    let mut all: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut latest: Vec<Vec<u64>> = vec![Vec::new()];
    for _ in 0..MAX_MESSAGES_OF_A_PIECE {
        let mut more: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for messages in &latest {
            for size in sizes {
                let longer: Vec<u64> = messages.iter().chain([size]).copied().collect();
                more.entry(longer.iter().sum()).or_insert(longer);
            }
        }
        latest = more.values().cloned().collect();
        for (sum, messages) in more {
            all.entry(sum).or_insert(messages);
        }
    }
    all
}

/// Iterator over the messages of one direction, cut by usual sizes as far as they are known.
#[derive(Debug)]
pub(crate) struct MessageCutter<'a, P> {
    fragments: P,
    units: &'a UsualSizes,
    /// A part of a message that may continue.
    begun: Option<FlowMessage>,
    /// Time within which a message may continue, in nanoseconds.
    gap: i64,
    /// Complete messages.
    ready: VecDeque<FlowMessage>,
}

impl<'a, P: Iterator<Item = FlowMessage>> MessageCutter<'a, P> {
    /// Cuts and joins `pieces`, with at most `gap` nanoseconds between joined ones.
    pub(crate) fn new(pieces: P, units: &'a UsualSizes, gap: i64) -> MessageCutter<'a, P> {
        MessageCutter { fragments: pieces, units, begun: None, gap, ready: VecDeque::new() }
    }

    /// Adds the next fragment, and makes the messages that it completes ready.
    fn take_fragment(&mut self, piece: FlowMessage) {
        let goes_on = |begun: &FlowMessage| {
            let [one, other] = [begun, &piece].map(|part| part.sent.or(part.received));
            let is_near = one
                .zip(other)
                .is_some_and(|(one, other)| other.first.saturating_sub(one.last) <= self.gap);
            let is_seen = begun.sent.is_some() == piece.sent.is_some()
                && begun.received.is_some() == piece.received.is_some();
            is_near && is_seen && !self.units.are_whole(piece.bytes)
        };
        let mut whole = piece;
        match self.begun.take() {
            Some(begun)
                if goes_on(&begun) && self.units.completes_message(begun.bytes, piece.bytes) =>
            {
                whole = begun;
                append_message(&mut whole, &piece);
            }
            begun => self.ready.extend(begun),
        }
        let Some((sizes, left)) = self.units.cut_messages(whole.bytes) else {
            // The piece may be a part of a message that is seldom cut there.
            match self.units.is_shorter(whole.bytes) {
                true => self.begun = Some(whole),
                false => self.ready.push_back(whole),
            }
            return;
        };
        // The earlier part goes into the first message, and the remainder began with the last
        // piece.
        for (place, size) in sizes.iter().enumerate() {
            let of = if place == 0 { &whole } else { &piece };
            let parts = if place == 0 { whole.parts } else { 1 };
            self.ready.push_back(FlowMessage { bytes: *size, parts, ..*of });
        }
        let last = if sizes.is_empty() { whole } else { FlowMessage { parts: 1, ..piece } };
        self.begun = (left > 0).then_some(FlowMessage { bytes: left, ..last });
    }
}

impl<P: Iterator<Item = FlowMessage>> Iterator for MessageCutter<'_, P> {
    type Item = FlowMessage;

    fn next(&mut self) -> Option<FlowMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            match self.fragments.next() {
                Some(piece) => self.take_fragment(piece),
                None => return self.begun.take(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallSpan;
    use crate::indices::ProcessIndex;

    /// Messages cut from pieces of these sizes, each `apart` nanoseconds after the previous one.
    fn cut(units: &UsualSizes, pieces: &[u64], apart: i64) -> Vec<(u64, i64, i64)> {
        let parts = pieces.iter().zip(0..).map(|(bytes, at)| {
            let seen = Some(CallSpan::from_call(apart * at, ProcessIndex::default(), 1));
            FlowMessage {
                sent: seen,
                received: seen,
                bytes: *bytes,
                parts: 1,
                elsewhere: true,
                acted: false,
                begins: [false; 2],
            }
        });
        let times = |part: FlowMessage| part.sent.map(|seen| (part.bytes, seen.first, seen.last));
        MessageCutter::new(parts, units, 100).filter_map(times).collect()
    }

    /// Turns of these sizes, each repeated.
    fn turns(of: &[(u64, usize)]) -> Vec<u64> {
        of.iter().flat_map(|(size, count)| vec![*size; *count]).collect()
    }

    #[test]
    fn pieces_are_cut_at_usual_sizes_and_put_together() {
        let units = UsualSizes::from_turns(&turns(&[
            (55, 300),
            (44, 40),
            (11, 40),
            (110, 50),
            (66, 5),
            (78, 3),
        ]));
        let cut = |pieces| cut(&units, pieces, 10);
        assert_eq!(cut(&[55, 110]), [(55, 0, 0), (55, 10, 10), (55, 10, 10)]);
        assert_eq!(cut(&[44, 11, 55]), [(55, 0, 10), (55, 20, 20)]);
        // The end of one message with the beginning of the next.
        assert_eq!(cut(&[44, 66, 44, 11]), [(55, 0, 10), (55, 10, 10), (55, 20, 30)]);
        // A message that is seldom sent in two pieces.
        assert_eq!(cut(&[55, 30, 25, 55]), [(55, 0, 0), (55, 10, 20), (55, 30, 30)]);
        // A piece that fits nothing stays as it is, and so does a part that nothing follows.
        assert_eq!(
            cut(&[55, 78, 44, 55, 11]),
            [55, 78, 44, 55, 11]
                .iter()
                .zip(0..)
                .map(|(b, n)| (*b, 10 * n, 10 * n))
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn setup_messages_have_no_usual_size() {
        let setup: Vec<u64> = (0..28).map(|at| 201 + 7 * at).collect();
        let few = turns(&[(55, 40), (110, 10), (61, 4)]);
        assert!(UsualSizes::from_turns(&[setup.clone(), few.clone()].concat()).are_whole(110));
        let among: Vec<u64> = few.iter().copied().chain(setup).collect();
        assert!(!UsualSizes::from_turns(&among).are_whole(110));
    }

    #[test]
    fn a_part_does_not_wait_for_long() {
        let units = UsualSizes::from_turns(&turns(&[(55, 300), (44, 40), (11, 40)]));
        assert_eq!(cut(&units, &[44, 11], 101).len(), 2);
    }

    #[test]
    fn messages_of_two_kinds_are_distinguished() {
        let units = UsualSizes::from_turns(&turns(&[
            (66, 100),
            (68, 120),
            (134, 60),
            (31, 20),
            (37, 20),
            (29, 20),
        ]));
        let sizes = |pieces: &[u64]| -> Vec<u64> {
            cut(&units, pieces, 10).iter().map(|(bytes, ..)| *bytes).collect()
        };
        assert_eq!(sizes(&[134]).iter().sum::<u64>(), 134);
        assert_eq!(sizes(&[134]).len(), 2);
        // Three messages, and the beginning of a fourth.
        assert_eq!(sizes(&[68 * 3 + 29, 37]), [68, 68, 68, 66]);
    }

    #[test]
    fn messages_of_one_size_in_pairs_stay_separate() {
        let units = UsualSizes::from_turns(&turns(&[(24, 60), (48, 90)]));
        assert_eq!(
            cut(&units, &[24, 24, 48], 10).iter().map(|(bytes, ..)| *bytes).collect::<Vec<_>>(),
            [24; 4]
        );
    }

    #[test]
    fn widely_varying_sizes_are_not_cut() {
        let units = UsualSizes::from_turns(&(100..1_100).collect::<Vec<u64>>());
        assert_eq!(cut(&units, &[100, 200, 400], 10).len(), 3);
        // Nor are bodies usual if only a few have one size.
        let units =
            UsualSizes::from_turns(&(100..1_100).chain(turns(&[(64, 100)])).collect::<Vec<u64>>());
        assert_eq!(cut(&units, &[128], 10).len(), 1);
    }
}
