//! The CRC-32 of datagrams, by carry-less multiplication where the processor has it.
//!
//! crc32fast asks the processor what it has only with the standard library; without, it takes a table and eight
//! times as long (docs/decisions/0101). So the part that matters, the folding of long buffers into 16 bytes, is
//! here; those and what is left over go through crc32fast's table.
//!
//! Folding: a message as a polynomial over GF(2) keeps its remainder by the CRC's polynomial when a block of it is
//! replaced by that block times x^d, d bits further on; and x^d may be reduced first. Bits are in the CRC's order,
//! lowest first.

use crc32fast::Hasher;

/// The CRC-32 (IEEE) of what a checksum `so_far` was made of, with `bytes` behind it. Begins with 0.
#[inline(always)]
pub(crate) fn update(so_far: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= folding::SHORTEST && folding::is_there() {
        // SAFETY: the processor has the instructions, as was just asked.
        return unsafe { folding::update(so_far, bytes) };
    }
    by_table(so_far, bytes)
}

/// Asks the processor what it has.
pub(crate) fn choose() {
    #[cfg(target_arch = "x86_64")]
    folding::choose();
}

fn by_table(so_far: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(so_far);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(target_arch = "x86_64")]
mod folding {
    use core::arch::x86_64::{
        __cpuid, __m128i, _mm_clmulepi64_si128, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_set_epi64x,
        _mm_storeu_si128, _mm_xor_si128,
    };
    use core::sync::atomic::AtomicBool;
    use core::sync::atomic::Ordering::Relaxed;

    /// From here on it is the faster way.
    pub(super) const SHORTEST: usize = 48;

    static THERE: AtomicBool = AtomicBool::new(false);

    pub(super) fn choose() {
        const PCLMULQDQ: u32 = 1 << 1;
        THERE.store(__cpuid(1).ecx & PCLMULQDQ != 0, Relaxed);
    }

    #[inline(always)]
    pub(super) fn is_there() -> bool {
        THERE.load(Relaxed)
    }

    /// x^`n` modulo the polynomial, in 33 bits so that the product of two reversed numbers has its bits in place.
    const fn power(n: u32) -> i64 {
        let (mut value, mut index) = (1u32 << 31, 0);
        while index < n {
            value = (value >> 1) ^ ((value & 1) * 0xedb8_8320);
            index += 1;
        }
        (value as i64) << 1
    }

    /// The two factors (for a block's first 8 bytes and its last) that move a block `bits` further on.
    const fn factors(bits: u32) -> (i64, i64) {
        (power(bits + 32), power(bits - 32))
    }

    const BY_ONE: (i64, i64) = factors(128);
    const BY_FOUR: (i64, i64) = factors(512);

    /// `block`, moved by `factors`, added to `onto`.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse2")]
    fn fold(block: __m128i, onto: __m128i, factors: (i64, i64)) -> __m128i {
        let factors = _mm_set_epi64x(factors.1, factors.0);
        let first = _mm_clmulepi64_si128::<0x00>(block, factors);
        let last = _mm_clmulepi64_si128::<0x11>(block, factors);
        _mm_xor_si128(_mm_xor_si128(first, last), onto)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(block: &[u8; 16]) -> __m128i {
        // SAFETY: sixteen readable bytes, which need not be aligned.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    #[target_feature(enable = "pclmulqdq,sse2")]
    pub(super) fn update(so_far: u32, bytes: &[u8]) -> u32 {
        let (blocks, rest) = bytes.as_chunks::<16>();
        // The checksum so far stands for all before, and is added to the first bytes. It is kept inverted.
        let before = _mm_cvtsi32_si128(!so_far as i32);
        let (mut folded, singles) = match blocks {
            [a, b, c, d, more @ ..] => {
                let mut lanes = [_mm_xor_si128(load(a), before), load(b), load(c), load(d)];
                let (fours, singles) = more.as_chunks::<4>();
                for four in fours {
                    for (lane, block) in lanes.iter_mut().zip(four) {
                        *lane = fold(*lane, load(block), BY_FOUR);
                    }
                }
                let [a, b, c, d] = lanes;
                (fold(fold(fold(a, b, BY_ONE), c, BY_ONE), d, BY_ONE), singles)
            }
            [first, singles @ ..] => (_mm_xor_si128(load(first), before), singles),
            [] => return super::by_table(so_far, bytes),
        };
        for block in singles {
            folded = fold(folded, load(block), BY_ONE);
        }
        // The sixteen bytes have the remainder of all that was folded, and nothing before them: which is inverted
        // too.
        let mut last = [0u8; 31];
        // SAFETY: there is room for sixteen bytes.
        unsafe { _mm_storeu_si128(last.as_mut_ptr().cast(), folded) };
        let length = 16 + rest.len();
        for (slot, byte) in last.iter_mut().skip(16).zip(rest) {
            *slot = *byte;
        }
        super::by_table(u32::MAX, last.get(..length).unwrap_or(&last))
    }
}
