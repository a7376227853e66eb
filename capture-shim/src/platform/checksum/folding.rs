//! CRC-32 by folding: long buffers into 16 bytes, and these 16 bytes into the checksum.
//!
//! A message as a polynomial over GF(2) keeps its remainder by the CRC's polynomial when a block of
//! it is replaced by that block times x^d, d bits further on; and x^d may be reduced first. Bits
//! are in the CRC's order, lowest first, so a block's first bytes are its highest powers. Zeros
//! before a message change nothing. A message with a length that is not a multiple of 16 is
//! therefore extended by zeros before it.

use core::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_cvtsi32_si128, _mm_extract_epi32, _mm_loadu_si128,
    _mm_set_epi64x, _mm_shuffle_epi8, _mm_slli_si128, _mm_srli_si128, _mm_xor_si128,
    _mm256_castsi256_si128, _mm256_clmulepi64_epi128, _mm256_extracti128_si256,
    _mm256_inserti128_si256, _mm256_loadu_si256, _mm256_set_epi64x, _mm256_xor_si256,
};

use crate::platform::processor::{self, Instructions};

/// Smallest buffer that is folded, in bytes.
const MIN_FOLDED: usize = 16;

/// Smallest buffer for which wide registers are worthwhile, in bytes.
const MIN_WIDE: usize = 16 + 7 * 16 + 128;

/// CRC-32 of the bytes covered by `so_far` followed by `bytes`; `None` if there are too few bytes,
/// or the processor lacks the instructions, so that the table is to be used.
#[inline(always)]
pub(super) fn update_folded(so_far: u32, bytes: &[u8]) -> Option<u32> {
    if !processor::has(Instructions::FOLDING) || bytes.len() < MIN_FOLDED {
        return None;
    }
    // SAFETY: the processor has the instructions, as was checked; there are as many bytes as
    // required.
    Some(unsafe {
        if bytes.len() >= MIN_WIDE && processor::has(Instructions::WIDE_FOLDING) {
            fold_by_256(so_far, bytes)
        } else {
            fold_narrow(so_far, bytes)
        }
    })
}

/// x^`n` modulo the polynomial, its highest power in bit 0.
const fn power_modulo(n: u32) -> u32 {
    let (mut value, mut index) = (1u32 << 31, 0);
    while index < n {
        value = (value >> 1) ^ ((value & 1) * 0xedb8_8320);
        index += 1;
    }
    value
}

/// Two factors, for a block's first 8 bytes and its last 8, that move a block `bits` bits further
/// on. The product of two reversed numbers is one bit too low, and 32 bits of these are below the
/// factor: hence the shift and the powers.
const fn folding_factors(bits: u32) -> (i64, i64) {
    ((power_modulo(bits + 32) as i64) << 1, (power_modulo(bits - 32) as i64) << 1)
}

// Factors that move a block by 1, 2, 3, 4, 6 and 8 blocks of 128 bits.
const BY_1: (i64, i64) = folding_factors(128);
const BY_2: (i64, i64) = folding_factors(256);
const BY_3: (i64, i64) = folding_factors(384);
const BY_4: (i64, i64) = folding_factors(512);
const BY_6: (i64, i64) = folding_factors(768);
const BY_8: (i64, i64) = folding_factors(1024);

/// Polynomial, and the quotient of x^64 by it, both of 33 bits with the highest power in bit 0.
const POLYNOMIAL: i64 = 0x1_db71_0641;
const QUOTIENT: i64 = barrett_quotient();

/// Quotient of x^64 by the polynomial, by long division.
const fn barrett_quotient() -> i64 {
    // The highest power is at the top here, as in long division on paper.
    let divisor = (POLYNOMIAL as u64).reverse_bits() >> 31;
    let (mut rest, mut result, mut index) = (1u128 << 64, 0u64, 33);
    while index > 0 {
        index -= 1;
        if rest >> (index + 32) & 1 == 1 {
            rest ^= (divisor as u128) << index;
            result |= 1 << index;
        }
    }
    (result.reverse_bits() >> 31) as i64
}

