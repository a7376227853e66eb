//! Blanks queries in header values of HTTP/2: the text after a question mark, as it may contain
//! secret tokens, and parameters after a semicolon, up to the next slash.
//!
//! Of a Huffman-coded value the bits before the query stay. The bits after it are replaced by bits
//! that are a valid code, too, so that a reader finds a value of the same length. Nothing of such a
//! value is kept after parameters: the slash could not stay in place, since the bits before it were
//! passed to the sink before the end of the parameters is known.

use snippets::huffman;

use super::super::marks::token_mark;
use super::super::sink::BLANK;

/// Lengths of Huffman codes up to the longest in a path, in bits, each with the first code that is
/// longer.
const CODE_ENDS: [(u32, u32); 10] = code_ends([5, 6, 7, 8, 10, 11, 12, 13, 14, 15]);

/// Codes of the question mark and of the semicolon, each after its length in bits.
const MARK_CODES: [(u32, u32); 2] = [huffman::code_of_byte(b'?'), huffman::code_of_byte(b';')];

/// Code of [`BLANK`], of eight bits.
const BLANK_CODE: u8 = huffman::code_of_byte(BLANK).1 as u8;

const _: () = assert!(huffman::code_of_byte(BLANK).0 == 8);

/// Pairs each length with the first Huffman code that is longer.
const fn code_ends<const COUNT: usize>(lengths: [usize; COUNT]) -> [(u32, u32); COUNT] {
    let mut ends = [(0, 0); COUNT];
    let mut index = 0;
    while index < COUNT {
        ends[index] = (lengths[index] as u32, huffman::CODES[lengths[index]].end());
        index += 1;
    }
    ends
}

/// Position in a value. All fields may be zeros, at the beginning of the value.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(in super::super) struct QueryBlanker {
    /// Bits of an incomplete code, and their number.
    bits: u32,
    count: u32,
    /// Number of bits of the query in the byte in which it began.
    rest: u32,
    has_begun: bool,
    /// Whether the position is in parameters, before a query.
    is_parameter: bool,
}

impl QueryBlanker {
    /// Continues with bytes that are not Huffman-coded. Returns how many of the first bytes are
    /// kept, and how many after those are blanked. To be called again with the remaining bytes.
    pub(super) fn blank_plain(&mut self, value: &[u8]) -> (usize, usize) {
        if self.has_begun {
            return (0, value.len());
        }
        if core::mem::take(&mut self.is_parameter) {
            let end = value.iter().position(|byte| matches!(byte, b'/' | b'?'));
            self.is_parameter = end.is_none();
            return (0, end.unwrap_or(value.len()));
        }
        let Some(mark) = token_mark(value) else { return (value.len(), 0) };
        self.has_begun = value.get(mark) == Some(&b'?');
        self.is_parameter = !self.has_begun;
        (mark + 1, 0)
    }

    /// Continues with a Huffman-coded byte, which may be the last one of the value. Returns the
    /// byte that replaces it.
    pub(super) fn blank_coded(&mut self, byte: u8, is_last: bool) -> u8 {
        if self.has_begun {
            return self.blank_byte(is_last);
        }
        self.bits = self.bits << 8 | u32::from(byte);
        self.count += 8;
        if !self.finds_mark() {
            return byte;
        }
        self.has_begun = true;
        self.rest = self.count;
        // The first bits of the next code, or ones, which end a value.
        let kept = !low_bits(self.rest);
        let tail = if is_last { u8::MAX } else { BLANK_CODE >> (8 - self.rest).min(7) };
        let tail = if self.rest == 0 { 0 } else { tail };
        byte & kept | tail & !kept
    }

    /// Consumes complete codes up to a mark. Returns whether a mark was found; the bits after it
    /// then remain. A longer code occurs in no path, and counts as a mark.
    fn finds_mark(&mut self) -> bool {
        'codes: loop {
            for (length, longer) in CODE_ENDS {
                if self.count < length {
                    return false;
                }
                let code = self.bits >> (self.count - length);
                if code < longer {
                    self.count -= length;
                    self.bits &= (1 << self.count) - 1;
                    if MARK_CODES.contains(&(length, code)) {
                        return true;
                    }
                    continue 'codes;
                }
            }
            self.count = self.count.min(7);
            return true;
        }
    }

    /// A blanked byte of the query.
    fn blank_byte(&self, is_last: bool) -> u8 {
        // The rest of a code that began in the previous byte, and the beginning of the next one.
        let (begun, rest) = (8 - self.rest, self.rest);
        let tail = if rest == 0 { BLANK_CODE } else { (u32::from(BLANK_CODE) << rest) as u8 };
        let next = match (rest, is_last) {
            (0, _) => 0,
            (_, true) => low_bits(rest),
            (_, false) => BLANK_CODE >> begun,
        };
        tail & !low_bits(rest) | next
    }
}

/// The lowest `count` bits of a byte.
fn low_bits(count: u32) -> u8 {
    u8::MAX.unbounded_shr(8 - count.min(8))
}

/// Whether the value from `from` to `to` of a block, with its length at `at`, has a query or
/// parameters.
#[inline(always)]
pub(super) fn has_query(block: &[u8], at: usize, from: usize, to: usize) -> bool {
    let value = block.get(from..to).unwrap_or(&[]);
    match block.get(at) {
        Some(0x80..) => has_coded_query(value),
        _ => token_mark(value).is_some(),
    }
}

/// Whether a Huffman-coded value has a query or parameters.
#[inline(never)]
fn has_coded_query(value: &[u8]) -> bool {
    let mut query = QueryBlanker::default();
    value.iter().any(|byte| {
        query.blank_coded(*byte, false);
        query.has_begun
    })
}
