//! Searches the first bytes of a message for rare words, piece by piece. A word is a run of ASCII
//! letters, digits, `-` and `_`. Each word that is long enough is offered: it is counted, and
//! becomes a candidate for being logged if it is rare. The end of a piece may be in a word: the
//! beginning of this word is the tail, which is joined with the next bytes.

use super::choice::WordChoice;
use super::classes::{self, BLOCK, BlockMasks, Lanes};
use super::counts::{TableAge, WordCounts};
use super::key::WordKey;
use super::narrow::NarrowLanes;
use super::turn::{StreamTurn, TAIL_BYTES, WordTail};
#[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
use super::wide::WideLanes;
#[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
use crate::platform::processor::{self, Instructions};
use crate::tuning::{
    BINARY_WINDOWS, HIGH_BYTES_OF_BINARY, LETTERS_OF_WORD, LONG_WORD_BYTES, MAX_WORDS_OF_PASS,
};

/// Maximum number of bytes of a piece, which is searched in one pass.
pub(super) const PIECE_BYTES: usize = 256;

/// Length of the buffer in which a tail is joined with the rest of its word.
const JOINED_BYTES: usize = TAIL_BYTES + BLOCK;

/// Fewest bytes of a word.
const MIN_WORD_BYTES: usize = 4;

/// Fewest bytes of a word in binary data, which contains short runs of letters by chance.
const MIN_BINARY_WORD_BYTES: usize = 6;

/// Number of bytes of a window of binary data.
const WINDOW_BYTES: usize = 8;

/// Fewest bytes of a part of a long word that is a word of its own.
const MIN_PART_BYTES: usize = 16;

/// Longest word that is divided into parts.
const LONGEST_DIVIDED: usize = 2 * BLOCK;

/// Search of one message.
pub(super) struct WordScan<'table> {
    key: &'table WordKey,
    counts: &'table WordCounts,
    age: TableAge,
    /// Whether words without digits are offered if no word with digits is rare.
    may_try_letters: bool,
    /// Whether words without digits were offered.
    pub(super) tried_letters: bool,
    choice: WordChoice,
}

/// Result of a pass over the words of a piece.
struct PieceRuns {
    /// A bit for each block of binary data.
    binary: u32,
    /// Whether the last byte belongs to a word.
    ends_in_word: bool,
}

