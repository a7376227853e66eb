//! Variable-length encoding of numbers (varints, LEB128; signed ones zigzag-encoded): instances
//! consist mostly of small numbers, and there are many.

/// Appends `number`, seven bits per byte.
#[inline]
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends `number`; small ones of either sign need few bytes.
#[inline]
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, (number << 1 ^ number >> 63) as u64);
}

/// Appends the bytes of `number`, in little-endian order.
#[inline]
pub(crate) fn put_float(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends `bytes` with their number before them.
#[inline]
pub(crate) fn put_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reader of the values that were appended, in the same order. Beyond the end everything is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathByteReader<'bytes>(pub(crate) &'bytes [u8]);

impl<'bytes> PathByteReader<'bytes> {
    /// Returns whether all was read.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a number written by [`put_number`].
    #[inline]
    pub(crate) fn read_number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some((byte, rest)) = self.0.split_first() {
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 63 {
                break;
            }
        }
        number
    }

    /// Reads a number written by [`put_signed`].
    #[inline]
    pub(crate) fn read_signed(&mut self) -> i64 {
        let number = self.read_number();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    /// Reads a number written by [`put_float`].
    #[inline]
    pub(crate) fn read_float(&mut self) -> f64 {
        match self.0.split_first_chunk() {
            Some((bytes, rest)) => {
                self.0 = rest;
                f64::from_le_bytes(*bytes)
            }
            None => 0.0,
        }
    }

    /// Reads one byte.
    #[inline]
    pub(crate) fn read_byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    /// Reads bytes written by [`put_slice`].
    #[inline]
    pub(crate) fn read_slice(&mut self) -> &'bytes [u8] {
        let length = (self.read_number() as usize).min(self.0.len());
        let (slice, rest) = self.0.split_at(length);
        self.0 = rest;
        slice
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn values_are_read_as_they_were_put(
            number in prop::num::u64::ANY,
            shift in 0u32..64,
            signed in prop::num::i64::ANY,
            float in prop::num::f64::NORMAL,
            slice in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number >> shift);
            put_signed(&mut bytes, signed >> shift);
            put_slice(&mut bytes, &slice);
            put_float(&mut bytes, float);
            let mut reader = PathByteReader(&bytes);
            prop_assert_eq!(reader.read_number(), number >> shift);
            prop_assert_eq!(reader.read_signed(), signed >> shift);
            prop_assert_eq!(reader.read_slice(), &slice);
            prop_assert_eq!(reader.read_float(), float);
            prop_assert!(reader.is_empty());
            prop_assert_eq!((reader.read_number(), reader.read_float(), reader.read_byte(), reader.read_slice().len()), (0, 0.0, 0, 0));
        }
    }

    #[test]
    fn small_numbers_of_either_sign_are_one_byte() {
        for number in [-64, -1, 0, 1, 63] {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, number);
            assert_eq!(bytes.len(), 1);
        }
    }
}
