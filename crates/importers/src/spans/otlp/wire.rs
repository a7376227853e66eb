//! Protobuf's wire format: the fields of a message, borrowed from its bytes. For a truncated
//! message, each complete field is returned, and the existing part of the last one.

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireField<'t> {
    /// A number of 64 or 32 bits, of fixed size or not.
    Number(u64),
    /// A text, bytes or a message.
    Bytes(&'t [u8]),
    /// Existing part of truncated bytes.
    CutOff(&'t [u8]),
}

/// Error for bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedMessage;

/// Fields of a message with their numbers.
#[derive(Clone, Debug)]
pub(super) struct WireFields<'t>(&'t [u8]);

impl<'t> WireFields<'t> {
    /// Creates the fields of a message.
    pub(super) fn new(message: &'t [u8]) -> WireFields<'t> {
        WireFields(message)
    }

    /// Takes `length` bytes, if there are that many.
    fn take_bytes(&mut self, length: usize) -> Option<&'t [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_field(&mut self) -> Option<(u64, WireField<'t>)> {
        let key = take_varint(&mut self.0)?;
        let value = match key & 7 {
            0 => WireField::Number(take_varint(&mut self.0)?),
            1 => WireField::Number(little_endian(self.take_bytes(8)?)),
            2 => {
                let length = take_varint(&mut self.0)?;
                match usize::try_from(length).ok().and_then(|length| self.take_bytes(length)) {
                    Some(bytes) => WireField::Bytes(bytes),
                    None => WireField::CutOff(std::mem::take(&mut self.0)),
                }
            }
            5 => WireField::Number(little_endian(self.take_bytes(4)?)),
            _ => return None,
        };
        Some((key >> 3, value)).filter(|(number, _)| *number > 0)
    }
}

impl<'t> Iterator for WireFields<'t> {
    type Item = Result<(u64, WireField<'t>), MalformedMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.take_field().ok_or(MalformedMessage);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Takes a variable-length number.
pub(super) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * place as u32).unwrap_or(0);
        if byte & 0x80 == 0 {
            *bytes = bytes.get(place + 1..).unwrap_or_default();
            return Some(number);
        }
    }
    None
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use prost::Message;

    /// A message with a field of each kind, encoded by another library.
    #[derive(Clone, PartialEq, Message)]
    struct Each {
        #[prost(uint64, tag = "1")]
        varint: u64,
        #[prost(fixed64, tag = "2")]
        fixed64: u64,
        #[prost(bytes = "vec", tag = "15")]
        bytes: Vec<u8>,
        #[prost(fixed32, tag = "1000")]
        fixed32: u32,
    }

    #[test]
    fn invalid_messages_are_errors() {
        let fields = |bytes| WireFields::new(bytes).collect::<Vec<_>>();
        assert_eq!(fields(&[]), []);
        // Field number 0, a group, an unterminated number, a field without a value.
        for bytes in [&[0x02, 0][..], &[0x0b], &[0x08, 0xff, 0xff, 0xff], &[0x09, 1], &[0x0a]] {
            assert_eq!(fields(bytes), [Err(MalformedMessage)], "{bytes:?}");
        }
        assert_eq!(
            fields(&[0x08, 1, 0x0a, 9, 7, 8]),
            [Ok((1, WireField::Number(1))), Ok((1, WireField::CutOff(&[7, 8])))]
        );
        assert_eq!(take_varint(&mut &[0xff; 12][..]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn messages_of_another_encoder_are_read(
            varint in 1u64.., fixed64 in 1u64.., fixed32 in 1u32..,
            bytes in proptest::collection::vec(any::<u8>(), 1..300),
        ) {
            let message = Each { varint, fixed64, bytes: bytes.clone(), fixed32 }.encode_to_vec();
            let read: Vec<_> = WireFields::new(&message).collect();
            prop_assert_eq!(read, vec![
                Ok((1, WireField::Number(varint))),
                Ok((2, WireField::Number(fixed64))),
                Ok((15, WireField::Bytes(&bytes))),
                Ok((1000, WireField::Number(fixed32.into()))),
            ]);
        }
    }
}
