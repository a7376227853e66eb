//! Lines of text: where they end, and the meaning of the first line of a head.

use core::ffi::c_int;

use super::newlines::LineEnds;
use crate::tuning::MAX_FIRST_LINE_BYTES;

/// Number of bytes at a line's beginning that are inspected, and buffered if they arrive in parts.
pub(super) const LINE_START_BYTES: usize = 40;

/// Number of bytes at a line's end that are inspected.
const LINE_END_BYTES: usize = 12;

/// Longest method of a request that is recognised, in bytes.
const LONGEST_METHOD: usize = 20;

/// Methods by which a first line is recognised before it is complete, each with the following
/// space.
const METHODS: [&[u8]; 20] = [
    b"GET ",
    b"POST ",
    b"PUT ",
    b"HEAD ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
    b"PROPFIND ",
    b"PROPPATCH ",
    b"MKCOL ",
    b"COPY ",
    b"MOVE ",
    b"LOCK ",
    b"UNLOCK ",
    b"REPORT ",
    b"SEARCH ",
    b"PURGE ",
    b"QUERY ",
];

/// First line of an HTTP/2 client's preface.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// Beginning of a proxy's first line, which states the client's address.
const PROXY: &[u8] = b"PROXY ";

/// Number of bytes in which a newline is searched for here, before libc's function is called. Lines
/// of heads are shorter than that, and a call takes as long as most of them.
const NEAR_BYTES: usize = 64;

/// Index of the first newline.
#[inline]
pub(super) fn find_newline(bytes: &[u8]) -> Option<usize> {
    let near = bytes.get(..NEAR_BYTES).unwrap_or(bytes);
    LineEnds::in_text(near).next().map(|end| end - 1).or_else(|| {
        let far = bytes.get(NEAR_BYTES..)?;
        find_far_newline(far).map(|index| NEAR_BYTES + index)
    })
}

/// Index of the first newline, found by libc's `memchr`.
fn find_far_newline(bytes: &[u8]) -> Option<usize> {
    // SAFETY: the search stays within the bytes. It is libc's own function, not an interposed one,
    // and every program may call it at any time.
    let found = unsafe { libc::memchr(bytes.as_ptr().cast(), c_int::from(b'\n'), bytes.len()) };
    (!found.is_null()).then(|| found.addr() - bytes.as_ptr().addr())
}

/// Line that arrives in parts: its beginning and its end. All fields may be zeros.
#[repr(C)]
pub(super) struct PartialLine {
    // The first field, as it is used most.
    length: u32,
    start: [u8; LINE_START_BYTES],
    end: [u8; LINE_END_BYTES],
}

impl PartialLine {
    /// Line without bytes.
    pub(super) const EMPTY: PartialLine =
        PartialLine { start: [0; LINE_START_BYTES], end: [0; LINE_END_BYTES], length: 0 };

    /// Number of bytes so far.
    pub(super) fn length(&self) -> usize {
        self.length as usize
    }

    /// Beginning of the line, as far as it is buffered.
    pub(super) fn start(&self) -> &[u8] {
        self.start.get(..self.length().min(LINE_START_BYTES)).unwrap_or(&self.start)
    }

    /// Copy of the line's beginning, as far as it is buffered.
    pub(super) fn buffered_bytes(&self) -> BufferedBytes {
        BufferedBytes { bytes: self.start, length: self.start().len() }
    }

    /// Forgets the line.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends `bytes`.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        let free = self
            .start
            .get_mut(self.length.min(LINE_START_BYTES as u32) as usize..)
            .unwrap_or_default();
        for (place, byte) in free.iter_mut().zip(bytes) {
            *place = *byte;
        }
        let kept = LINE_END_BYTES.saturating_sub(bytes.len());
        self.end.copy_within(LINE_END_BYTES - kept.., 0);
        let last = bytes.len() - bytes.len().min(LINE_END_BYTES);
        for (place, byte) in self.end.iter_mut().skip(kept).zip(bytes.iter().skip(last)) {
            *place = *byte;
        }
        self.length = self.length.saturating_add(bytes.len() as u32);
    }

    /// The beginning and the end of the line so far, without its middle.
    pub(super) fn line_view(&self) -> LineView<'_> {
        let known = LINE_END_BYTES - self.length().min(LINE_END_BYTES);
        LineView { start: self.start(), end: self.end.get(known..).unwrap_or(&[]) }
    }
}

