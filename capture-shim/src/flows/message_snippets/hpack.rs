//! Header blocks of HTTP/2 (HPACK, RFC 7541): blanks the values of fields that are not chosen.
//!
//! A block cannot be read without all blocks before it, so it is kept as a whole, and a reader has
//! to reconstruct the same table. A blanked value keeps its length, and is no longer Huffman-coded.
//! The table's entries become shorter by that, so a reader drops them later than the two ends do,
//! which never refer to dropped entries.
//!
//! A field is chosen if its value is kept. One bit for each entry of the dynamic table records
//! whether the entry's name is chosen. Entries are counted from the newest on, so the bits of
//! dropped entries do no harm.

use super::sink::SnippetSink;

// The tests of this crate compile this file as one of theirs, so the path is explicit.
#[path = "hpack/query.rs"]
mod query;
#[path = "hpack/whole.rs"]
mod whole;

pub(super) use query::QueryBlanker;
pub(super) use whole::BlankedValues;

/// Longest name of a chosen field, in bytes.
const LONGEST_NAME: usize = 20;

/// Number of entries of the static table.
const STATIC_ENTRIES: u32 = 61;

/// Largest integer that is accepted: no block has longer strings.
const MAX_INTEGER: u32 = 1 << 24;

/// Names of the fields that are kept, in addition to those in the static table, see
/// [`is_static_kept`].
const KEPT_NAMES: [FieldName; 15] = [
    FieldName::with_code(b"traceparent"),
    FieldName::with_code(b"b3"),
    FieldName::with_code(b"x-b3-traceid"),
    FieldName::with_code(b"x-b3-spanid"),
    FieldName::with_code(b"x-b3-parentspanid"),
    FieldName::with_code(b"x-b3-sampled"),
    FieldName::with_code(b"x-b3-flags"),
    FieldName::with_code(b"x-request-id"),
    FieldName::with_code(b"grpc-status"),
    FieldName::with_code(b"host"),
    FieldName::with_code(b"content-type"),
    FieldName::with_code(b"content-length"),
    FieldName::with_code(b":path"),
    FieldName::with_code(b":status"),
    FieldName::with_code(b":protocol"),
];

/// Name of a field, in plain text and Huffman-coded.
struct FieldName {
    plain: &'static [u8],
    coded: [u8; LONGEST_NAME],
    /// Number of bytes of the coded name.
    coded_length: usize,
}

impl FieldName {
    const fn with_code(plain: &'static [u8]) -> FieldName {
        let mut coded = [0; LONGEST_NAME];
        let (mut bits, mut at) = (0, 0);
        while at < plain.len() {
            let (code, length) = huffman_code(plain[at]);
            let mut bit = 0;
            while bit < length {
                if code >> (length - 1 - bit) & 1 != 0 {
                    coded[bits / 8] |= 0x80 >> (bits % 8);
                }
                bits += 1;
                bit += 1;
            }
            at += 1;
        }
        // The last byte is padded with ones.
        while bits % 8 != 0 {
            coded[bits / 8] |= 0x80 >> (bits % 8);
            bits += 1;
        }
        FieldName { plain, coded, coded_length: bits / 8 }
    }
}

/// Huffman's code of a byte of a name and its length in bits (RFC 7541, appendix B).
const fn huffman_code(byte: u8) -> (u32, usize) {
    match byte {
        b'0'..=b'2' => ((byte - b'0') as u32, 5),
        b'a' => (0x3, 5),
        b'c' => (0x4, 5),
        b'e' => (0x5, 5),
        b'i' => (0x6, 5),
        b'o' => (0x7, 5),
        b's' => (0x8, 5),
        b't' => (0x9, 5),
        b'-' => (0x16, 6),
        b'3'..=b'9' => ((byte - b'3') as u32 + 0x19, 6),
        b'b' => (0x23, 6),
        b'd' => (0x24, 6),
        b'f' => (0x25, 6),
        b'g' => (0x26, 6),
        b'h' => (0x27, 6),
        b'l' => (0x28, 6),
        b'm' => (0x29, 6),
        b'n' => (0x2a, 6),
        b'p' => (0x2b, 6),
        b'r' => (0x2c, 6),
        b'u' => (0x2d, 6),
        b':' => (0x5c, 7),
        b'j' => (0x74, 7),
        b'k' => (0x75, 7),
        b'q' => (0x76, 7),
        b'v' => (0x77, 7),
        b'w' => (0x78, 7),
        b'x' => (0x79, 7),
        b'y' => (0x7a, 7),
        _ => (0x7b, 7),
    }
}

