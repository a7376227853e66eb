//! Records of rare words: keyed hashes of the words by which a message may be found again in
//! another one.

use super::transfers::Direction;
use crate::layout::{MAX_RARE_WORDS, kind, rare_words};

/// Hashes of the rare words of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RareWords {
    values: [u32; MAX_RARE_WORDS],
    count: u8,
}

impl RareWords {
    /// The first [`MAX_RARE_WORDS`] of these hashes.
    #[inline(always)]
    pub fn from_values(values: impl IntoIterator<Item = u32>) -> RareWords {
        let mut this = RareWords::default();
        for (place, value) in this.values.iter_mut().zip(values) {
            *place = value;
            this.count += 1;
        }
        this
    }

    /// The hashes.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u32] {
        self.values.get(..usize::from(self.count)).unwrap_or(&[])
    }
}

/// Aux field (the high 16 bits of the first word) of a record of rare words: direction, and low
/// bits of the flow. The record's place says which transfer it follows; the field shows whether a
/// signal handler has written another transfer in between.
#[inline(always)]
pub const fn rare_words_aux(direction: Direction, flow: u32) -> u16 {
    let received = if matches!(direction, Direction::Receive) { rare_words::RECEIVED } else { 0 };
    (flow << (16 - rare_words::FLOW_BITS)) as u16 | received
}

/// First word of the record of `count` rare words of a transfer or datagram. The hashes follow.
#[inline(always)]
pub const fn rare_words_head(direction: Direction, flow: u32, count: usize) -> u32 {
    let length = 1 + count as u32;
    kind::RARE_WORDS as u32 | length << 8 | (rare_words_aux(direction, flow) as u32) << 16
}
