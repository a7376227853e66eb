//! Sequential reader of numbers and texts; returns `None` past the end.

/// Reader of the remaining bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::events::perf) struct ByteReader<'b>(pub(in crate::events::perf) &'b [u8]);

impl<'b> ByteReader<'b> {
    pub(in crate::events::perf) fn take_bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(in crate::events::perf) fn take_u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take_bytes(2)?.try_into().ok()?))
    }

    pub(in crate::events::perf) fn take_u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take_bytes(4)?.try_into().ok()?))
    }

    pub(in crate::events::perf) fn take_u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take_bytes(8)?.try_into().ok()?))
    }

    /// Takes a zero-terminated text and its zero, and returns the text.
    pub(in crate::events::perf) fn take_text(&mut self) -> Option<&'b [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let text = self.take_bytes(end)?;
        self.take_bytes(1)?;
        Some(text)
    }

    /// Trims a text of a fixed length to its first zero.
    pub(in crate::events::perf) fn trim_padding(text: &'b [u8]) -> &'b [u8] {
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        text.get(..end).unwrap_or_default()
    }
}
