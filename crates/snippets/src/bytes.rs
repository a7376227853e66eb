//! View of the bytes of a turn (what one end sends until the other end sends), which are read and
//! blanked in place.

/// Replacement for a byte that is not kept.
pub const BLANK: u8 = b'*';

/// Bytes of a turn, read and blanked by position. Positions outside of the turn have no byte.
pub(crate) struct TurnBytes<'turn> {
    all: &'turn mut [u8],
}

impl<'turn> TurnBytes<'turn> {
    pub(crate) fn new(all: &'turn mut [u8]) -> TurnBytes<'turn> {
        TurnBytes { all }
    }

    /// Number of bytes present.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Byte at `at`; `None` outside of the turn.
    pub(crate) fn byte_at(&self, at: usize) -> Option<u8> {
        self.all.get(at).copied()
    }

    /// Bytes from `from` to `to`, as far as they are present.
    pub(crate) fn range(&self, from: usize, to: usize) -> &[u8] {
        let to = to.min(self.all.len());
        self.all.get(from..to).unwrap_or(&[])
    }

    /// Bytes from `from` on.
    pub(crate) fn rest_from(&self, from: usize) -> &[u8] {
        self.all.get(from..).unwrap_or(&[])
    }

    /// Mutable bytes from `from` to `to`, as far as they are present.
    pub(crate) fn range_mut(&mut self, from: usize, to: usize) -> &mut [u8] {
        let to = to.min(self.all.len());
        self.all.get_mut(from..to).unwrap_or_default()
    }

    /// Blanks the bytes from `from` to `to`.
    pub(crate) fn blank_range(&mut self, from: usize, to: usize) {
        self.range_mut(from, to).fill(BLANK);
    }

    /// Blanks the rest of the turn from `at`, the end of the understood messages. If `at` is 0, so
    /// that no message was understood, blanks nothing and returns false.
    pub(crate) fn blank_rest(&mut self, at: usize) -> bool {
        if at > 0 {
            self.blank_range(at, self.len());
        }
        at > 0
    }

    /// Reads `count` bytes at `at` as a big-endian number; `None` if not all are present.
    pub(crate) fn big_endian(&self, at: usize, count: usize) -> Option<usize> {
        let bytes = self.all.get(at..at.checked_add(count)?)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// Reads `count` bytes at `at` as a little-endian number; `None` if not all are present.
    pub(crate) fn little_endian(&self, at: usize, count: usize) -> Option<usize> {
        let bytes = self.all.get(at..at.checked_add(count)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// Index in the turn of the first `byte` between `from` and `to`.
    pub(crate) fn find_byte(&self, byte: u8, from: usize, to: usize) -> Option<usize> {
        self.range(from, to).iter().position(|of| *of == byte).map(|index| from + index)
    }
}
