//! The walkers on any bytes in any parts, for fuzzing and property tests. Panics if they violate
//! their contract: kept bytes were sent at the position of the run, and kept lines are chosen ones.

use super::sink::SnippetClass;
use super::talk::{By, Kept, Talk};
use crate::tuning::{MAX_KEPT_FRAME_BYTES, MAX_KEPT_LINES_BYTES, MAX_KEPT_TURN_BYTES};

/// Bits of the byte before each piece. The first two are those of the pieces of protocols, so that
/// seeds of these are seeds of this.
const SERVER: u8 = 1;
const CONTINUES: u8 = 2;
/// The piece is not bytes but an event; the lower bits are its kind.
const EVENT: u8 = 128;
const PASSES: u8 = 2;
const OVERLAPS: u8 = 4;
const DECRYPTS: u8 = 8;

/// Largest number of bytes that are buffered from one buffer to the next.
const MAX_HELD_BYTES: usize = 40;

/// Preface of an HTTP/2 client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Beginnings of lines that may be kept after the first one of a head.
const CHOSEN: [&str; 9] = [
    "host:",
    "content-length:",
    "content-type:",
    "transfer-encoding:",
    "upgrade:",
    "traceparent:",
    "x-request-id:",
    "b3:",
    "x-b3-",
];

/// Bytes of one end.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// Where transfers begin, by the number of the transfer.
    begins: Vec<(usize, usize)>,
}

impl Stream {
    /// A run without buffered bytes begins in its transfer; one with buffered bytes, a little
    /// before.
    fn check_place(&self, kept: &Kept) {
        let found = self.begins.iter().position(|(number, _)| *number == kept.transfer).unwrap();
        let end = self.begins.get(found + 1).map_or(self.bytes.len(), |(_, begin)| *begin);
        let begin = self.begins[found].1;
        let first =
            if kept.run.has_buffered { begin.saturating_sub(MAX_HELD_BYTES) } else { begin };
        assert!((first..end).contains(&kept.place), "{kept:?} is not in its transfer");
    }
}

/// Lets two ends send any bytes in any parts, and checks the kept heads. Returns them.
pub(super) fn walk(bytes: &[u8]) -> Vec<Kept> {
    let mut talk = match bytes.first() {
        Some(first) if first & EVENT != 0 && first & SERVER != 0 => Talk::joined(),
        _ => Talk::new(),
    };
    let mut streams = [Stream::default(), Stream::default()];
    let mut transfer: Option<(By, Vec<&[u8]>)> = None;
    for (flags, piece) in pieces(bytes) {
        let by = if flags & SERVER != 0 { By::Server } else { By::Client };
        if flags & EVENT == 0 {
            match &mut transfer {
                Some((last, buffers)) if *last == by && flags & CONTINUES != 0 => {
                    buffers.push(piece);
                    continue;
                }
                _ => say(&mut talk, &mut streams, transfer.replace((by, vec![piece]))),
            }
            continue;
        }
        say(&mut talk, &mut streams, transfer.take());
        if flags & PASSES != 0 {
            let stream = &mut streams[usize::from(by == By::Server)];
            stream.begins.push((talk.transfers, stream.bytes.len()));
            stream.bytes.resize(stream.bytes.len() + piece.len(), 0);
            talk.pass(by, piece.len() as u64);
        } else if flags & OVERLAPS != 0 {
            talk.say_at(by, 0, u64::MAX / 2, &[]);
        } else if flags & DECRYPTS != 0 {
            talk.decrypt(16);
        }
    }
    say(&mut talk, &mut streams, transfer);
    check(&talk.kept, &streams);
    talk.kept
}

/// A piece is a byte of flags, its length in two bytes (little-endian), and its bytes.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let [flags, low, high, rest @ ..] = bytes else { return None };
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (piece, after) = rest.split_at(length);
        bytes = after;
        Some((*flags, piece))
    })
}

fn say(talk: &mut Talk, streams: &mut [Stream; 2], transfer: Option<(By, Vec<&[u8]>)>) {
    let Some((by, buffers)) = transfer else { return };
    let stream = &mut streams[usize::from(by == By::Server)];
    stream.begins.push((talk.transfers, stream.bytes.len()));
    buffers.iter().for_each(|buffer| stream.bytes.extend(*buffer));
    talk.say_in(by, &buffers);
}

