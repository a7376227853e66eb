//! Size of the datagrams that one call transferred together, and their ranges in its bytes.

use std::ops::Range;

/// Maximum size of an IP packet, and thus of the UDP data that one call transfers, in bytes.
const MAX_DATAGRAM_BYTES: u64 = 65_535;

/// Size of the datagrams that one call transferred together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Size {
    /// The call transferred one datagram.
    #[default]
    One,
    /// All datagrams but the last have this size, in bytes.
    Of(u64),
    /// There may be several, of a size that the file does not contain.
    Unknown,
}

impl Size {
    /// Size from a number of bytes; 0 means one datagram.
    pub(super) fn of(bytes: u64) -> Size {
        if bytes == 0 { Size::One } else { Size::Of(bytes) }
    }

    /// Range of each datagram in the `bytes` of a call.
    pub(super) fn datagram_ranges(self, bytes: u64) -> impl Iterator<Item = Range<u64>> {
        let size = match self {
            // The file may contain any number, and the kernel transfers no more in one call.
            Size::Of(size) if size < bytes && bytes <= MAX_DATAGRAM_BYTES => size,
            Size::One | Size::Unknown | Size::Of(_) => bytes.max(1),
        };
        // An empty datagram counts as one, too.
        let count = bytes.div_ceil(size).max(1);
        (0..count).map(move |range| range * size..((range + 1) * size).min(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::single_range_in_vec_init, reason = "one datagram is expected")]
    #[test]
    fn pieces_are_of_equal_size_except_the_last() {
        let datagram_ranges = |size: Size, bytes| size.datagram_ranges(bytes).collect::<Vec<_>>();
        assert_eq!(datagram_ranges(Size::Of(1000), 2077), [0..1000, 1000..2000, 2000..2077]);
        assert_eq!(datagram_ranges(Size::Of(1000), 2000), [0..1000, 1000..2000]);
        assert_eq!(datagram_ranges(Size::Of(1000), 1000), [0..1000]);
        assert_eq!(datagram_ranges(Size::Of(1000), 0), [0..0]);
        assert_eq!(datagram_ranges(Size::One, 5000), [0..5000]);
        assert_eq!(datagram_ranges(Size::Unknown, 5000), [0..5000]);
        assert_eq!(datagram_ranges(Size::Of(1), u64::MAX), [0..u64::MAX]);
    }
}
