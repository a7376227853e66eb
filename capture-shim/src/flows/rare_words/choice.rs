//! Choice of the words of a message that are logged.

/// Words that are chosen so far: of those that were seen a few times before the two best, and of
/// new ones the two best.
///
/// A word that was received and is sent on has been seen before, and a word that returns in a
/// response as well; a new word may come again. Words of one group are in the order of their
/// hashes, so that two messages with many rare words in common choose the same ones.
#[derive(Clone, Copy)]
pub(super) struct WordChoice {
    /// Ranks of the two best new words, and of those that were seen before; the best is first.
    ranks: [[u64; 2]; 2],
}

/// Indices of the two groups.
const NEW: usize = 0;
const SEEN: usize = 1;

/// Place without a word.
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

    /// Offers a word which was counted `count` times before.
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

    /// Hashes of the chosen words: the best of each group, or two of one.
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
