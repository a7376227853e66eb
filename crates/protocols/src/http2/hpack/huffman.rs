//! Decoder of HPACK's Huffman code (RFC 7541, 5.2).

use snippets::huffman::{CODES, SYMBOLS};

use super::value::{BrokenBlock, HeaderValue};

/// Decodes a string, keeping at most `keep` bytes.
pub(super) fn decode_huffman(coded: &[u8], keep: usize) -> Result<HeaderValue, BrokenBlock> {
    let mut value = HeaderValue::default();
    let (mut code, mut length): (u32, usize) = (0, 0);
    for byte in coded {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            let Some(codes) = CODES.get(length) else { return Err(BrokenBlock) };
            let Some(number) = code.checked_sub(codes.first).filter(|of| *of < codes.count) else {
                continue;
            };
            let symbol = SYMBOLS.get(codes.position + number as usize).ok_or(BrokenBlock)?;
            if value.bytes.len() < keep {
                value.bytes.push(*symbol);
            }
            value.length += 1;
            (code, length) = (0, 0);
        }
    }
    // The last byte is padded with the beginning of the end-of-string code, less than a byte of it.
    let filled = length < 8 && code == (1 << length) - 1;
    if filled { Ok(value) } else { Err(BrokenBlock) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use snippets::huffman::LENGTHS;

    /// Encodes a text, for round trips.
    fn encode_huffman(text: &[u8]) -> Vec<u8> {
        let mut bits = Vec::new();
        for byte in text {
            let length = usize::from(LENGTHS[usize::from(*byte)]);
            let position = SYMBOLS.iter().position(|symbol| symbol == byte).unwrap();
            let code = CODES[length].first + (position - CODES[length].position) as u32;
            bits.extend((0..length).rev().map(|bit| code >> bit & 1));
        }
        while bits.len() % 8 != 0 {
            bits.push(1);
        }
        bits.chunks(8).map(|byte| byte.iter().fold(0, |of, bit| of << 1 | *bit as u8)).collect()
    }

    /// Codes of appendix B, of several lengths.
    #[test]
    fn codes_match_the_rfc() {
        for (byte, code, length) in [
            (b'0', 0x0, 5),
            (b't', 0x9, 5),
            (b' ', 0x14, 6),
            (b':', 0x5c, 7),
            (b'&', 0xf8, 8),
            (b'?', 0x3fc, 10),
            (b'#', 0xffa, 12),
            (b'^', 0x3ffc, 14),
            (b'\\', 0x7fff0, 19),
            (0x80, 0xfffe6, 20),
            (9, 0xff_ffea, 24),
            (249, 0xfff_fffe, 28),
            (22, 0x3fff_fffe, 30),
        ] {
            let of = CODES[length];
            let position = SYMBOLS.iter().position(|symbol| *symbol == byte).unwrap();
            assert_eq!(of.first + (position - of.position) as u32, code, "{byte}");
        }
    }

    #[test]
    fn every_byte_round_trips() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode_huffman(&encode_huffman(&all), 256).unwrap().bytes, all);
        let some = decode_huffman(&encode_huffman(&all), 10).unwrap();
        assert_eq!((some.bytes.as_slice(), some.length), (&all[..10], 256));
    }

    #[test]
    fn wrong_padding_is_refused() {
        // "0" is 00000, and the rest of a byte is 1.
        assert_eq!(decode_huffman(&[0b0000_0111], 9).unwrap().bytes, b"0");
        assert_eq!(decode_huffman(&[0b0000_0110], 9), Err(BrokenBlock));
        assert_eq!(decode_huffman(&[0b0000_0111, 0xff], 9), Err(BrokenBlock));
        assert_eq!(decode_huffman(&[0xff; 4], 9), Err(BrokenBlock));
    }
}
