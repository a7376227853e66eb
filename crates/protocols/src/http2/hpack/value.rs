//! Values of header fields, and the error of a broken block.

/// A block that breaks the rules of RFC 7541, or ends within a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct BrokenBlock;

/// Value of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct HeaderValue {
    /// First bytes of the value; empty for fields that name nothing.
    pub(in super::super) bytes: Vec<u8>,
    /// Length of the whole value, in bytes.
    pub(in super::super) length: usize,
}

impl HeaderValue {
    /// Returns the value if it was kept as a whole.
    pub(in super::super) fn whole_value(&self) -> Option<&[u8]> {
        (self.bytes.len() == self.length).then_some(self.bytes.as_slice())
    }
}
