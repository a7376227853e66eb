//! Classes of bytes (word, digit, outside of ASCII), as bit masks of blocks of 64 bytes: the first
//! byte has the lowest bit.

/// Number of bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Masks of a block: a bit for each byte of a class. The bits of missing bytes are 0.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockMasks {
    /// Bytes of words: ASCII letters, digits, `-` and `_`.
    pub(super) word: u64,
    /// Digits.
    pub(super) digit: u64,
    /// Whether there may be bytes outside of ASCII.
    pub(super) has_high: bool,
}

/// Instructions that classify bytes.
pub(super) trait Lanes {
    /// Masks of a whole block.
    ///
    /// # Safety
    /// [`BLOCK`] bytes are readable, and the processor has the instructions.
    unsafe fn masks_of_whole(start: *const u8) -> BlockMasks;

    /// Masks of a message of less than a block.
    ///
    /// # Safety
    /// `length` bytes are readable, at least one and less than [`BLOCK`], and the processor has the
    /// instructions.
    unsafe fn masks_of_short(start: *const u8, length: usize) -> BlockMasks;
}

/// Masks of the block that begins at `start`. From there on `length` bytes are readable, and before
/// it `before` bytes, which are whole blocks. All bytes take the same few instructions: after a
/// system call, the processor has neither the instructions in its first-level cache nor a memory of
/// branches.
///
/// # Safety
/// As stated, `length` is not 0, and the processor has the instructions.
#[inline(always)]
pub(super) unsafe fn masks_of_block<L: Lanes>(
    start: *const u8,
    length: usize,
    before: usize,
) -> BlockMasks {
    let missing = BLOCK.saturating_sub(length);
    if missing > before {
        // SAFETY: as the caller guarantees.
        return unsafe { L::masks_of_short(start, length) };
    }
    // The last block ends with the last byte, and begins with bytes that were seen already.
    // SAFETY: the bytes are readable.
    let BlockMasks { word, digit, has_high } =
        unsafe { L::masks_of_whole(start.wrapping_sub(missing)) };
    BlockMasks { word: word >> missing, digit: digit >> missing, has_high }
}

/// Number of bytes outside of ASCII.
#[cold]
#[inline(never)]
pub(super) fn count_high(bytes: &[u8]) -> u32 {
    let mut parts = bytes.chunks_exact(8);
    let mut count = 0;
    for part in &mut parts {
        let part = part.first_chunk().map_or(0, |part| u64::from_ne_bytes(*part));
        // The highest bits of the bytes are added up in the highest byte.
        count += ((part >> 7 & ONES).wrapping_mul(ONES) >> 56) as u32;
    }
    count + parts.remainder().iter().map(|byte| u32::from(byte >> 7)).sum::<u32>()
}

/// A number whose bytes are all 1.
pub(super) const ONES: u64 = 0x0101_0101_0101_0101;

/// Up to 15 bytes, followed by zeros, as two numbers.
///
/// # Safety
/// `length` bytes are readable, at least one and less than 16.
#[inline(always)]
pub(super) unsafe fn load_short(start: *const u8, length: usize) -> [u64; 2] {
    // SAFETY: all loads are within the bytes.
    unsafe {
        if length >= 8 {
            let high = u64::from_le(start.add(length - 8).cast::<u64>().read_unaligned());
            let low = u64::from_le(start.cast::<u64>().read_unaligned());
            return [low, (high >> 8) >> (120 - 8 * length)];
        }
        if length >= 4 {
            let high = u32::from_le(start.add(length - 4).cast::<u32>().read_unaligned());
            let low = u32::from_le(start.cast::<u32>().read_unaligned());
            return [u64::from(low) | u64::from(high) << (8 * (length - 4)), 0];
        }
        let [low, middle, high] =
            [0, length / 2, length - 1].map(|at| u64::from(start.add(at).read()) << (8 * at));
        [low | middle | high, 0]
    }
}
