//! How large the datagrams are that a call moved at once, and where each is among its bytes.

use std::ops::Range;

/// IP cannot count further, so this is the most that one call moves of UDP.
const LARGEST_BYTES: u64 = 65_535;

/// Size of the datagrams that a call moved at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Size {
    /// The call moved one datagram.
    #[default]
    One,
    /// All but the last have this size, in bytes.
    Of(u64),
    /// There may be several, and the file does not say how large they are.
    Unknown,
}

impl Size {
    /// What a number of bytes says; 0 stands for one datagram.
    pub(super) fn of(bytes: u64) -> Size {
        if bytes == 0 { Size::One } else { Size::Of(bytes) }
    }

    /// The place of each datagram among the `bytes` of a call.
    pub(super) fn pieces(self, bytes: u64) -> impl Iterator<Item = Range<u64>> {
        let size = match self {
            // A file may say anything, and the kernel moves no more at once.
            Size::Of(size) if size < bytes && bytes <= LARGEST_BYTES => size,
            Size::One | Size::Unknown | Size::Of(_) => bytes.max(1),
        };
        // One without bytes is one, too.
        let count = bytes.div_ceil(size).max(1);
        (0..count).map(move |piece| piece * size..((piece + 1) * size).min(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::single_range_in_vec_init, reason = "one datagram is expected")]
    #[test]
    fn pieces_are_as_large_as_each_other_but_for_the_last() {
        let pieces = |size: Size, bytes| size.pieces(bytes).collect::<Vec<_>>();
        assert_eq!(pieces(Size::Of(1000), 2077), [0..1000, 1000..2000, 2000..2077]);
        assert_eq!(pieces(Size::Of(1000), 2000), [0..1000, 1000..2000]);
        assert_eq!(pieces(Size::Of(1000), 1000), [0..1000]);
        assert_eq!(pieces(Size::Of(1000), 0), [0..0]);
        assert_eq!(pieces(Size::One, 5000), [0..5000]);
        assert_eq!(pieces(Size::Unknown, 5000), [0..5000]);
        assert_eq!(pieces(Size::Of(1), u64::MAX), [0..u64::MAX]);
    }
}