/// Indices for `_mm_shuffle_epi8`: 16 that select no byte, one for each byte, 16 that select none.
/// Sixteen of them from any place on shift a block by bytes.
static SHUFFLE: [u8; 48] = {
    let mut indices = [0x80; 48];
    let mut index = 0;
    while index < 16 {
        indices[16 + index] = index as u8;
        index += 1;
    }
    indices
};

/// Loads sixteen bytes at `at`.
///
/// # Safety
/// The bytes are readable.
#[inline]
#[target_feature(enable = "sse2")]
unsafe fn load_block(at: *const u8) -> __m128i {
    // SAFETY: as the caller guarantees; they need not be aligned.
    unsafe { _mm_loadu_si128(at.cast()) }
}

/// Moves `block` by `factors` and adds it to `onto`.
#[inline]
#[target_feature(enable = "pclmulqdq,sse2")]
fn fold_block(block: __m128i, onto: __m128i, factors: (i64, i64)) -> __m128i {
    let factors = _mm_set_epi64x(factors.1, factors.0);
    let first = _mm_clmulepi64_si128::<0x00>(block, factors);
    let last = _mm_clmulepi64_si128::<0x11>(block, factors);
    _mm_xor_si128(_mm_xor_si128(first, onto), last)
}

/// State of a message: all bytes before `at` are folded into `block`, `left` bytes follow, a
/// multiple of 16, and `carry` is to be added to the first 16 of these.
struct FoldState {
    block: __m128i,
    carry: __m128i,
    at: *const u8,
    left: usize,
}

/// Begins to fold a message with its first 1 to 16 bytes, so that a multiple of 16 bytes is left.
/// The checksum `so_far` stands for all bytes before, and is added to the message's first four
/// bytes; it is kept inverted.
///
/// # Safety
/// At least 16 bytes are readable.
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn begin_folding(so_far: u32, bytes: &[u8]) -> FoldState {
    let before = _mm_cvtsi32_si128(!so_far as i32);
    let odd = (bytes.len() - 1) % 16 + 1;
    let at = bytes.as_ptr();
    // SAFETY: 16 bytes of the message; the tables' 48 have 16 after every place up to 32, and `odd`
    // is at most 16.
    unsafe {
        let first = _mm_xor_si128(load_block(at), before);
        let up = load_block(SHUFFLE.as_ptr().add(odd));
        let down = load_block(SHUFFLE.as_ptr().add(16 + odd));
        FoldState {
            block: _mm_shuffle_epi8(first, up),
            carry: _mm_shuffle_epi8(before, down),
            at: at.add(odd),
            left: bytes.len() - odd,
        }
    }
}

/// CRC-32 by folding 128 bits at a time.
#[target_feature(enable = "pclmulqdq,ssse3,sse4.1")]
unsafe fn fold_narrow(so_far: u32, bytes: &[u8]) -> u32 {
    // SAFETY: as many bytes as required, as the caller guarantees.
    unsafe { finish_folding(begin_folding(so_far, bytes)) }
}

/// Checksum of the whole message from its state.
///
/// # Safety
/// `folded.left` bytes at `folded.at` are readable.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
unsafe fn finish_folding(folded: FoldState) -> u32 {
    let FoldState { mut block, mut carry, mut at, mut left } = folded;
    // SAFETY: each load is within the remaining bytes.
    unsafe {
        if left >= 128 {
            let mut lanes = [
                block,
                _mm_xor_si128(load_block(at), carry),
                load_block(at.add(16)),
                load_block(at.add(32)),
            ];
            carry = _mm_set_epi64x(0, 0);
            (at, left) = (at.add(48), left - 48);
            while left >= 64 {
                for (index, lane) in lanes.iter_mut().enumerate() {
                    *lane = fold_block(*lane, load_block(at.add(16 * index)), BY_4);
                }
                (at, left) = (at.add(64), left - 64);
            }
            let [a, b, c, d] = lanes;
            block = fold_block(a, fold_block(b, fold_block(c, d, BY_1), BY_2), BY_3);
        }
        while left >= 48 {
            let first = _mm_xor_si128(load_block(at), carry);
            carry = _mm_set_epi64x(0, 0);
            block = fold_block(
                block,
                fold_block(
                    first,
                    fold_block(load_block(at.add(16)), load_block(at.add(32)), BY_1),
                    BY_2,
                ),
                BY_3,
            );
            (at, left) = (at.add(48), left - 48);
        }
        while left > 0 {
            block = fold_block(block, _mm_xor_si128(load_block(at), carry), BY_1);
            carry = _mm_set_epi64x(0, 0);
            (at, left) = (at.add(16), left - 16);
        }
    }
    reduce_block(block)
}

