//! Records built word by word, and the parts from which they are built.

use crate::layout::kind;

/// Number of words of the longest [`RecordWords`]: two names of 128 bytes each and the words before
/// them.
const MAX_WORDS: usize = 72;
/// Maximum number of words of a record without names, other than a flow's.
pub(super) const USUAL_WORDS: usize = 8;

/// Number of words of a flow's record.
const FLOW_RECORD_WORDS: usize = 10;

/// Record of a flow.
pub(super) type FlowWords = RecordWords<FLOW_RECORD_WORDS>;

/// Record with names.
pub(super) type LongWords = RecordWords<MAX_WORDS>;

/// Record of any kind except the common one, built word by word in a buffer of its own. Its size on
/// the stack matters, since hooks run where there is little.
#[derive(Clone, Copy)]
pub struct RecordWords<const CAPACITY: usize = USUAL_WORDS> {
    pub(super) words: [u32; CAPACITY],
    pub(super) len: usize,
}

impl<const CAPACITY: usize> RecordWords<CAPACITY> {
    /// The first three words of a record, without its length. `aux` is stored in the high 16 bits
    /// of the first word, and has a meaning for each kind.
    #[inline]
    pub(super) fn new(kind: u8, aux: u16, ticks: u64, flow: u32) -> RecordWords<CAPACITY> {
        let mut this = RecordWords { words: [0; CAPACITY], len: 3 };
        this.words[0] = u32::from(kind) | u32::from(aux) << 16;
        this.words[1] = ticks as u32;
        this.words[2] = flow;
        this
    }

    /// Appends a word, unless the buffer is full.
    #[inline]
    pub(super) fn push(&mut self, word: u32) {
        if let Some(slot) = self.words.get_mut(self.len) {
            *slot = word;
            self.len += 1;
        }
    }

    /// Appends a number of two words, the low one first.
    #[inline]
    pub(super) fn push_u64(&mut self, value: u64) {
        self.push(value as u32);
        self.push((value >> 32) as u32);
    }

    /// Record of the first of these words, up to `CAPACITY` of them.
    #[inline]
    pub(super) fn from_words(words: impl Iterator<Item = u32>) -> RecordWords<CAPACITY> {
        let mut this = RecordWords { words: [0; CAPACITY], len: 0 };
        words.for_each(|word| this.push(word));
        this
    }

    /// The record with its length in the first word.
    #[inline]
    pub(super) fn finish(mut self) -> RecordWords<CAPACITY> {
        self.words[0] |= (self.len as u32) << 8;
        self
    }

    /// The record without the zero words at its end, except among the first `least` words.
    #[inline]
    pub(super) fn without_zeros(mut self, least: usize) -> RecordWords<CAPACITY> {
        while self.len > least && self.words.get(self.len - 1) == Some(&0) {
            self.len -= 1;
        }
        self.finish()
    }

    /// Words of the record. The first one commits it and is to be stored last.
    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.words[..self.len]
    }
}

/// Word to store first in place of a record of `words` words, see [`layout`](crate::layout).
#[inline]
pub fn reservation_word(words: usize) -> u32 {
    u32::from(kind::RESERVED) | (words as u32) << 8
}

/// Bytes as words, the last padded with zeros.
#[inline(always)]
pub fn padded_words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks(4).map(|part| {
        let mut word = [0; 4];
        match part.try_into() {
            Ok(whole) => word = whole,
            Err(_) => word[..part.len()].copy_from_slice(part),
        }
        u32::from_le_bytes(word)
    })
}

/// Number in two words, the low one first.
#[inline]
pub fn join_words(words: &[u32]) -> u64 {
    words.iter().rev().fold(0, |number, word| number << 32 | u64::from(*word))
}

/// Bytes of a `sockaddr`, cut at the 128 of `sockaddr_storage`; a longer one is a caller's mistake.
#[inline(always)]
pub(super) fn cut_address(address: &[u8]) -> &[u8] {
    &address[..address.len().min(128)]
}
