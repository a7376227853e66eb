//! Newlines of a text, found 64 bytes at a time: searching for them one by one would take most of
//! the time of a head.

/// Number of bytes that are inspected together: as many as a word has bits.
const BLOCK: usize = u64::BITS as usize;

/// Number of bytes of a part of a block.
const PART: usize = 16;

/// Ends of the lines of a text, in order: the indices of the bytes after its newlines.
pub(super) struct LineEnds<'text> {
    text: &'text [u8],
    /// Index of the block's first byte.
    block: usize,
    /// A bit for each newline of the block that is still to be returned.
    found: u64,
}

impl<'text> LineEnds<'text> {
    /// Ends of the lines of `text`.
    #[inline(always)]
    pub(super) fn in_text(text: &'text [u8]) -> LineEnds<'text> {
        LineEnds { text, block: 0, found: in_block(text, 0) }
    }
}

impl Iterator for LineEnds<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            self.block += BLOCK;
            if self.block >= self.text.len() {
                self.block = self.text.len();
                return None;
            }
            self.found = in_block(self.text, self.block);
        }
        let end = self.block + self.found.trailing_zeros() as usize + 1;
        self.found &= self.found - 1;
        Some(end)
    }
}

/// A bit for each newline of the block that begins at `from`. The last block may be shorter.
#[inline(always)]
fn in_block(text: &[u8], from: usize) -> u64 {
    let rest = text.get(from..).unwrap_or(&[]);
    if let Some(block) = rest.first_chunk::<BLOCK>() {
        in_parts(block)
    } else if let Some(last) = text.last_chunk::<BLOCK>() {
        // The last bytes are inspected together with the preceding ones, which were already
        // handled.
        in_parts(last).unbounded_shr((BLOCK - rest.len()) as u32)
    } else {
        in_short(rest)
    }
}

/// A bit for each newline of a text that is shorter than a block.
#[inline(never)]
fn in_short(text: &[u8]) -> u64 {
    match text.last_chunk::<PART>() {
        Some(last) => in_parts(text) | u64::from(in_part(last)) << (text.len() - PART),
        None => text
            .iter()
            .enumerate()
            .fold(0, |found, (index, byte)| found | u64::from(*byte == b'\n') << index),
    }
}

/// A bit for each newline of the whole parts of a block.
#[inline(always)]
fn in_parts(block: &[u8]) -> u64 {
    let parts = block.as_chunks::<PART>().0.iter().enumerate();
    parts.fold(0, |found, (index, part)| found | u64::from(in_part(part)) << (PART * index))
}

/// A bit for each newline of one part.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn in_part(part: &[u8; PART]) -> u16 {
    use core::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every such processor has these instructions, and the part is as long as the loaded
    // value.
    unsafe {
        let bytes = _mm_loadu_si128(part.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n' as i8))) as u16
    }
}

/// A bit for each newline of one part, on processors other than x86-64.
#[cfg(not(target_arch = "x86_64"))]
use in_words as in_part;

/// A bit for each newline of one part, found by words of 8 bytes.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) fn in_words(part: &[u8; PART]) -> u16 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let [low, high] = [0, 8].map(|at| {
        let word = part.get(at..).and_then(|bytes| bytes.first_chunk()).copied();
        let other = u64::from_le_bytes(word.unwrap_or_default()) ^ 0x0a0a_0a0a_0a0a_0a0a;
        // The highest bit of each byte that is a newline, and no other; then they are collected.
        let found = !((other & LOW).wrapping_add(LOW) | other | LOW);
        ((found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
    });
    low | high << 8
}