impl<'table> WordScan<'table> {
    /// Begins the search of a message.
    #[inline(always)]
    pub(super) fn new(
        key: &'table WordKey,
        counts: &'table WordCounts,
        age: TableAge,
        may_try_letters: bool,
    ) -> WordScan<'table> {
        let choice = WordChoice::new();
        WordScan { key, counts, age, may_try_letters, tried_letters: false, choice }
    }

    /// Whether no rare word was found.
    #[inline(always)]
    pub(super) fn found_nothing(&self) -> bool {
        self.choice.is_empty()
    }

    /// Values of the chosen words for the log.
    #[inline(always)]
    pub(super) fn values(&self) -> impl Iterator<Item = u32> {
        let key = self.key;
        self.choice.hashes().map(move |hash| key.logged_value(hash))
    }

    /// Searches the next bytes of the message, at most [`PIECE_BYTES`]. `tail` is the unfinished
    /// word before them, whose bytes `turn` has. Returns the unfinished word at their end.
    #[inline(always)]
    pub(super) fn search_piece(
        &mut self,
        bytes: &[u8],
        turn: &StreamTurn,
        tail: WordTail,
    ) -> WordTail {
        #[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
        if processor::has(Instructions::AVX2) {
            // SAFETY: the processor has the instructions.
            return unsafe { self.search_piece_wide(bytes, turn, tail) };
        }
        self.search_piece_narrow(bytes, turn, tail)
    }

    /// Searches a piece by the instructions that every processor has.
    #[inline(never)]
    pub(super) fn search_piece_narrow(
        &mut self,
        bytes: &[u8],
        turn: &StreamTurn,
        tail: WordTail,
    ) -> WordTail {
        self.search_piece_by::<NarrowLanes>(bytes, turn, tail)
    }

    /// Searches a piece by AVX2.
    ///
    /// # Safety
    /// The processor has the instructions.
    #[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn search_piece_wide(
        &mut self,
        bytes: &[u8],
        turn: &StreamTurn,
        tail: WordTail,
    ) -> WordTail {
        self.search_piece_by::<WideLanes>(bytes, turn, tail)
    }

    /// Searches a piece by the instructions `L`.
    #[inline(always)]
    fn search_piece_by<L: Lanes>(
        &mut self,
        bytes: &[u8],
        turn: &StreamTurn,
        tail: WordTail,
    ) -> WordTail {
        let bytes = bytes.get(..PIECE_BYTES).unwrap_or(bytes);
        if bytes.is_empty() {
            return tail;
        }
        let PieceRuns { binary, ends_in_word } =
            self.offer_runs::<L, false>(bytes, tail != WordTail::NONE);
        if !self.choice.is_empty() && tail == WordTail::NONE && !ends_in_word {
            return WordTail::NONE;
        }
        self.complete_piece(bytes, turn, tail, binary, ends_in_word)
    }

    /// Offers the words at both ends of a piece, and if no word with a digit is rare, binary data
    /// and words without digits. Returns the unfinished word at the end of the piece.
    #[inline(never)]
    fn complete_piece(
        &mut self,
        bytes: &[u8],
        turn: &StreamTurn,
        tail: WordTail,
        binary: u32,
        ends_in_word: bool,
    ) -> WordTail {
        if binary != 0 && self.choice.is_empty() {
            self.offer_windows(bytes, binary);
        }
        if tail != WordTail::NONE {
            self.offer_joined(bytes, turn, tail);
        }
        if self.may_try_letters && self.choice.is_empty() {
            self.offer_words_of_letters(bytes, tail != WordTail::NONE);
        }
        if ends_in_word { self.keep_tail(bytes, turn, tail) } else { WordTail::NONE }
    }

    /// Offers the words of a piece that are long enough: the words with digits, or without digits
    /// if `LETTERS`. If `joins`, a word at the beginning of the piece continues the tail, and is
    /// not offered.
    #[inline(always)]
    fn offer_runs<L: Lanes, const LETTERS: bool>(
        &mut self,
        bytes: &[u8],
        joins: bool,
    ) -> PieceRuns {
        let first = usize::from(joins);
        // The carry out of the previous block's sum, the word mask of that block, the number of
        // words that may still be offered, and a bit for each block of binary data.
        let (mut carry, mut before, mut left, mut binary) = (false, 0, MAX_WORDS_OF_PASS, 0);
        let mut at = 0;
        while at < bytes.len() {
            let rest = bytes.len() - at;
            // SAFETY: `at` is within the bytes.
            let BlockMasks { word, digit, has_high } =
                unsafe { classes::masks_of_block::<L>(bytes.as_ptr().add(at), rest, at) };
            if has_high {
                binary |= u32::from(is_binary(bytes, at)) << (at / BLOCK);
            }
            if digit != 0 || carry || LETTERS {
                // A digit is added to the run of bits that it is in: the carry stops after the run.
                let (sum, one) = word.overflowing_add(digit);
                let (sum, other) = sum.overflowing_add(u64::from(carry));
                carry = one | other;
                let ends = if LETTERS { !word & !sum } else { sum & !word };
                let mut ends = ends & runs_before::<LETTERS>(word, before);
                while ends != 0 && left > 0 {
                    let end = ends.trailing_zeros() as usize;
                    ends &= ends - 1;
                    left -= 1;
                    let zeros = !word & ((1 << end) - 1);
                    let start = match zeros.leading_zeros() as usize {
                        BLOCK => run_start(bytes, at, before),
                        ones => at + BLOCK - ones,
                    };
                    self.offer_run::<LETTERS>(bytes, first, binary, start, at + end);
                }
            }
            before = word;
            at += BLOCK;
        }
        let ends_in_word = before >> ((bytes.len() - 1) % BLOCK) & 1 != 0;
        if before >> (BLOCK - 1) != 0 && carry != LETTERS {
            // The piece ends with a whole block and a run.
            self.offer_last_run::<LETTERS>(bytes, first, binary, run_start(bytes, at, before));
        }
        PieceRuns { binary, ends_in_word }
    }

    /// Offers the word from `start` to `end` if it is long enough and begins at `first` or later.
    #[inline(always)]
    fn offer_run<const LETTERS: bool>(
        &mut self,
        bytes: &[u8],
        first: usize,
        binary: u32,
        start: usize,
        end: usize,
    ) {
        let length = end - start;
        let fewest = if LETTERS { LETTERS_OF_WORD } else { MIN_WORD_BYTES };
        if length >= fewest
            && (length >= MIN_BINARY_WORD_BYTES || binary >> (start / BLOCK) & 1 == 0)
            && start >= first
            && let Some(word) = bytes.get(start..end)
        {
            self.offer_word(word);
        }
    }

    /// Offers the word from `start` to the end of the piece, as [`WordScan::offer_run`].
    #[cold]
    #[inline(never)]
    fn offer_last_run<const LETTERS: bool>(
        &mut self,
        bytes: &[u8],
        first: usize,
        binary: u32,
        start: usize,
    ) {
        self.offer_run::<LETTERS>(bytes, first, binary, start, bytes.len());
    }

    /// Offers the words without digits that are long enough.
    #[inline(always)]
    fn offer_words_of_letters(&mut self, bytes: &[u8], joins: bool) {
        self.tried_letters = true;
        #[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
        if processor::has(Instructions::AVX2) {
            // SAFETY: the processor has the instructions.
            return unsafe { self.offer_words_of_letters_wide(bytes, joins) };
        }
        self.offer_words_of_letters_narrow(bytes, joins);
    }

    #[inline(never)]
    fn offer_words_of_letters_narrow(&mut self, bytes: &[u8], joins: bool) {
        self.offer_runs::<NarrowLanes, true>(bytes, joins);
    }

    #[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn offer_words_of_letters_wide(&mut self, bytes: &[u8], joins: bool) {
        self.offer_runs::<WideLanes, true>(bytes, joins);
    }

    /// Stores the word at the end of a piece in `turn`, as it may continue in the next piece.
    fn keep_tail(&mut self, bytes: &[u8], turn: &StreamTurn, tail: WordTail) -> WordTail {
        let length = bytes.iter().rev().take_while(|byte| is_of_word(**byte)).count();
        if length == bytes.len() && tail != WordTail::NONE {
            return self.extend_tail(bytes, turn, tail);
        }
        let tail = turn.write_tail(bytes.get(bytes.len() - length..).unwrap_or(&[]));
        if length < MIN_WORD_BYTES { tail } else { tail.as_offered() }
    }

    /// Counts a word of at least [`MIN_WORD_BYTES`] bytes, and offers it to the choice if it is
    /// rare.
    #[inline(always)]
    fn offer_word(&mut self, word: &[u8]) {
        if word.len() > LONG_WORD_BYTES && self.offer_parts(word) {
            return;
        }
        // SAFETY: the slice is readable, and long enough.
        let hash = unsafe { self.key.hash_word(word.as_ptr(), word.len()) };
        let count = self.counts.count_word(hash, self.age);
        if count < self.age.frequent {
            self.choice.offer(hash, count);
        }
    }

    /// Offers the long parts between the dashes and underscores of a long word: a trace context is
    /// made of several ids. Returns false if there are none.
    #[cold]
    #[inline(never)]
    fn offer_parts(&mut self, word: &[u8]) -> bool {
        let mut has_parts = false;
        let word = word.get(..LONGEST_DIVIDED).unwrap_or(word);
        for part in word.split(|byte| matches!(byte, b'-' | b'_')) {
            if part.len() >= MIN_PART_BYTES && part.len() < word.len() {
                has_parts = true;
                // SAFETY: the slice is readable, and long enough.
                let hash = unsafe { self.key.hash_word(part.as_ptr(), part.len()) };
                let count = self.counts.count_word(hash, self.age);
                if count < self.age.frequent {
                    self.choice.offer(hash, count);
                }
            }
        }
        has_parts
    }

    /// Offers the word that began with the tail and ends in the piece or at its beginning.
    #[cold]
    #[inline(never)]
    fn offer_joined(&mut self, bytes: &[u8], turn: &StreamTurn, tail: WordTail) {
        let length = bytes.iter().take_while(|byte| is_of_word(**byte)).count();
        if length == bytes.len() || length == 0 && tail.is_offered() {
            return; // The word may continue, or it has ended before.
        }
        let mut joined = [0; JOINED_BYTES];
        if let Some(word) = join(&mut joined, turn, tail, bytes.get(..length).unwrap_or(&[])) {
            self.offer_whole(word);
        }
    }

    /// Offers a joined word if it is long enough.
    fn offer_whole(&mut self, word: &[u8]) {
        let has_digit = word.iter().any(u8::is_ascii_digit);
        if word.len() >= if has_digit { MIN_WORD_BYTES } else { LETTERS_OF_WORD } {
            self.offer_word(word);
        }
    }

    /// Adds a whole piece to the word that began with the tail. The word may end with the piece, so
    /// it is offered. Returns the new tail.
    #[cold]
    #[inline(never)]
    fn extend_tail(&mut self, bytes: &[u8], turn: &StreamTurn, tail: WordTail) -> WordTail {
        let mut joined = [0; JOINED_BYTES];
        let Some(word) = join(&mut joined, turn, tail, bytes) else { return WordTail::LONG };
        // Of a word that arrives byte by byte, each beginning would seem to be a new word.
        let is_offered = bytes.len() >= MIN_WORD_BYTES;
        if is_offered {
            self.offer_whole(word);
        }
        let tail = turn.write_tail(word);
        if is_offered { tail.as_offered() } else { tail }
    }

    /// Offers the best of some windows of binary data. Two bytes of a window and the key decide
    /// whether it is considered, so that equal bytes in another message have the same windows.
    #[cold]
    #[inline(never)]
    fn offer_windows(&mut self, bytes: &[u8], binary: u32) {
        let multiplier = self.key.window_multiplier();
        let (mut left, mut best) = (BINARY_WINDOWS, None);
        for (at, window) in bytes.windows(WINDOW_BYTES).enumerate() {
            if binary >> (at / BLOCK) & 1 == 0 {
                continue;
            }
            let &[_, _, _, high, low, ..] = window else { break };
            let pair = u64::from(high) << 8 | u64::from(low);
            if (pair + 1).wrapping_mul(multiplier) >> 60 != 0 {
                continue;
            }
            // SAFETY: the window is readable, and long enough.
            let hash = unsafe { self.key.hash_word(window.as_ptr(), WINDOW_BYTES) };
            let count = self.counts.count_word(hash, self.age);
            if count < self.age.frequent && best.is_none_or(|(other, _)| hash < other) {
                best = Some((hash, count));
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        if let Some((hash, count)) = best {
            self.choice.offer(hash, count);
        }
    }
}

/// Joins the tail of a word with its continuation `rest`, as one slice of `joined`. `None` if the
/// word is too long.
fn join<'joined>(
    joined: &'joined mut [u8; JOINED_BYTES],
    turn: &StreamTurn,
    tail: WordTail,
    rest: &[u8],
) -> Option<&'joined [u8]> {
    let length = tail.length()?;
    turn.read_tail(joined);
    let whole = length + rest.len();
    for (place, byte) in joined.get_mut(length..whole)?.iter_mut().zip(rest) {
        *place = *byte;
    }
    joined.get(..whole)
}