/// Whether the values of an entry of the static table are kept: `:authority`, `:method`, `:path`,
/// `:scheme`, `:status`, `content-length`, `content-type` and `host`.
fn is_static_kept(index: u32) -> bool {
    matches!(index, 1..=14 | 28 | 31 | 38)
}

/// Whether the values of an entry are kept. `chosen` has a bit for each entry of the dynamic table,
/// as [`HeaderBlocks::chosen`].
#[inline(always)]
fn is_kept(index: u32, chosen: u128) -> bool {
    match index.checked_sub(STATIC_ENTRIES + 1) {
        None => is_static_kept(index),
        Some(index @ 0..128) => chosen >> index & 1 != 0,
        Some(_) => false,
    }
}

/// Whether values of an entry may have a query: the values of `:path`, and of names that are only
/// in the dynamic table.
#[inline(always)]
fn may_have_query(index: u32) -> bool {
    matches!(index, 4 | 5) || index > STATIC_ENTRIES
}

/// Position in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum BlockStep {
    /// At the beginning of a field.
    Field = 0,
    /// In a number that is not needed: the index of a whole field, or the size of the table.
    Number,
    /// In the index of the entry that has the field's name.
    Index,
    /// At the beginning of a name, which is its length.
    NameLength,
    /// In the length of a name.
    LongNameLength,
    /// In a name.
    Name,
    /// At the beginning of a value, which is its length.
    ValueLength,
    /// In the length of a value.
    LongValueLength,
    /// In a value.
    Value,
    /// After an invalid encoding: everything is blanked.
    Lost,
}

/// Walk through the blocks of one direction. All fields may be zeros.
#[repr(C)]
pub(super) struct HeaderBlocks {
    /// Whether the names of the table's entries are chosen, the newest in the lowest bit.
    chosen: u128,
    step: BlockStep,
    /// Whether the field becomes an entry of the table.
    is_indexed: bool,
    /// Whether the field's value is kept.
    is_kept: bool,
    /// Whether the name is Huffman-coded.
    is_coded: bool,
    /// Number of bits of `number` that further bytes have set so far.
    shift: u8,
    /// Integer so far, or number of bytes of a string that are still to come.
    number: u32,
    name: [u8; LONGEST_NAME],
    name_length: u8,
    /// Whether the value is Huffman-coded, and whether it may have a query.
    is_value_coded: bool,
    may_have_query: bool,
}

impl HeaderBlocks {
    /// Forgets all blocks.
    pub(super) fn clear(&mut self) {
        (self.chosen, self.step) = (0, BlockStep::Field);
    }

    /// Begins a block.
    pub(super) fn begin_block(&mut self) {
        // The previous block broke off within a field.
        if self.step != BlockStep::Field {
            self.step = BlockStep::Lost;
        }
    }

    /// Passes the bytes of a block, or blanks in their place, to `sink`.
    pub(super) fn walk_block(
        &mut self,
        bytes: &[u8],
        query: &mut QueryBlanker,
        sink: &mut impl SnippetSink,
    ) {
        // Bytes before the index `given` were passed to `sink`; `at` is the index of the next byte.
        let (mut given, mut at) = (0, 0);
        let put = |from: usize, to: usize, sink: &mut _| {
            SnippetSink::put_bytes(sink, bytes.get(from..to).unwrap_or(&[]));
        };
        while let Some(&byte) = bytes.get(at) {
            let left = bytes.len() - at;
            match self.step {
                BlockStep::Field => {
                    at += 1;
                    self.read_field(byte);
                }
                BlockStep::Number
                | BlockStep::Index
                | BlockStep::LongNameLength
                | BlockStep::LongValueLength => {
                    at += 1;
                    self.continue_integer(byte);
                }
                BlockStep::NameLength => {
                    at += 1;
                    self.is_coded = byte & 0x80 != 0;
                    self.name_length = 0;
                    self.begin_integer(byte, 7, BlockStep::LongNameLength);
                }
                BlockStep::Name => {
                    let length = left.min(self.number as usize);
                    self.continue_name(bytes.get(at..at + length).unwrap_or(&[]));
                    at += length;
                }
                BlockStep::ValueLength if self.is_kept => {
                    at += 1;
                    (self.is_value_coded, *query) = (byte & 0x80 != 0, QueryBlanker::default());
                    self.begin_integer(byte, 7, BlockStep::LongValueLength);
                }
                BlockStep::ValueLength => {
                    put(given, at, sink);
                    sink.put_bytes(&[byte & 0x7f]);
                    at += 1;
                    given = at;
                    self.begin_integer(byte, 7, BlockStep::LongValueLength);
                }
                BlockStep::Value | BlockStep::Lost => {
                    let is_value = self.step == BlockStep::Value;
                    let length = if is_value { left.min(self.number as usize) } else { left };
                    if !(is_value && self.is_kept) {
                        put(given, at, sink);
                        sink.put_blanks(length);
                        given = at + length;
                    } else if self.may_have_query && self.is_value_coded {
                        let value = bytes.get(at..at + length).unwrap_or(&[]);
                        for (index, byte) in value.iter().enumerate() {
                            let is_last = index + 1 == self.number as usize;
                            let kept = query.blank_coded(*byte, is_last);
                            if kept != *byte {
                                put(given, at + index, sink);
                                sink.put_bytes(&[kept]);
                                given = at + index + 1;
                            }
                        }
                    } else if self.may_have_query {
                        let (mut index, end) = (at, at + length);
                        while index < end {
                            let (kept, others) =
                                query.blank_plain(bytes.get(index..end).unwrap_or(&[]));
                            index += kept;
                            if others > 0 {
                                put(given, index, sink);
                                sink.put_blanks(others);
                                index += others;
                                given = index;
                            }
                        }
                    }
                    at += length;
                    if is_value {
                        self.number -= length as u32;
                        if self.number == 0 {
                            self.end_field();
                        }
                    }
                }
            }
        }
        put(given, bytes.len(), sink);
    }

