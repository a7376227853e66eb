//! Values of header fields, and what is wrong with a block.

/// A block that breaks the rules of RFC 7541, or ends within a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct BrokenBlock;

/// The value of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct HeaderValue {
    /// Its first bytes; empty for fields that name nothing.
    pub(in super::super) bytes: Vec<u8>,
    /// Length of the whole value.
    pub(in super::super) length: usize,
}

impl HeaderValue {
    /// The value, where all of it is there.
    pub(in super::super) fn whole_value(&self) -> Option<&[u8]> {
        (self.bytes.len() == self.length).then_some(self.bytes.as_slice())
    }
}
