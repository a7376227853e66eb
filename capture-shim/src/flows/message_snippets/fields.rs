//! Fields of a header: which lines are kept, and what they determine about the following bytes.

use super::lines::LINE_START_BYTES;

/// Header line that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptField {
    /// Field that states the length of the body.
    ContentLength,
    /// Field which states that the body's length is given elsewhere.
    TransferEncoding,
    /// Field that announces another protocol.
    Upgrade,
    /// Field that only identifies the message, such as the host or a trace id.
    Naming,
}

/// Names of the lines that are kept, each with its colon. The last one is a prefix: all names that
/// begin with it are kept.
pub(super) const FIELDS: [(&[u8], KeptField); 9] = [
    (b"host:", KeptField::Naming),
    (b"content-length:", KeptField::ContentLength),
    (b"content-type:", KeptField::Naming),
    (b"transfer-encoding:", KeptField::TransferEncoding),
    (b"upgrade:", KeptField::Upgrade),
    (b"traceparent:", KeptField::Naming),
    (b"x-request-id:", KeptField::Naming),
    (b"b3:", KeptField::Naming),
    (b"x-b3-", KeptField::Naming),
];

/// Decision about a header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldChoice {
    /// The line is kept.
    Keep(KeptField),
    /// The line is left out.
    Skip,
    /// Too little of the line is present.
    Undecided,
}

/// Decides about the line that begins with `start`, which may be incomplete. A continuation line
/// begins with a space, and so is left out.
#[inline]
pub(super) fn choose_field(start: &[u8]) -> FieldChoice {
    // Most lines are decided by their first byte.
    match start.first() {
        // The line may be the empty line.
        None => return FieldChoice::Undecided,
        Some(b'\r') if start.len() == 1 => return FieldChoice::Undecided,
        Some(b'h' | b'H' | b'c' | b'C' | b't' | b'T' | b'u' | b'U' | b'x' | b'X' | b'b' | b'B') => {
        }
        Some(_) => return FieldChoice::Skip,
    }
    let mut choice = FieldChoice::Skip;
    for (name, field) in FIELDS {
        let is_so_far = name.iter().zip(start).all(|(a, b)| *a == b.to_ascii_lowercase());
        if is_so_far && start.len() >= name.len() {
            return FieldChoice::Keep(field);
        }
        if is_so_far {
            choice = FieldChoice::Undecided;
        }
    }
    choice
}

/// Value of the field `name` in a whole line: the text after the colon, without the surrounding
/// spaces. `start` is the line's beginning. `None` if the value is too long to be inspected.
#[inline]
fn field_value<'line>(start: &'line [u8], name: &[u8]) -> Option<&'line [u8]> {
    // A value that exceeds the inspected bytes is none of the expected ones.
    let is_whole = start.len() < LINE_START_BYTES;
    is_whole.then(|| start.get(name.len()..).unwrap_or(&[]).trim_ascii())
}