/// Remainder of the message that `block` stands for, times x^32 as the CRC requires. Its first 8
/// bytes are moved onto the others, then the first 4 of the result, and the last 8 are divided by
/// the polynomial (Barrett).
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn reduce_block(block: __m128i) -> u32 {
    /// Factor in the upper half of its 8 bytes, which makes the product as short as possible.
    const fn upper_factor(n: u32) -> i64 {
        ((power_modulo(n - 1) as u64) << 32) as i64
    }
    let moves = _mm_set_epi64x(upper_factor(64), upper_factor(96));
    let rest = _mm_slli_si128::<4>(_mm_srli_si128::<8>(block));
    let rest = _mm_xor_si128(rest, _mm_clmulepi64_si128::<0x00>(block, moves));
    let rest = _mm_srli_si128::<8>(_mm_xor_si128(rest, _mm_clmulepi64_si128::<0x10>(rest, moves)));
    let division = _mm_set_epi64x(POLYNOMIAL, QUOTIENT);
    let high = _mm_cvtsi32_si128(_mm_extract_epi32::<0>(rest));
    let times = _mm_clmulepi64_si128::<0x00>(high, division);
    let times = _mm_cvtsi32_si128(_mm_extract_epi32::<0>(times));
    let product = _mm_clmulepi64_si128::<0x10>(times, division);
    !_mm_extract_epi32::<1>(_mm_xor_si128(rest, product)) as u32
}

/// Folds two blocks, as [`fold_block`] does one.
#[inline]
#[target_feature(enable = "vpclmulqdq,avx2")]
fn fold_wide(blocks: __m256i, onto: __m256i, factors: (i64, i64)) -> __m256i {
    let factors = _mm256_set_epi64x(factors.1, factors.0, factors.1, factors.0);
    let first = _mm256_clmulepi64_epi128::<0x00>(blocks, factors);
    let last = _mm256_clmulepi64_epi128::<0x11>(blocks, factors);
    _mm256_xor_si256(_mm256_xor_si256(first, onto), last)
}

/// CRC-32 by folding 256 bits at a time.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
unsafe fn fold_by_256(so_far: u32, bytes: &[u8]) -> u32 {
    // SAFETY: each load is within the remaining bytes, which are enough, as the caller guarantees.
    unsafe {
        let FoldState { block, carry, mut at, mut left } = begin_folding(so_far, bytes);
        let two = |at: *const u8| _mm256_loadu_si256(at.cast());
        let first = _mm256_inserti128_si256::<1>(
            _mm256_inserti128_si256::<0>(_mm256_set_epi64x(0, 0, 0, 0), block),
            _mm_xor_si128(load_block(at), carry),
        );
        let mut lanes = [first, two(at.add(16)), two(at.add(48)), two(at.add(80))];
        (at, left) = (at.add(112), left - 112);
        while left >= 128 {
            for (index, lane) in lanes.iter_mut().enumerate() {
                *lane = fold_wide(*lane, two(at.add(32 * index)), BY_8);
            }
            (at, left) = (at.add(128), left - 128);
        }
        let [a, b, c, d] = lanes;
        let both = fold_wide(a, fold_wide(b, fold_wide(c, d, BY_2), BY_4), BY_6);
        let block =
            fold_block(_mm256_castsi256_si128(both), _mm256_extracti128_si256::<1>(both), BY_1);
        finish_folding(FoldState { block, carry: _mm_set_epi64x(0, 0), at, left })
    }
}