fn check(kept: &[Kept], streams: &[Stream; 2]) {
    for (by, stream) in [By::Client, By::Server].into_iter().zip(streams) {
        let mut head: Vec<&Kept> = Vec::new();
        for kept in kept.iter().filter(|kept| kept.by == by) {
            assert_eq!(kept.run.length, kept.bytes.len(), "{kept:?}");
            stream.check_place(kept);
            match kept.run.class {
                SnippetClass::Other => {
                    verbatim(kept, &kept.bytes, stream, |said, kept| said == kept)
                }
                // Values may be blanked, and Huffman-coded queries bit by bit.
                SnippetClass::Http2 => {
                    let known = if kept.run.continues { 0 } else { kept.bytes.len().min(9) };
                    verbatim(kept, &kept.bytes[..known], stream, |said, kept| said == kept);
                }
                // Lines may be left out after the first one, and a query within that.
                SnippetClass::Http1 => {
                    let first = kept.bytes.get(..1).unwrap_or(&[]);
                    verbatim(kept, first, stream, |said, kept| said == kept);
                }
            }
            if !kept.run.continues {
                check_head(&head, stream);
                head.clear();
            }
            if let Some(before) = head.last() {
                assert_eq!(before.run.class, kept.run.class, "{kept:?}");
                assert!(!before.run.cut, "{kept:?} continues after bytes that were left out");
            }
            head.push(kept);
        }
        check_head(&head, stream);
    }
}

/// The first bytes of a run are contiguous in the stream, from the run's position on.
fn verbatim(kept: &Kept, bytes: &[u8], stream: &Stream, is_same: impl Fn(u8, u8) -> bool) {
    let said = stream.bytes.get(kept.place..).and_then(|said| said.get(..bytes.len()));
    let is_there =
        said.is_some_and(|said| said.iter().zip(bytes).all(|(said, kept)| is_same(*said, *kept)));
    assert!(is_there, "{kept:?} was not said there");
}

/// A whole head: it does not exceed its limit, and for HTTP/1 it consists of lines that were sent,
/// all but the first of them chosen.
fn check_head(head: &[&Kept], stream: &Stream) {
    let Some(first) = head.first() else { return };
    let bytes: Vec<u8> = head.iter().flat_map(|kept| kept.bytes.iter().copied()).collect();
    let most = match first.run.class {
        SnippetClass::Http1 => MAX_KEPT_LINES_BYTES,
        SnippetClass::Http2 => MAX_KEPT_FRAME_BYTES + 9,
        SnippetClass::Other => MAX_KEPT_TURN_BYTES,
    };
    assert!(bytes.len() <= most, "{head:?} is too long");
    if first.run.class != SnippetClass::Http1 {
        return;
    }
    let mut from = first.place;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        if number == 0 {
            from += first_line(line, &stream.bytes[from..]);
            continue;
        }
        let is_last = number + 1 == lines.len();
        let found = stream.bytes[from..]
            .windows(line.len())
            .enumerate()
            .position(|(at, said)| said == *line && stream.bytes[from + at - 1] == b'\n');
        let at = found.unwrap_or_else(|| panic!("line {number} of {head:?} was not said so"));
        from += at + line.len();
        let text = String::from_utf8_lossy(line).to_ascii_lowercase();
        let is_end = matches!(text.as_str(), "\n" | "\r\n");
        let is_chosen = CHOSEN.iter().any(|chosen| text.starts_with(chosen))
            || is_last && (text == "\r" || CHOSEN.iter().any(|chosen| chosen.starts_with(&text)));
        assert!(is_end && is_last || is_chosen, "{text:?} is kept: {head:?}");
    }
}

/// Length of the first line that was sent, with some of its bytes left out.
fn first_line(kept: &[u8], said: &[u8]) -> usize {
    let end = said.iter().position(|byte| *byte == b'\n').map_or(said.len(), |end| end + 1);
    let line = &said[..end];
    let mut rest = line.iter();
    let is_there = kept.iter().all(|byte| rest.any(|said| said == byte));
    assert!(is_there && kept.first() == line.first(), "{kept:?} is not of {line:?}");
    end
}

/// Frames of HTTP/2 are kept in the same way in whatever parts they arrive. The first byte is the
/// length of the parts, the others follow a client's preface.
pub(super) fn frames(bytes: &[u8]) {
    let Some((size, frames)) = bytes.split_first() else { return };
    let said = [PREFACE, frames].concat();
    let of = |size: usize| {
        let mut talk = Talk::new();
        talk.say_parts(By::Client, &said, size);
        let kept = talk.kept.iter().filter(|kept| kept.run.class == SnippetClass::Http2);
        kept.flat_map(|kept| kept.bytes.clone()).collect::<Vec<u8>>()
    };
    let size = usize::from(*size).max(1);
    assert_eq!(of(said.len()), of(size), "frames in parts of {size} bytes");
}

/// Uses any bytes as both.
pub(crate) fn any(bytes: &[u8]) {
    frames(bytes);
    walk(bytes);
}
