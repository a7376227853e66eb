//! Classifies bytes by AVX2, for processors that have it.

use core::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_set_epi64x, _mm256_add_epi8, _mm256_and_si256,
    _mm256_castsi128_si256, _mm256_inserti128_si256, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use super::classes::{BLOCK, BlockMasks, Lanes, ONES, load_short};

/// Registers of AVX2.
pub(super) struct WideLanes;

/// Number of bytes that are classified in one step.
const LANE_BYTES: usize = 32;

/// Masks of some bytes of a block.
struct LaneMasks {
    word: u32,
    digit: u32,
}

/// Masks of a lane's bytes, by two tables: each class has a bit, and a byte is of the class if the
/// tables have its bit for both halves of the byte. The table of the lower halves yields nothing
/// for bytes outside of ASCII.
#[inline(always)]
unsafe fn masks_of_lane(bytes: __m256i) -> LaneMasks {
    const DIGIT: i8 = i8::MIN;
    const DASH: i8 = 1;
    const TO_O: i8 = 2; // Columns 4 and 6: letters from the second place on.
    const FROM_P: i8 = 4; // Columns 5 and 7: letters up to the eleventh place.
    const UNDERSCORE: i8 = 8;
    const ALL: i8 = DIGIT | TO_O | FROM_P;
    // SAFETY: the processor has the instructions.
    unsafe {
        let twice = |low: [i8; 16]| {
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = low;
            _mm256_setr_epi8(
                a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, a, b, c, d, e, f, g, h, i, j, k, l,
                m, n, o, p,
            )
        };
        let lower = twice([
            DIGIT | FROM_P,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            TO_O | FROM_P,
            TO_O,
            TO_O,
            TO_O | DASH,
            TO_O,
            TO_O | UNDERSCORE,
        ]);
        let upper = twice([
            0,
            0,
            DASH,
            DIGIT,
            TO_O,
            FROM_P | UNDERSCORE,
            TO_O,
            FROM_P,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        let half = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(15));
        let class =
            _mm256_and_si256(_mm256_shuffle_epi8(lower, bytes), _mm256_shuffle_epi8(upper, half));
        // The sum has the highest bit unless the class is 0.
        let word = _mm256_add_epi8(class, _mm256_set1_epi8(0x7f));
        LaneMasks {
            word: _mm256_movemask_epi8(word) as u32,
            digit: _mm256_movemask_epi8(class) as u32,
        }
    }
}

/// Masks of two lanes. The second one begins at the bit `place`.
#[inline(always)]
unsafe fn masks_of_lanes(one: __m256i, other: __m256i, place: usize) -> BlockMasks {
    // SAFETY: the processor has the instructions.
    unsafe {
        let (low, high) = (masks_of_lane(one), masks_of_lane(other));
        BlockMasks {
            word: u64::from(low.word) | u64::from(high.word) << place,
            digit: u64::from(low.digit) | u64::from(high.digit) << place,
            has_high: _mm256_movemask_epi8(_mm256_or_si256(one, other)) != 0,
        }
    }
}

impl Lanes for WideLanes {
    #[inline(always)]
    unsafe fn masks_of_whole(start: *const u8) -> BlockMasks {
        const { assert!(2 * LANE_BYTES == BLOCK) };
        // SAFETY: as the caller guarantees.
        unsafe { masks_of_lanes(load_lane(start), load_lane(start.add(LANE_BYTES)), LANE_BYTES) }
    }

    #[inline(always)]
    unsafe fn masks_of_short(start: *const u8, length: usize) -> BlockMasks {
        // SAFETY: as the caller guarantees; all loads are within the bytes.
        unsafe {
            if length >= LANE_BYTES {
                // The second lane ends with the last byte.
                let place = length - LANE_BYTES;
                return masks_of_lanes(load_lane(start), load_lane(start.add(place)), place);
            }
            if length >= LANE_BYTES / 2 {
                let place = length - LANE_BYTES / 2;
                let (low, high) = (load_half(start), load_half(start.add(place)));
                let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
                let LaneMasks { word, digit } = masks_of_lane(both);
                let joined = |mask: u32| u64::from(mask & 0xffff | (mask >> 16) << place);
                let has_high = _mm256_movemask_epi8(both) != 0;
                return BlockMasks { word: joined(word), digit: joined(digit), has_high };
            }
            let [low, high] = load_short(start, length);
            let bytes = _mm256_castsi128_si256(_mm_set_epi64x(high as i64, low as i64));
            let LaneMasks { word, digit } = masks_of_lane(bytes);
            let lower = |mask: u32| u64::from(mask & 0xffff);
            let has_high = (low | high) & (ONES << 7) != 0;
            BlockMasks { word: lower(word), digit: lower(digit), has_high }
        }
    }
}

/// Loads a lane from `start`.
///
/// # Safety
/// [`LANE_BYTES`] bytes are readable.
#[inline(always)]
unsafe fn load_lane(start: *const u8) -> __m256i {
    // SAFETY: as the caller guarantees.
    unsafe { _mm256_loadu_si256(start.cast()) }
}

/// Loads half a lane from `start`.
///
/// # Safety
/// Half a lane is readable.
#[inline(always)]
unsafe fn load_half(start: *const u8) -> __m128i {
    // SAFETY: as the caller guarantees.
    unsafe { _mm_loadu_si128(start.cast()) }
}
