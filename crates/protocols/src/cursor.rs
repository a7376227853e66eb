//! Cursor that reads numbers and texts from bytes which may end anywhere.

/// The remaining bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteCursor<'a>(pub(crate) &'a [u8]);

impl<'a> ByteCursor<'a> {
    /// Takes the next bytes; `None` if there are fewer.
    pub(crate) fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take_array().map(|[byte]| byte)
    }

    pub(crate) fn be_u16(&mut self) -> Option<u16> {
        self.take_array().map(u16::from_be_bytes)
    }

    pub(crate) fn be_u32(&mut self) -> Option<u32> {
        self.take_array().map(u32::from_be_bytes)
    }

    pub(crate) fn le_u16(&mut self) -> Option<u16> {
        self.take_array().map(u16::from_le_bytes)
    }

    pub(crate) fn le_u32(&mut self) -> Option<u32> {
        self.take_array().map(u32::from_le_bytes)
    }

    /// Reads a zero-terminated text, without its zero.
    pub(crate) fn zero_ended_text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take_bytes(end)?;
        self.u8()?;
        Some(text)
    }
}

/// The first line without its end, and its length with it; `None` if it has no end.
pub(crate) fn first_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line = bytes.get(..end)?;
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

/// Parses a decimal number of at most 18 digits.
pub(crate) fn parse_decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 18 {
        return None;
    }
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    bytes.iter().try_fold(0, |number, byte| Some(number * 10 + digit(byte)?))
}
