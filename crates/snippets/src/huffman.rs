//! Huffman code of HPACK (RFC 7541, 5.2 and appendix B), for the library, which blanks coded
//! values, and for the parser, which decodes them.
//!
//! The code is canonical: codes of one length are consecutive numbers, in the order of their
//! symbols, so the lengths define the whole code.

/// Code length of each byte, in bits. The end-of-string symbol has 30 bits, all of them 1.
#[rustfmt::skip]
pub const LENGTHS: [u8; 256] = [
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
pub const MAX_CODE_BITS: usize = 30;

/// Codes of one length.
#[derive(Clone, Copy, Debug)]
pub struct CodeRange {
    /// First code.
    pub first: u32,
    /// Number of codes.
    pub count: u32,
    /// Position of the first code's byte in [`SYMBOLS`].
    pub position: usize,
}

impl CodeRange {
    /// The number after the last code of the range. Bits from this number on are the beginning of a
    /// longer code.
    pub const fn end(&self) -> u32 {
        self.first + self.count
    }
}

/// Bytes in the order of their codes.
pub const SYMBOLS: [u8; 256] = symbol_table();

/// Codes of each length: the index is the length in bits.
pub const CODES: [CodeRange; MAX_CODE_BITS + 1] = code_table();

/// Returns the length of the code of a byte, in bits, and the code.
pub const fn code_of_byte(byte: u8) -> (u32, u32) {
    let length = LENGTHS[byte as usize];
    let codes = CODES[length as usize];
    let mut position = codes.position;
    while SYMBOLS[position] != byte {
        position += 1;
    }
    (length as u32, codes.first + (position - codes.position) as u32)
}

/// Computes [`SYMBOLS`].
const fn symbol_table() -> [u8; 256] {
    let (mut symbols, mut position, mut length) = ([0; 256], 0, 1);
    while length <= MAX_CODE_BITS {
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

/// Computes [`CODES`].
const fn code_table() -> [CodeRange; MAX_CODE_BITS + 1] {
    let mut codes = [CodeRange { first: 0, count: 0, position: 0 }; MAX_CODE_BITS + 1];
    let (mut next, mut position, mut length) = (0, 0, 1);
    while length <= MAX_CODE_BITS {
        next <<= 1;
        let (mut count, mut byte) = (0, 0);
        while byte < 256 {
            if LENGTHS[byte] as usize == length {
                count += 1;
            }
            byte += 1;
        }
        codes[length] = CodeRange { first: next, count, position };
        next += count;
        position += count as usize;
        length += 1;
    }
    codes
}
