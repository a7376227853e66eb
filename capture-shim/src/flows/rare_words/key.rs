//! Secret key of a recording, and the hashes of words that it determines.
//!
//! A word has two hashes. The *inner* hash of 64 bits is fast and stays in memory. The *logged*
//! value of 32 bits is computed from the inner hash by SipHash-1-3 with another key, for the few
//! words that are logged. A reader of the log without the key can neither compute the value of a
//! word nor learn anything about the key from values of known words, as far as SipHash is a
//! pseudo-random function.

/// Length of the longest word that is hashed with all of its bytes. Of a longer word, the length,
/// and the first and the last bytes up to half of this number, are hashed.
const LONGEST_HASHED: usize = 64;

/// Odd number without a pattern: the fraction of the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Keys of the two hashes.
#[derive(Clone, Copy)]
pub(crate) struct WordKey {
    /// Key of the inner hash.
    inner: [u64; 3],
    /// Key of the logged value.
    outer: [u64; 2],
}

impl WordKey {
    /// Value of a key that is not set.
    pub(crate) const NONE: WordKey = WordKey { inner: [0; 3], outer: [0; 2] };

    /// Keys from the secret bytes of a recording.
    pub(crate) fn from_secret(secret: [u8; 16]) -> WordKey {
        let all = u128::from_le_bytes(secret);
        let base = [all as u64, (all >> 64) as u64];
        let derived = |number| siphash(base, number);
        WordKey { inner: [derived(1), derived(2), derived(3)], outer: [derived(4), derived(5)] }
    }

    /// Inner hash of a word.
    ///
    /// # Safety
    /// `length` bytes are readable from `start` on, at least 4.
    #[inline(always)]
    pub(super) unsafe fn hash_word(&self, start: *const u8, length: usize) -> u64 {
        let [first, second, third] = self.inner;
        let seed = third ^ (length as u64).wrapping_mul(ODD);
        // SAFETY: as the caller guarantees; all loads are within the word.
        unsafe {
            if length > 16 {
                return self.hash_long(start, length, seed);
            }
            let (low, high) = if length >= 8 {
                (load_eight(start), load_eight(start.add(length - 8)))
            } else {
                (load_four(start), load_four(start.add(length - 4)))
            };
            fold(fold(low ^ first, high ^ second) ^ seed, first)
        }
    }

    /// Inner hash of a word of more than 16 bytes.
    ///
    /// # Safety
    /// As for [`WordKey::hash_word`].
    #[inline(never)]
    unsafe fn hash_long(&self, start: *const u8, length: usize, seed: u64) -> u64 {
        let [first, second, _] = self.inner;
        let mut hash = seed;
        let mut add = |at: usize| {
            // SAFETY: 16 bytes from `at` on are within the word.
            let (low, high) = unsafe { (load_eight(start.add(at)), load_eight(start.add(at + 8))) };
            hash = fold(low ^ first ^ hash, high ^ second);
        };
        let mut at = 0;
        while at + 16 < length.min(LONGEST_HASHED / 2) {
            add(at);
            at += 16;
        }
        if length > LONGEST_HASHED / 2 {
            // The bytes from `at` on, then those of the last half.
            add(at);
            at = (at + 16).max(length.saturating_sub(LONGEST_HASHED / 2));
            while at + 16 < length {
                add(at);
                at += 16;
            }
        }
        add(length - 16);
        fold(hash ^ seed, first)
    }

    /// Value of a word in the log, from the low bits of its inner hash, which a choice keeps. Not
    /// inlined, as a processor loads the instructions again after each system call.
    #[inline(never)]
    pub(super) fn logged_value(&self, hash: u64) -> u32 {
        siphash(self.outer, hash) as u32
    }

    /// Multiplier by which windows of binary data are chosen. It depends on the key.
    #[inline(always)]
    pub(super) fn window_multiplier(&self) -> u64 {
        self.inner[2] | 1
    }
}

/// Exclusive or of both halves of the product.
#[inline(always)]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// Eight bytes from `start` on, as a little-endian number.
#[inline(always)]
unsafe fn load_eight(start: *const u8) -> u64 {
    // SAFETY: the caller's bytes are readable.
    u64::from_le(unsafe { start.cast::<u64>().read_unaligned() })
}

/// Four bytes from `start` on, as a little-endian number.
#[inline(always)]
unsafe fn load_four(start: *const u8) -> u64 {
    // SAFETY: the caller's bytes are readable.
    u64::from(u32::from_le(unsafe { start.cast::<u32>().read_unaligned() }))
}

/// SipHash-1-3 of the eight bytes of `number`, little-endian.
#[inline(always)]
pub(super) fn siphash(key: [u64; 2], number: u64) -> u64 {
    const LENGTH: u64 = 8 << 56;
    let [low, high] = key;
    let mut state = [
        low ^ 0x736f_6d65_7073_6575,
        high ^ 0x646f_7261_6e64_6f6d,
        low ^ 0x6c79_6765_6e65_7261,
        high ^ 0x7465_6462_7974_6573,
    ];
    for block in [number, LENGTH] {
        state[3] ^= block;
        round(&mut state);
        state[0] ^= block;
    }
    state[2] ^= 0xff;
    for _ in 0..3 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// One round of SipHash.
#[inline(always)]
fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}
