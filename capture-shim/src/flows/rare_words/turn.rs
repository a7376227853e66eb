//! State of a stream between two transfers: how many bytes of the turn (what one side sends until
//! the other side sends) were searched for words, and the beginning of a word that may continue.
//!
//! Threads that use one stream at the same time may mix up its state. Then a word that is split
//! between two transfers is not recognised, or bytes of two words count as one.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Number of words of memory for the bytes of an unfinished word.
const TAIL_WORDS: usize = 7;

/// Longest beginning of an unfinished word that is stored, in bytes.
pub(super) const TAIL_BYTES: usize = 8 * TAIL_WORDS;

/// Tail: the beginning of a word at the end of a piece. This is its length, and whether it was
/// offered (counted, and made a candidate for being logged) as if it were a whole word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WordTail(u8);

/// Flag in a [`WordTail`]: it was offered as if it were a whole word.
const OFFERED: u8 = 1 << 7;

impl WordTail {
    /// No word continues.
    pub(super) const NONE: WordTail = WordTail(0);

    /// A word that is too long to be stored.
    pub(super) const LONG: WordTail = WordTail(u8::MAX);

    /// The tail, marked as offered.
    #[inline(always)]
    pub(super) fn as_offered(self) -> WordTail {
        WordTail(self.0 | OFFERED)
    }

    /// Whether the tail was offered as if it were a whole word.
    #[inline(always)]
    pub(super) fn is_offered(self) -> bool {
        self.0 & OFFERED != 0
    }

    /// Number of stored bytes; `None` if the word is too long.
    #[inline(always)]
    pub(super) fn length(self) -> Option<usize> {
        (self != WordTail::LONG).then_some(usize::from(self.0 & !OFFERED))
    }
}

/// State of a stream: one cache line.
#[repr(C, align(64))]
pub(super) struct StreamTurn {
    /// [`TurnFacts`], packed.
    facts: AtomicU64,
    /// Bytes of the tail.
    tail: [AtomicU64; TAIL_WORDS],
}

/// Facts about a stream's turn.
#[derive(Clone, Copy)]
pub(super) struct TurnFacts {
    /// Number of the flow.
    pub(super) flow: u32,
    /// Whether the bytes of the turn are received.
    pub(super) received: bool,
    /// Whether the stream is encrypted.
    pub(super) encrypted: bool,
    /// Number of messages in a row in which no rare word was found although words without digits
    /// were tried, at most 15.
    pub(super) vain_messages: u8,
    /// Unfinished word at the end of the previous transfer.
    pub(super) tail: WordTail,
    /// Number of bytes of the turn that were searched.
    pub(super) searched: u16,
}

impl TurnFacts {
    /// Facts about a stream at its first transfer.
    #[inline(always)]
    pub(super) fn new(flow: u32, received: bool) -> TurnFacts {
        TurnFacts {
            flow,
            received,
            encrypted: false,
            vain_messages: 0,
            tail: WordTail::NONE,
            searched: 0,
        }
    }

    #[inline(always)]
    fn unpack(word: u64) -> TurnFacts {
        TurnFacts {
            flow: (word >> 32) as u32,
            searched: (word >> 16) as u16,
            tail: WordTail((word >> 8) as u8),
            vain_messages: word as u8 & 15,
            received: word & 16 != 0,
            encrypted: word & 32 != 0,
        }
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        let flags = u64::from(self.received) << 4 | u64::from(self.encrypted) << 5;
        u64::from(self.flow) << 32
            | u64::from(self.searched) << 16
            | u64::from(self.tail.0) << 8
            | u64::from(self.vain_messages & 15)
            | flags
    }
}

impl StreamTurn {
    /// State of no stream.
    #[cfg(test)]
    pub(super) const fn new() -> StreamTurn {
        StreamTurn { facts: AtomicU64::new(0), tail: [const { AtomicU64::new(0) }; TAIL_WORDS] }
    }

    /// The facts.
    #[inline(always)]
    pub(super) fn facts(&self) -> TurnFacts {
        TurnFacts::unpack(self.facts.load(Relaxed))
    }

    /// Stores the facts.
    #[inline(always)]
    pub(super) fn set_facts(&self, facts: TurnFacts) {
        self.facts.store(facts.pack(), Relaxed);
    }

    /// Copies the bytes of the tail to the beginning of `to`.
    pub(super) fn read_tail(&self, to: &mut [u8]) {
        for (place, word) in to.chunks_mut(8).zip(&self.tail) {
            for (place, byte) in place.iter_mut().zip(word.load(Relaxed).to_le_bytes()) {
                *place = byte;
            }
        }
    }

    /// Stores the beginning of a word as the tail, and returns its length.
    #[inline(never)]
    pub(super) fn write_tail(&self, bytes: &[u8]) -> WordTail {
        if bytes.len() > TAIL_BYTES {
            return WordTail::LONG;
        }
        for (part, word) in bytes.chunks(8).zip(&self.tail) {
            let value = match part.first_chunk::<8>() {
                Some(whole) => u64::from_le_bytes(*whole),
                None => part.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)),
            };
            word.store(value, Relaxed);
        }
        WordTail(bytes.len() as u8)
    }
}
