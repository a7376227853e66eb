//! Usual heads of HTTP/1: they lie in one buffer as a whole, and have a frequent method and
//! version. Most heads are usual, so these are handled in one pass.

use core::ops::Range;

use super::body_framing::{BodyFraming, HeaderFacts};
use super::conversation::FlowConversation;
use super::fields::{KeptField, is_end, is_left_out, named_field, whole_word};
use super::lines::FirstLine;
use super::marks::{index_of, token_mark};
use super::newlines::LineEnds;
use super::pieces::KeptRanges;
use crate::tuning::{MAX_FIRST_LINE_BYTES, MAX_KEPT_LINES_BYTES};

/// Walks over a complete usual head at the beginning of `bytes`. Puts its kept ranges into
/// `pieces`, and returns the index after the head and what follows the head, as
/// `HttpHead::walk_lines` would; `None` if the bytes are not a usual head.
#[inline(always)]
pub(super) fn usual_head(
    bytes: &[u8],
    pieces: &mut KeptRanges,
    conversation: &FlowConversation,
) -> Option<(usize, BodyFraming)> {
    let mut ends = LineEnds::in_text(bytes);
    let mut from = ends.next().filter(|end| *end <= MAX_FIRST_LINE_BYTES)?;
    let mut facts = HeaderFacts::NONE;
    let line = bytes.get(..from - 1)?;
    facts.note_first_line(usual_first_line(line)?);
    let mut kept = KeptHead { pieces, piece: 0..from, facts };
    kept.leave_out_query(line)?;
    let after = loop {
        let Some(first) = whole_word(bytes, from) else {
            // The empty line of a head without a body.
            match bytes.get(from..)? {
                [b'\r', b'\n', ..] => break from + 2,
                [b'\n', ..] => break from + 1,
                _ => return None,
            }
        };
        let after = ends.next()?;
        if !is_left_out(first) {
            if is_end(first) {
                break after;
            }
            if let Some(field) = named_field(bytes, from, first)
                && !kept.keep_line(field, bytes, from..after)
            {
                return None;
            }
        }
        from = after;
    };
    let is_whole = kept.keep_end(from..after);
    is_whole.then(|| (after, kept.facts.body_framing(conversation)))
}

/// Kept parts of a head.
struct KeptHead<'head> {
    /// All pieces except the last one.
    pieces: &'head mut KeptRanges,
    /// The last piece, which grows as long as lines are kept.
    piece: Range<usize>,
    facts: HeaderFacts,
}

impl KeptHead<'_> {
    /// Leaves the query out of a usual first line. `None` if the target does not begin with a path,
    /// as it may then contain a user's password, or if the path has parameters.
    #[inline(always)]
    fn leave_out_query(&mut self, line: &[u8]) -> Option<()> {
        if line.starts_with(b"HTTP/") {
            return Some(());
        }
        // Methods are known, and so is the version after the last space.
        let target = 1 + index_of::<b' '>(line)?;
        let first = line.get(target);
        let Some(query) = token_mark(line) else {
            return matches!(first, Some(b'/' | b'*')).then_some(());
        };
        let end = line.len() - usize::from(line.last() == Some(&b'\r')) - VERSION.len();
        // A query may contain spaces, by mistake, and text that looks like a version.
        let is_one_word = index_of::<b' '>(line.get(query..end)?).is_none();
        if first != Some(&b'/') || line.get(query) != Some(&b'?') || !is_one_word {
            return None;
        }
        self.pieces.push_range(0..query + 1);
        self.piece.start = end;
        Some(())
    }

    /// Keeps the line at the range `line` of `bytes`, which has the `field`. Returns false if there
    /// is no place for another range.
    // A separate function: most lines are left out, and those are handled in registers.
    #[inline(never)]
    fn keep_line(&mut self, field: KeptField, bytes: &[u8], line: Range<usize>) -> bool {
        if field != KeptField::Naming {
            self.facts.note_field(field, bytes.get(line.start..line.end - 1).unwrap_or(&[]));
        }
        self.keep_range(line)
    }

    /// Keeps the empty line. Returns false if there is no place for another range, or the limit is
    /// exceeded.
    #[inline(always)]
    fn keep_end(&mut self, line: Range<usize>) -> bool {
        if !self.keep_range(line) {
            return false;
        }
        self.pieces.push_range(self.piece.clone());
        self.pieces.byte_count() <= MAX_KEPT_LINES_BYTES
    }

    /// Adds a line to the kept ranges. Returns false if there is no place for another range.
    #[inline(always)]
    fn keep_range(&mut self, line: Range<usize>) -> bool {
        if self.pieces.is_full_with(1) {
            return false;
        }
        if self.piece.end != line.start {
            self.pieces.push_range(self.piece.clone());
            self.piece.start = line.start;
        }
        self.piece.end = line.end;
        true
    }
}