    /// Reads the first byte of a field.
    fn read_field(&mut self, byte: u8) {
        match byte {
            // The whole field is a table entry.
            0x80.. => self.begin_integer(byte, 7, BlockStep::Number),
            0x40.. => self.begin_literal(byte, 6, true),
            // A change of the table size.
            0x20.. => self.begin_integer(byte, 5, BlockStep::Number),
            _ => self.begin_literal(byte, 4, false),
        }
    }

    /// Begins a field with its own value. `bits` is the number of bits of the name's index in the
    /// first byte; `is_indexed` is whether the field becomes an entry of the table.
    fn begin_literal(&mut self, byte: u8, bits: u32, is_indexed: bool) {
        self.is_indexed = is_indexed;
        self.begin_integer(byte, bits, BlockStep::Index);
    }

    /// Begins an integer with `bits` bits in its first byte. If it has more bytes, they are read in
    /// `step`.
    fn begin_integer(&mut self, byte: u8, bits: u32, step: BlockStep) {
        let largest = (1u32 << bits) - 1;
        self.number = u32::from(byte) & largest;
        self.shift = 0;
        self.step = step;
        if self.number < largest {
            self.end_integer();
        }
    }

    /// Continues an integer.
    fn continue_integer(&mut self, byte: u8) {
        if self.shift > 21 || self.number > MAX_INTEGER {
            self.step = BlockStep::Lost;
            return;
        }
        self.number += u32::from(byte & 0x7f) << self.shift;
        self.shift += 7;
        if byte & 0x80 == 0 {
            self.end_integer();
        }
    }

    /// Ends an integer.
    fn end_integer(&mut self) {
        self.step = match self.step {
            BlockStep::Index if self.number == 0 => BlockStep::NameLength,
            BlockStep::Index => {
                self.is_kept = is_kept(self.number, self.chosen);
                self.may_have_query = may_have_query(self.number);
                BlockStep::ValueLength
            }
            BlockStep::LongNameLength if self.number == 0 => {
                self.is_kept = false;
                BlockStep::ValueLength
            }
            BlockStep::LongNameLength => BlockStep::Name,
            BlockStep::LongValueLength if self.number == 0 => return self.end_field(),
            BlockStep::LongValueLength => BlockStep::Value,
            _ => BlockStep::Field,
        };
    }

    /// Continues a name.
    fn continue_name(&mut self, bytes: &[u8]) {
        let free = self.name.get_mut(usize::from(self.name_length)..).unwrap_or_default();
        free.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        let length = usize::from(self.name_length).saturating_add(bytes.len());
        // A name that is too long is not a chosen one.
        self.name_length = length.min(LONGEST_NAME + 1) as u8;
        self.number -= bytes.len() as u32;
        if self.number == 0 {
            let name = self.name.get(..usize::from(self.name_length));
            self.is_kept = name.is_some_and(|name| is_chosen(name, self.is_coded));
            self.may_have_query = true;
            self.step = BlockStep::ValueLength;
        }
    }

    /// Ends a field with a value.
    fn end_field(&mut self) {
        if self.is_indexed {
            self.chosen = self.chosen << 1 | u128::from(self.is_kept);
        }
        self.step = BlockStep::Field;
    }
}

/// Whether a name is one of the chosen ones.
fn is_chosen(name: &[u8], is_coded: bool) -> bool {
    KEPT_NAMES.iter().any(|known| match is_coded {
        true => known.coded.get(..known.coded_length) == Some(name),
        false => known.plain == name,
    })
}
