//! A loaded part of a file, and the bytes at its addresses.

use std::ops::Range;

/// A part of the file that is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageSegment<'a> {
    /// Address as linked.
    pub(crate) address: u64,
    /// What the file has of it; the rest is zeros.
    pub(crate) bytes: &'a [u8],
    /// Whether code in it can run.
    pub(crate) is_code: bool,
}

impl<'a> ImageSegment<'a> {
    /// The addresses of what the file has of it.
    pub(crate) fn address_range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.bytes.len() as u64)
    }

    /// The bytes from an address to the segment's end.
    pub(crate) fn bytes_from(&self, address: u64) -> Option<&'a [u8]> {
        self.bytes.get(usize::try_from(address.checked_sub(self.address)?).ok()?..)
    }
}