/// Mask of the bits that follow a run of at least four ones in `word`, or of [`LETTERS_OF_WORD`]
/// with `LETTERS`. A run that continues from the previous block, which has the mask `before`, is
/// assumed to be long enough.
#[inline(always)]
fn runs_before<const LETTERS: bool>(word: u64, before: u64) -> u64 {
    const { assert!(MIN_WORD_BYTES == 4 && LETTERS_OF_WORD == 6) };
    let continued = 0u64.wrapping_sub(before >> (BLOCK - 1));
    let one = word << 1 | continued & 1;
    let two = one & (one << 1 | continued & 1);
    let four = two & (two << 2 | continued & 3);
    if LETTERS { four & (two << 4 | continued & 15) } else { four }
}

/// Beginning of the word that ends at `at`, which is the beginning of a block or the end of the
/// piece. The block before it has the mask `before`.
#[inline(always)]
fn run_start(bytes: &[u8], at: usize, before: u64) -> usize {
    match (!before).leading_zeros() as usize {
        BLOCK => long_run_start(bytes, at),
        length => at - length,
    }
}

/// Beginning of the word that ends at `at`, if it is at least as long as a block.
#[cold]
#[inline(never)]
fn long_run_start(bytes: &[u8], at: usize) -> usize {
    let before = bytes.get(..at).unwrap_or(bytes);
    at - before.iter().rev().take_while(|byte| is_of_word(**byte)).count()
}

/// Whether the block at `at` has binary data.
#[cold]
#[inline(never)]
fn is_binary(bytes: &[u8], at: usize) -> bool {
    let block = bytes.get(at..).unwrap_or(&[]);
    classes::count_high(block.get(..BLOCK).unwrap_or(block)) >= HIGH_BYTES_OF_BINARY
}

/// Whether a byte belongs to a word.
#[inline(always)]
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
