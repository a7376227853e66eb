//! Choice of the words of a message that are logged.

/// Words that are chosen so far: the two best of the words that the process has seen a few times
/// before, and the two best of the words that are new to it.
///
/// A word that was received and is sent on has been seen before, and so has a word that returns in
/// a response; a new word may come again. Equally rare words are in the order of their hashes, so
/// that two messages with many rare words in common choose the same ones.
#[derive(Clone, Copy)]
pub(super) struct WordChoice {
    /// Ranks of the two best new words, and of the two best that were seen before. The lowest rank
    /// is the best, and first.
    ranks: [[u64; 2]; 2],
}

/// Index of the ranks of new words.
const NEW: usize = 0;

/// Index of the ranks of words that were seen before.
const SEEN: usize = 1;

/// Rank of a place without a word: worse than all others.
const NOTHING: u64 = u64::MAX;

/// Number of bits of a word's hash in its rank. The upper bits are its rarity.
const HASH_BITS: u32 = 62;

/// Mask of the hash in a rank.
const HASH: u64 = (1 << HASH_BITS) - 1;

impl WordChoice {
    /// No words yet.
    #[inline(always)]
    pub(super) const fn new() -> WordChoice {
        WordChoice { ranks: [[NOTHING; 2]; 2] }
    }

    /// Whether no word is chosen.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        let [[new, _], [seen, _]] = self.ranks;
        new & seen == NOTHING
    }

    /// Offers a word which was counted `count` times before: it is chosen if it is better than a
    /// chosen one.
    #[inline(always)]
    pub(super) fn offer(&mut self, hash: u64, count: u32) {
        let hash = hash & HASH;
        if self.ranks.as_flattened().iter().any(|rank| rank & HASH == hash) {
            return; // The message has the word twice.
        }
        let rarity = u64::from(count > 3) + u64::from(count > 15);
        let rank = rarity << HASH_BITS | hash;
        let [best, second] = if count == 0 { &mut self.ranks[NEW] } else { &mut self.ranks[SEEN] };
        *second = (*second).min(rank.max(*best));
        *best = rank.min(*best);
    }

    /// Hashes of the chosen words, at most two: the best of each group, or two of one group if the
    /// other is empty.
    #[inline(always)]
    pub(super) fn hashes(&self) -> impl Iterator<Item = u64> {
        let [[new, other_new], [seen, other_seen]] = self.ranks;
        let first = if seen == NOTHING { new } else { seen };
        let second = if seen == NOTHING {
            other_new
        } else if new == NOTHING {
            other_seen
        } else {
            new
        };
        let chosen = |rank| (rank != NOTHING).then_some(rank & HASH);
        chosen(first).into_iter().chain(chosen(second))
    }
}