/// End of a usual request line.
const VERSION: &[u8] = b" HTTP/1.1";

/// First bytes of a line, as a word: up to eight, and a mask of all their bits.
type LinePrefix = (u64, u64);

/// Bytes that a line may begin with.
const fn line_prefix(bytes: &[u8]) -> LinePrefix {
    let (mut word, mut known, mut index) = (0, 0, 0);
    while index < bytes.len() && index < 8 {
        word |= (bytes[index] as u64) << (8 * index);
        known |= 0xff << (8 * index);
        index += 1;
    }
    (word, known)
}

/// Methods of most requests, and whether their responses have no body.
const USUAL_METHODS: [(LinePrefix, bool); 7] = [
    (line_prefix(b"GET "), false),
    (line_prefix(b"POST "), false),
    (line_prefix(b"PUT "), false),
    (line_prefix(b"HEAD "), true),
    (line_prefix(b"DELETE "), false),
    (line_prefix(b"PATCH "), false),
    (line_prefix(b"OPTIONS "), false),
];

/// Parses a whole line as the first of a usual head, in less time than `lines::parse_first_line`
/// and with the same result; `None` if it is something else.
#[inline(always)]
pub(super) fn usual_first_line(line: &[u8]) -> Option<FirstLine> {
    const ANSWER: LinePrefix = line_prefix(b"HTTP/1.");
    const VERSION: u64 = line_prefix(b"HTTP/1.0").0;
    let word = u64::from_le_bytes(*line.first_chunk()?);
    if word & ANSWER.1 == ANSWER.0 {
        let minor = ((word >> 56) as u8).wrapping_sub(b'0');
        let status = usual_status(u32::from_le_bytes(*line.get(8..)?.first_chunk()?))?;
        return (minor <= 9).then_some(FirstLine::Response { status });
    }
    let end = line.len() - usize::from(line.last() == Some(&b'\r'));
    let version = line.get(end.checked_sub(9)?..end)?;
    let [b' ', after @ ..] = version else { return None };
    // The lowest bit distinguishes 0 from 1.
    if u64::from_le_bytes(*after.first_chunk()?) & !(1 << 56) != VERSION {
        return None;
    }
    let method = USUAL_METHODS.iter().find(|((method, known), _)| word & known == *method);
    method.map(|(_, is_bodiless)| FirstLine::Request { is_bodiless: *is_bodiless })
}

/// Status from a space and three digits, read as a little-endian word; `None` for other bytes.
#[inline(always)]
fn usual_status(word: u32) -> Option<u16> {
    // Each digit becomes its number. In `others`, the highest bit of each wrong byte is set.
    let digits = word ^ u32::from_le_bytes(*b" 000");
    let more = digits.wrapping_add(u32::from_le_bytes([127, 118, 118, 118]));
    let others = (digits | more) & 0x8080_8080;
    let [_, a, b, c] = digits.to_le_bytes().map(u16::from);
    (others == 0).then(|| 100 * a + 10 * b + c)
}
