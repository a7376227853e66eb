//! Pieces of a transfer that are kept as one snippet.

use core::ops::Range;

use crate::tuning::MAX_PIECES;

/// Ranges of the bytes of a transfer, in order.
pub(super) struct KeptRanges {
    ranges: [Range<usize>; MAX_PIECES],
    count: usize,
    /// Total number of bytes.
    length: usize,
}

impl KeptRanges {
    /// No ranges.
    pub(super) const NONE: KeptRanges =
        KeptRanges { ranges: [const { 0..0 }; MAX_PIECES], count: 0, length: 0 };

    /// Removes all ranges.
    pub(super) fn clear(&mut self) {
        (self.count, self.length) = (0, 0);
    }

    /// Whether all places for ranges are taken.
    pub(super) fn is_full(&self) -> bool {
        self.count == MAX_PIECES
    }

    /// The ranges.
    pub(super) fn ranges(&self) -> &[Range<usize>] {
        self.ranges.get(..self.count).unwrap_or(&self.ranges)
    }

    /// Total number of bytes.
    pub(super) fn byte_count(&self) -> usize {
        self.length
    }

    /// Appends a range. It is left out if all places are taken.
    #[inline(always)]
    pub(super) fn add_range(&mut self, range: Range<usize>) {
        if let Some(last) = self.count.checked_sub(1).and_then(|last| self.ranges.get_mut(last))
            && last.end == range.start
        {
            self.length += range.len();
            last.end = range.end;
        } else if let Some(place) = self.ranges.get_mut(self.count) {
            self.length += range.len();
            *place = range;
            self.count += 1;
        }
    }

    /// Whether all places for ranges would be taken by `count` further ranges.
    #[inline(always)]
    pub(super) fn is_full_with(&self, count: usize) -> bool {
        self.count + count >= MAX_PIECES
    }

    /// Appends a range that does not adjoin the last one. It is left out if all places are taken.
    #[inline(always)]
    pub(super) fn push_range(&mut self, range: Range<usize>) {
        if let Some(place) = self.ranges.get_mut(self.count) {
            self.length += range.end - range.start;
            *place = range;
            self.count += 1;
        }
    }
}
