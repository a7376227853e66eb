//! Counts of words: how often this process has seen a word recently.
//!
//! The counts are in a small table of pairs of entries, which all threads share. A word that
//! appears in most messages keeps an entry with the largest count, which is only read then, so that
//! threads do not take its cache line from each other. A word without an entry decrements the
//! smaller count of its pair, and takes the place of an entry whose count is 0. A new age begins
//! after a number of messages: then all counts are halved.
//!
//! Updates of two threads at the same time may be lost; the counts need not be exact.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::tuning::{
    COUNTED_WORD_PAIRS, EXACT_MESSAGES, MAX_FREQUENT_COUNT, MESSAGES_OF_AGE, MIN_FREQUENT_COUNT,
    SHARE_OF_FREQUENT,
};

/// Largest count. A word with half of this count is still frequent.
const MAX_COUNT: u32 = 127;
const _: () = assert!(MAX_COUNT / 2 >= MAX_FREQUENT_COUNT);

/// Counts of all words, and of messages.
pub(super) struct WordCounts {
    pairs: [AtomicU64; COUNTED_WORD_PAIRS],
    messages: AtomicU32,
}

/// Age of the table at a message.
#[derive(Clone, Copy)]
pub(super) struct TableAge {
    /// Number of the age, modulo 256.
    epoch: u32,
    /// Count from which on a word is frequent.
    pub(super) frequent: u32,
}

impl WordCounts {
    /// No words yet.
    pub(super) const fn new() -> WordCounts {
        WordCounts {
            pairs: [const { AtomicU64::new(0) }; COUNTED_WORD_PAIRS],
            messages: AtomicU32::new(0),
        }
    }

    /// Counts a message at the time `ticks`, and returns the age of the table. After the first
    /// messages only one in eight is counted, as eight, since all threads count here.
    #[inline(always)]
    pub(super) fn count_message(&self, ticks: u64) -> TableAge {
        let before = self.messages.load(Relaxed);
        if before < EXACT_MESSAGES {
            self.messages.store(before + 1, Relaxed);
        } else if ticks.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 == 0 {
            self.messages.store(before.wrapping_add(8).max(EXACT_MESSAGES), Relaxed);
        }
        TableAge {
            epoch: (before / MESSAGES_OF_AGE) & 0xff,
            frequent: (before / SHARE_OF_FREQUENT).clamp(MIN_FREQUENT_COUNT, MAX_FREQUENT_COUNT),
        }
    }

    /// Counts a word by its inner hash. Returns its count before, halved for each age.
    #[inline(always)]
    pub(super) fn count_word(&self, hash: u64, age: TableAge) -> u32 {
        let Some(pair) = self.pairs.get((hash >> 52) as usize % COUNTED_WORD_PAIRS) else {
            return MAX_COUNT;
        };
        let entries = pair.load(Relaxed);
        let tag = (hash >> 20) as u32 & 0xffff;
        let (low, high) = (entries as u32, (entries >> 32) as u32);
        let (found, shift) = if low >> 16 == tag {
            (low, 0)
        } else if high >> 16 == tag {
            (high, 32)
        } else {
            return count_new(pair, entries, tag, age);
        };
        let count = aged_count(found, age);
        let entry = pack_entry(tag, age, (count + 1).min(MAX_COUNT));
        if entry != found {
            pair.store(entries ^ u64::from(entry ^ found) << shift, Relaxed);
        }
        count
    }
}

/// Counts a word that has no entry. Returns 0, its count before.
#[inline(never)]
fn count_new(pair: &AtomicU64, entries: u64, tag: u32, age: TableAge) -> u32 {
    let (low, high) = (entries as u32, (entries >> 32) as u32);
    let counts = (aged_count(low, age), aged_count(high, age));
    let (found, count, shift) =
        if counts.0 <= counts.1 { (low, counts.0, 0) } else { (high, counts.1, 32) };
    let entry = match count {
        0 => pack_entry(tag, age, 1),
        _ => pack_entry(found >> 16, age, count - 1),
    };
    pair.store(entries ^ u64::from(entry ^ found) << shift, Relaxed);
    0
}

/// Count of an entry, halved for each age since it was written.
#[inline(always)]
fn aged_count(entry: u32, age: TableAge) -> u32 {
    let ages = age.epoch.wrapping_sub(entry >> 8) & 0xff;
    (entry & 0xff) >> ages.min(8)
}

/// Entry: 16 bits of the word's hash, 8 of the age, and 8 of the count.
#[inline(always)]
fn pack_entry(tag: u32, age: TableAge, count: u32) -> u32 {
    tag << 16 | age.epoch << 8 | count
}
