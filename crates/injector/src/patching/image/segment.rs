//! Loaded segment of a file, and the bytes at its addresses.

use std::ops::Range;

/// Loaded segment of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageSegment<'a> {
    /// Linked address.
    pub(crate) address: u64,
    /// Bytes in the file; the rest is zeros.
    pub(crate) bytes: &'a [u8],
    /// Whether the segment is executable.
    pub(crate) is_code: bool,
}

impl<'a> ImageSegment<'a> {
    /// Addresses of the bytes in the file.
    pub(crate) fn address_range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.bytes.len() as u64)
    }

    /// Bytes from an address to the segment's end.
    pub(crate) fn bytes_from(&self, address: u64) -> Option<&'a [u8]> {
        self.bytes.get(usize::try_from(address.checked_sub(self.address)?).ok()?..)
    }
}