/// Buffered bytes of a line.
#[derive(Clone, Copy)]
pub(super) struct BufferedBytes {
    bytes: [u8; LINE_START_BYTES],
    length: usize,
}

impl BufferedBytes {
    /// No bytes.
    pub(super) const NOTHING: BufferedBytes =
        BufferedBytes { bytes: [0; LINE_START_BYTES], length: 0 };

    /// Copy with the bytes for which `keeps` returns true.
    pub(super) fn filter_bytes(&self, mut keeps: impl FnMut(u8) -> bool) -> BufferedBytes {
        let mut kept = BufferedBytes::NOTHING;
        for byte in self.as_slice() {
            if keeps(*byte)
                && let Some(place) = kept.bytes.get_mut(kept.length)
            {
                *place = *byte;
                kept.length += 1;
            }
        }
        kept
    }

    /// The bytes.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

/// Parts of a whole line that are inspected: its beginning and its end, without its newline.
#[derive(Clone, Copy)]
pub(super) struct LineView<'line> {
    start: &'line [u8],
    end: &'line [u8],
}

impl<'line> LineView<'line> {
    /// View of a complete line.
    pub(super) fn from_whole_line(line: &'line [u8]) -> LineView<'line> {
        let start = line.get(..LINE_START_BYTES).unwrap_or(line);
        let end = line.get(line.len().saturating_sub(LINE_END_BYTES)..).unwrap_or(line);
        LineView { start, end }
    }

    /// Beginning of the line.
    pub(super) fn start(self) -> &'line [u8] {
        self.start
    }

    /// Whether the line is empty: the end of a head.
    pub(super) fn is_empty(self) -> bool {
        matches!(self.start, b"" | b"\r")
    }
}

/// Facts from the first line of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstLine {
    /// A request. `is_bodiless` is whether its response has no body, whatever the lines of the
    /// response state.
    Request { is_bodiless: bool },
    /// A response of this status.
    Response { status: u16 },
    /// The preface of an HTTP/2 client.
    Preface,
    /// A proxy's line before the first head.
    Proxy,
}

/// Parses a whole line as the first of a head; `None` if it is something else.
pub(super) fn parse_first_line(line: LineView) -> Option<FirstLine> {
    let start = line.start.strip_suffix(b"\r").unwrap_or(line.start);
    if start == PREFACE {
        return Some(FirstLine::Preface);
    }
    if start.starts_with(PROXY) {
        return Some(FirstLine::Proxy);
    }
    if let Some(status) = parse_status(start) {
        return Some(FirstLine::Response { status });
    }
    let method = start.iter().take(LONGEST_METHOD + 1).position(|byte| *byte == b' ')?;
    let method = start.get(..method).filter(|method| !method.is_empty())?;
    let end = line.end.strip_suffix(b"\r").unwrap_or(line.end);
    let is_request = method.iter().all(|byte| byte.is_ascii_graphic()) && ends_with_version(end);
    let is_bodiless = matches!(method, b"HEAD" | b"CONNECT");
    is_request.then_some(FirstLine::Request { is_bodiless })
}