/// Parses the number in a line of [`KeptField::ContentLength`]; `None` if it is invalid.
pub(super) fn parse_length(start: &[u8]) -> Option<u64> {
    let digits = field_value(start, b"content-length:").filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Parses the number in a usual line of [`KeptField::ContentLength`], which has one space and up to
/// 18 digits, faster than [`parse_length`]; `None` for other lines.
#[inline(always)]
pub(super) fn parse_usual_length(line: &[u8]) -> Option<u64> {
    const BEFORE: usize = b"content-length: ".len();
    let end = line.len() - usize::from(line.last() == Some(&b'\r'));
    let digits = line.get(BEFORE..end)?;
    if line.get(BEFORE - 1) != Some(&b' ') || !(1..=18).contains(&digits.len()) {
        return None;
    }
    let mut number = 0;
    for digit in digits.iter().map(|digit| digit.wrapping_sub(b'0')) {
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

/// Whether a line of [`KeptField::Upgrade`] announces HTTP/2.
pub(super) fn announces_http2(start: &[u8]) -> bool {
    field_value(start, b"upgrade:") == Some(b"h2c")
}

/// Up to eight bytes of a name, to be compared with a line.
#[derive(Clone, Copy)]
struct NameWord {
    /// The bytes, in lower case.
    value: u64,
    /// The bit that distinguishes lower from upper case, for each byte that is a letter.
    letters: u64,
    /// All bits of the bytes that the name has in this word.
    known: u64,
}

impl NameWord {
    /// Bytes of `name` from `at` on.
    const fn from_name(name: &[u8], at: usize) -> NameWord {
        let mut word = NameWord { value: 0, letters: 0, known: 0 };
        let mut index = 0;
        while index < 8 && at + index < name.len() {
            let byte = name[at + index];
            word.value |= (byte as u64) << (8 * index);
            word.known |= 0xff << (8 * index);
            if byte.is_ascii_lowercase() {
                word.letters |= 0x20 << (8 * index);
            }
            index += 1;
        }
        word
    }

    #[inline(always)]
    fn matches_bytes(self, bytes: u64) -> bool {
        (bytes | self.letters) & self.known == self.value
    }
}

/// The field of this number in [`FIELDS`]; `None` unless the line at `at` of `text`, whose first
/// eight bytes are `first`, begins with the field's name.
#[inline(always)]
fn field_if_named<const NUMBER: usize>(text: &[u8], at: usize, first: u64) -> Option<KeptField> {
    let (name, field) = const { FIELDS[NUMBER] };
    let is_this = const { NameWord::from_name(FIELDS[NUMBER].0, 0) }.matches_bytes(first)
        && (name.len() <= 8
            || const { NameWord::from_name(FIELDS[NUMBER].0, 8) }
                .matches_bytes(word_at(text, at + 8)))
        && (name.len() <= 16
            || const { NameWord::from_name(FIELDS[NUMBER].0, 16) }
                .matches_bytes(word_at(text, at + 16)));
    is_this.then_some(field)
}

/// A bit for each first byte of kept lines, by its lowest six bits: the first letters of names in
/// [`FIELDS`] in both cases, and the first bytes of the empty line.
const FIRST_BYTES: u64 = {
    let mut bytes = 1 << b'\r' | 1 << b'\n';
    let mut index = 0;
    while index < FIELDS.len() {
        let letter = FIELDS[index].0[0];
        bytes |= 1 << (letter % 64) | 1 << (letter.to_ascii_uppercase() % 64);
        index += 1;
    }
    bytes
};

/// Eight bytes of `text` from `at` on; `None` if there are fewer.
#[inline(always)]
pub(super) fn whole_word(text: &[u8], at: usize) -> Option<u64> {
    // SAFETY: the text has that many bytes.
    (at + 8 <= text.len())
        .then(|| u64::from_le(unsafe { text.as_ptr().add(at).cast::<u64>().read_unaligned() }))
}

/// Eight bytes of `text` from `at` on. Bytes past the end of `text` are zeros.
#[inline(always)]
pub(super) fn word_at(text: &[u8], at: usize) -> u64 {
    whole_word(text, at).unwrap_or_else(|| last_word(text, at))
}

/// Eight bytes of `text` from `at` on, if the text ends before the eighth. Missing ones are zeros.
#[inline(never)]
fn last_word(text: &[u8], at: usize) -> u64 {
    match (text.get(at..), text.last_chunk()) {
        (Some(rest), Some(last)) => {
            u64::from_le_bytes(*last).unbounded_shr(64 - 8 * rest.len() as u32)
        }
        (rest, _) => {
            let bytes = rest.unwrap_or(&[]).iter().rev();
            bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
        }
    }
}

/// Beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineStart {
    /// The line is the empty line, which ends a head.
    End,
    /// The line has this field, and is kept.
    Field(KeptField),
    /// The line is left out.
    Other,
}

/// Whether a line with these `first` bytes is left out, as most are, judged by its first byte.
/// Lines for which this is false may be left out, too.
#[inline(always)]
pub(super) fn is_left_out(first: u64) -> bool {
    FIRST_BYTES >> (first % 64) & 1 == 0
}

/// Whether a line with these `first` bytes is the empty line.
#[inline(always)]
pub(super) fn is_end(first: u64) -> bool {
    first as u16 == u16::from_le_bytes(*b"\r\n") || first as u8 == b'\n'
}

/// Classifies the line at `at` of `text`, which has its newline, and which begins with the bytes of
/// `first`. The result is the same as of [`choose_field`], which also handles incomplete lines.
#[inline(always)]
pub(super) fn classify_line(text: &[u8], at: usize, first: u64) -> LineStart {
    match is_end(first) {
        true => LineStart::End,
        false => named_field(text, at, first).map_or(LineStart::Other, LineStart::Field),
    }
}

/// Field of the line at `at` of `text`, which has its newline, and which begins with the bytes of
/// `first`; `None` if the line is left out.
#[inline(always)]
pub(super) fn named_field(text: &[u8], at: usize, first: u64) -> Option<KeptField> {
    // Bytes after a newline match no name, so matching ones are the line's. Compared one after the
    // other: a jump by a table is mispredicted more often.
    let pair = first as u16 | 0x2020;
    let is = |letters: &[u8; 2]| pair == u16::from_le_bytes(*letters);
    if is(b"co") {
        field_if_named::<1>(text, at, first).or_else(|| field_if_named::<2>(text, at, first))
    } else if is(b"ho") {
        field_if_named::<0>(text, at, first)
    } else if is(b"tr") {
        field_if_named::<3>(text, at, first).or_else(|| field_if_named::<5>(text, at, first))
    } else if is(b"up") {
        field_if_named::<4>(text, at, first)
    } else if is(b"x-") {
        field_if_named::<6>(text, at, first).or_else(|| field_if_named::<8>(text, at, first))
    } else if is(b"b3") {
        field_if_named::<7>(text, at, first)
    } else {
        None
    }
}
