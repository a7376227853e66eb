//! Huffman code of HPACK (RFC 7541, 5.2 and appendix B).
//!
//! The code is canonical: codes of one length are consecutive numbers, in the order of their
//! symbols, so the lengths define the whole code.

use super::value::{BrokenBlock, HeaderValue};

/// Code length of each byte, in bits. The end-of-string symbol has 30 bits, all of them 1.
#[rustfmt::skip]
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/// Length of the longest code, in bits.
const LONGEST: usize = 30;

/// Codes of one length.
#[derive(Clone, Copy)]
struct HuffmanCodes {
    /// First code.
    first: u32,
    /// Number of codes.
    count: u32,
    /// Position of the first code's byte in `SYMBOLS`.
    position: usize,
}

/// Bytes in the order of their codes.
const SYMBOLS: [u8; 256] = symbol_table();

const CODES: [HuffmanCodes; LONGEST + 1] = code_table();

const fn symbol_table() -> [u8; 256] {
    let (mut symbols, mut position, mut length) = ([0; 256], 0, 1);
    while length <= LONGEST {
        let mut byte = 0;
        while byte < 256 {
            if LENGTHS[byte] as usize == length {
                symbols[position] = byte as u8;
                position += 1;
            }
            byte += 1;
        }
        length += 1;
    }
    symbols
}

const fn code_table() -> [HuffmanCodes; LONGEST + 1] {
    let mut codes = [HuffmanCodes { first: 0, count: 0, position: 0 }; LONGEST + 1];
    let (mut next, mut position, mut length) = (0, 0, 1);
    while length <= LONGEST {
        next <<= 1;
        let (mut count, mut byte) = (0, 0);
        while byte < 256 {
            if LENGTHS[byte] as usize == length {
                count += 1;
            }
            byte += 1;
        }
        codes[length] = HuffmanCodes { first: next, count, position };
        next += count;
        position += count as usize;
        length += 1;
    }
    codes
}

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
    fn codes_are_those_of_the_rfc() {
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
    fn every_byte_comes_back() {
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