/// Status of a line of the form `HTTP/1.1 200`.
fn parse_status(start: &[u8]) -> Option<u16> {
    let after = start.strip_prefix(b"HTTP/1.").or_else(|| {
        let name = start.iter().take(8).take_while(|byte| byte.is_ascii_uppercase()).count();
        let [b'/', major, b'.', rest @ ..] = start.get(name..)? else { return None };
        (name >= 3 && major.is_ascii_digit()).then_some(rest)
    })?;
    let [minor, b' ', a, b, c, ..] = after else { return None };
    let are_digits = [minor, a, b, c].into_iter().all(u8::is_ascii_digit);
    let digit = |byte: &u8| u16::from(byte - b'0');
    are_digits.then(|| 100 * digit(a) + 10 * digit(b) + digit(c))
}

/// Whether a line's end has the form ` HTTP/1.1`: a space, a name in capitals, a slash and a
/// version.
fn ends_with_version(end: &[u8]) -> bool {
    if end.ends_with(b" HTTP/1.1") || end.ends_with(b" HTTP/1.0") {
        return true;
    }
    let [before @ .., major, b'.', minor] = end else { return false };
    let Some(name) = before.strip_suffix(b"/") else { return false };
    let length = name.iter().rev().take_while(|byte| byte.is_ascii_uppercase()).count();
    let space = name.len().checked_sub(length + 1).and_then(|index| name.get(index));
    major.is_ascii_digit() && minor.is_ascii_digit() && length >= 3 && space == Some(&b' ')
}

/// Likelihood that a line is the first of a head, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadLikelihood {
    /// The line is something else.
    Other,
    /// The line may be the first of a head; more bytes are needed.
    Maybe,
    /// The line probably is the first of a head; its text is incomplete.
    Likely,
}

/// Classifies the beginning of an incomplete line.
pub(super) fn classify_start(start: &[u8]) -> HeadLikelihood {
    if parse_status(start).is_some() {
        return HeadLikelihood::Likely;
    }
    // Too short to contain the status.
    let answer = b"HTTP/1.";
    let matches = |known: &[u8]| known.iter().zip(start).all(|(known, byte)| known == byte);
    let is_answer = matches(answer)
        && start.len() < answer.len() + 5
        && start.iter().skip(answer.len()).all(|byte| byte.is_ascii_digit() || *byte == b' ');
    if is_answer || start.len() <= PREFACE.len() + 1 && matches(PREFACE) || is_proxy(start) {
        return HeadLikelihood::Maybe;
    }
    match METHODS.iter().any(|method| matches(method)) {
        true if start.len() < LINE_START_BYTES => HeadLikelihood::Maybe,
        true => HeadLikelihood::Likely,
        false if start.len() < LINE_START_BYTES && is_in_capitals(start) => HeadLikelihood::Maybe,
        false => HeadLikelihood::Other,
    }
}

/// Whether a line may begin with the name of an unknown method or protocol, which is in capitals.
fn is_in_capitals(start: &[u8]) -> bool {
    let length = start.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let after = start.get(length..).unwrap_or(&[]);
    length > 0
        && matches!(after.first(), None | Some(b' ' | b'/'))
        && after.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r'))
}

/// Whether a line may begin a proxy's line, which has up to 107 bytes.
fn is_proxy(start: &[u8]) -> bool {
    start.len() < LINE_START_BYTES && PROXY.iter().zip(start).all(|(known, byte)| known == byte)
}

/// Whether `bytes` are certain to begin with a head, even in the middle of other bytes: the first
/// line is complete, and is that of a response or has a known method.
pub(super) fn is_head(bytes: &[u8]) -> bool {
    let searched = bytes.get(..MAX_FIRST_LINE_BYTES).unwrap_or(bytes);
    // Most lines are excluded by their first bytes.
    let begins = searched.get(..LINE_START_BYTES).unwrap_or(searched);
    if classify_start(begins) == HeadLikelihood::Other {
        return false;
    }
    let line = find_newline(searched).and_then(|end| searched.get(..end));
    let first = line.and_then(|line| parse_first_line(LineView::from_whole_line(line)));
    matches!(first, Some(FirstLine::Request { .. } | FirstLine::Response { .. }))
}
