//! Handles usual header blocks in one pass: whole blocks in which all names are table entries. The
//! kept bytes are the same as by [`HeaderBlocks::walk_block`].

use super::super::sink::BLANK;
use super::{BlockStep, HeaderBlocks, is_kept, may_have_query, query};
use crate::tuning::MAX_BLANKS;

/// Value in a block: the position of its length, its beginning, and its length, in bytes.
#[derive(Clone, Copy)]
struct BlockValue {
    at: u16,
    begin: u16,
    length: u16,
}

/// Values of a block that are blanked.
pub(in super::super) struct BlankedValues {
    values: [BlockValue; MAX_BLANKS],
    count: usize,
}

impl BlankedValues {
    pub(in super::super) const NONE: BlankedValues =
        BlankedValues { values: [BlockValue { at: 0, begin: 0, length: 0 }; MAX_BLANKS], count: 0 };

    pub(in super::super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the value of `length` bytes from `begin` on, with its length at `at`. Returns false if
    /// all places are taken. Blocks are short, see [`crate::tuning::MAX_WHOLE_FRAME_BYTES`].
    #[inline(always)]
    fn add_value(&mut self, at: usize, begin: usize, length: usize) -> bool {
        let Some(place) = self.values.get_mut(self.count) else { return false };
        *place = BlockValue { at: at as u16, begin: begin as u16, length: length as u16 };
        self.count += 1;
        true
    }

    /// Blanks the values in the block.
    pub(in super::super) fn blank_values(&self, block: &mut [u8]) {
        for BlockValue { at, begin, length } in self.values.iter().take(self.count) {
            // A blanked value is not Huffman-coded.
            if let Some(byte) = block.get_mut(usize::from(*at)) {
                *byte &= 0x7f;
            }
            let begin = usize::from(*begin);
            if let Some(value) = block.get_mut(begin..begin + usize::from(*length)) {
                value.fill(BLANK);
            }
        }
    }
}

/// The integer at `at` with `bits` bits in its first byte, and the index after it; `None` if it has
/// more than two bytes.
#[inline(always)]
fn short_integer(block: &[u8], at: usize, bits: u32) -> Option<(u32, usize)> {
    let largest = (1u8 << bits) - 1;
    let number = block.get(at)? & largest;
    if number < largest {
        return Some((number.into(), at + 1));
    }
    let more = *block.get(at + 1).filter(|more| **more < 0x80)?;
    Some((u32::from(largest) + u32::from(more), at + 2))
}

impl HeaderBlocks {
    /// Walks over a whole block in which all fields have indexed names, and numbers of one or two
    /// bytes. Adds the values to blank to `blanks`. Returns false without any effect if the block
    /// is different, or `blanks` is full.
    #[inline(always)]
    pub(in super::super) fn pass_block(
        &mut self,
        block: &[u8],
        blanks: &mut BlankedValues,
    ) -> bool {
        let mut chosen = self.chosen;
        let mut at = 0;
        while let Some(&byte) = block.get(at) {
            let (bits, is_indexed) = match byte {
                0x80.. => (7, false),
                0x40.. => (6, true),
                0x20.. => (5, false),
                _ => (4, false),
            };
            let Some((number, after)) = short_integer(block, at, bits) else { return false };
            at = after;
            // A table entry, or the size of the table.
            if byte >= 0x80 || bits == 5 {
                continue;
            }
            let begin = at;
            let Some((length, after)) = short_integer(block, at, 7) else { return false };
            let is_kept = is_kept(number, chosen);
            if number == 0 || !is_kept && !blanks.add_value(at, after, length as usize) {
                return false;
            }
            at = after + length as usize;
            // A value with a query is walked over byte by byte.
            if is_kept && may_have_query(number) && query::has_query(block, begin, after, at) {
                return false;
            }
            if is_indexed {
                chosen = chosen << 1 | u128::from(is_kept);
            }
        }
        let is_passed = self.step == BlockStep::Field && at == block.len();
        if is_passed {
            self.chosen = chosen;
        }
        is_passed
    }
}
