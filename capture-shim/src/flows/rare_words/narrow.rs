//! Classifies bytes by the instructions that every processor of the architecture has.

use super::classes::{BLOCK, BlockMasks, Lanes, load_short};

/// Instructions that every processor of the architecture has.
#[cfg(target_arch = "x86_64")]
pub(super) type NarrowLanes = Sse2;
#[cfg(not(target_arch = "x86_64"))]
pub(super) type NarrowLanes = Words;

/// Lane: the bytes in one register, which are classified in one step.
trait Lane: Sized {
    /// Number of bytes of a lane.
    const BYTES: usize;

    /// Loads a lane from `start`.
    ///
    /// # Safety
    /// The bytes are readable.
    unsafe fn load(start: *const u8) -> Self;

    /// Loads `length` bytes, and zeros in place of the others.
    ///
    /// # Safety
    /// `length` bytes are readable, at least one and less than [`Self::BYTES`].
    unsafe fn load_short(start: *const u8, length: usize) -> Self;

    /// Masks of the lane's bytes, in the lowest bits.
    fn masks(self) -> BlockMasks;
}

impl BlockMasks {
    /// Adds the masks of a lane that begins at the byte `at` of the block.
    #[inline(always)]
    fn add(&mut self, lane: BlockMasks, at: usize) {
        self.word |= lane.word << at;
        self.digit |= lane.digit << at;
        self.has_high |= lane.has_high;
    }
}

impl<T: Lane> Lanes for T {
    #[inline(always)]
    unsafe fn masks_of_whole(start: *const u8) -> BlockMasks {
        let mut all = BlockMasks::default();
        let mut at = 0;
        while at < BLOCK {
            // SAFETY: the lane is within the block.
            all.add(unsafe { T::load(start.wrapping_add(at)) }.masks(), at);
            at += T::BYTES;
        }
        all
    }

    #[inline(never)]
    unsafe fn masks_of_short(start: *const u8, length: usize) -> BlockMasks {
        if length < T::BYTES {
            // SAFETY: as the caller guarantees.
            return unsafe { T::load_short(start, length) }.masks();
        }
        let mut all = BlockMasks::default();
        let mut at = 0;
        while at < length {
            // The last lane ends with the last byte.
            let place = at.min(length - T::BYTES);
            // SAFETY: the lane is within the readable bytes.
            all.add(unsafe { T::load(start.add(place)) }.masks(), place);
            at += T::BYTES;
        }
        all
    }
}

/// A register of SSE2, which is a part of x86-64.
#[cfg(target_arch = "x86_64")]
pub(super) struct Sse2(core::arch::x86_64::__m128i);

#[cfg(target_arch = "x86_64")]
impl Lane for Sse2 {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(start: *const u8) -> Sse2 {
        // SAFETY: as the caller guarantees.
        Sse2(unsafe { core::arch::x86_64::_mm_loadu_si128(start.cast()) })
    }

    #[inline(always)]
    unsafe fn load_short(start: *const u8, length: usize) -> Sse2 {
        // SAFETY: as the caller guarantees.
        let [low, high] = unsafe { load_short(start, length) };
        // SAFETY: the processor has the instruction.
        Sse2(unsafe { core::arch::x86_64::_mm_set_epi64x(high as i64, low as i64) })
    }

    #[inline(always)]
    fn masks(self) -> BlockMasks {
        use core::arch::x86_64::{
            _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_or_si128,
            _mm_set1_epi8,
        };
        let Sse2(bytes) = self;
        // SAFETY: the processor has the instructions.
        unsafe {
            let each = |byte: u8| _mm_set1_epi8(byte as i8);
            // A range that is moved to the smallest signed numbers needs one comparison.
            let is_in = |bytes, first: u8, count: u8| {
                _mm_cmpgt_epi8(
                    each(0x80 + count),
                    _mm_add_epi8(bytes, each(0x80u8.wrapping_sub(first))),
                )
            };
            let letter = is_in(_mm_or_si128(bytes, each(0x20)), b'a', 26);
            let digit = is_in(bytes, b'0', 10);
            let dash = _mm_cmpeq_epi8(bytes, each(b'-'));
            let underscore = _mm_cmpeq_epi8(bytes, each(b'_'));
            let word = _mm_or_si128(_mm_or_si128(letter, digit), _mm_or_si128(dash, underscore));
            let mask = |bytes| u64::from(_mm_movemask_epi8(bytes) as u32);
            BlockMasks { word: mask(word), digit: mask(digit), has_high: mask(bytes) != 0 }
        }
    }
}

/// Eight bytes of a register, for processors without SSE2.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) struct Words(u64);

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Lane for Words {
    const BYTES: usize = 8;

    #[inline(always)]
    unsafe fn load(start: *const u8) -> Words {
        // SAFETY: as the caller guarantees.
        Words(u64::from_le(unsafe { start.cast::<u64>().read_unaligned() }))
    }

    #[inline(always)]
    unsafe fn load_short(start: *const u8, length: usize) -> Words {
        // SAFETY: as the caller guarantees.
        Words(unsafe { load_short(start, length) }[0])
    }

    #[inline(always)]
    fn masks(self) -> BlockMasks {
        use super::classes::ONES;
        const HIGHS: u64 = 0x80 * ONES;
        let Words(bytes) = self;
        let low = bytes & !HIGHS;
        // The high bit of each byte that is at least `first` and at most `last`; no sum of two
        // seven-bit numbers carries into the next byte.
        let is_in = |low: u64, first: u8, last: u8| {
            let (first, last) = (u64::from(first), u64::from(last));
            (low + (0x80 - first) * ONES) & !(low + (0x7f - last) * ONES) & HIGHS & !bytes
        };
        let letter = is_in(low | (0x20 * ONES), b'a', b'z');
        let digit = is_in(low, b'0', b'9');
        let dash = is_in(low, b'-', b'-');
        let underscore = is_in(low, b'_', b'_');
        // The high bits of the bytes are collected in the highest byte.
        let mask = |highs: u64| (highs >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        BlockMasks {
            word: mask(letter | digit | dash | underscore),
            digit: mask(digit),
            has_high: bytes & HIGHS != 0,
        }
    }
}
