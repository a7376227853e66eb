//! Messages of the Redis protocol (RESP): commands, replies and pushes. They state their lengths,
//! so each message of a pipeline is found, and its type and identifying words are kept.
//!
//! A message is a line with its type, followed for some types by the stated number of elements. An
//! element is a message, too, so it is enough to count the remaining ones. Texts are skipped by
//! their lengths.

use core::ops::Range;
use core::slice;

use super::conversation::FlowConversation;
use super::lines::find_newline;
use super::sink::{SnippetClass, SnippetRun, SnippetSink};
use crate::tuning::{MAX_KEPT_REDIS_BYTES, MAX_KEPT_REDIS_TEXT_BYTES};

/// Greatest number that a line may state: Redis uses no greater ones.
const MAX_STATED_NUMBER: u64 = 1 << 40;

/// Part of the current message, which determines whether the next bytes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum RedisElement {
    /// The message's first line.
    Line = 0,
    /// The first line of the message's first element.
    Element,
    /// The text of the first element, or of the message itself if it is an error.
    Text,
    /// The rest of the message, which is left out.
    Rest,
}

/// What precedes the next byte in a line that states a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum NumberState {
    /// The type only.
    None = 0,
    /// A minus sign.
    Sign,
    /// A digit.
    Some,
    /// The carriage return after the digits.
    Return,
}

/// Current message of one direction. All fields may be zeros: then the next byte begins a message.
#[repr(C)]
pub(super) struct RedisMessage {
    /// Number of elements that are still to come, including the message itself.
    elements: u64,
    /// Number of bytes of the current text that are still to come, including the end of its line.
    text: u64,
    /// Number that the line states so far.
    number: u64,
    digits: NumberState,
    is_negative: bool,
    /// Type of the current line; 0 for none.
    line_kind: u8,
    part: RedisElement,
    /// Type of the message.
    message_kind: u8,
    /// Number of bytes of the message that were kept.
    kept: u8,
}

/// Bytes that turned out not to be messages of Redis.
pub(super) struct OtherForm {
    /// Index of the first of these bytes. From there on nothing was kept.
    pub(super) from: usize,
    /// Number of bytes that were kept of the message before; `None` if its rest is left out.
    pub(super) kept: Option<usize>,
}

/// Whether a message may begin with this byte. `is_redis` is whether the flow speaks the Redis
/// protocol.
#[inline(always)]
pub(super) fn begins_message(first: u8, is_redis: impl FnOnce() -> bool) -> bool {
    first == b'*' || is_redis() && is_type(first)
}

/// Whether `byte` is the type of a message or an element.
pub(super) fn is_type(byte: u8) -> bool {
    is_sized(byte) || matches!(byte, b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(')
}

/// Whether a line of this type states how much follows.
pub(super) fn is_sized(kind: u8) -> bool {
    is_text(kind) || matches!(kind, b'*' | b'%' | b'~' | b'>' | b'|')
}

/// Complete line at the beginning of `bytes` with a number of at most six digits: its type, its
/// number, and its length in bytes with its end; `None` for another beginning.
#[inline(always)]
fn usual_header(bytes: &[u8]) -> Option<(u8, u64, usize)> {
    let [kind, rest @ ..] = bytes else { return None };
    let mut number = 0;
    for (index, byte) in rest.iter().enumerate().take(7) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let is_end = *byte == b'\r' && rest.get(index + 1) == Some(&b'\n') && index > 0;
            return is_end.then_some((*kind, number, index + 3));
        }
        number = number * 10 + u64::from(digit);
    }
    None
}

/// Whether a text follows a line of this type.
fn is_text(kind: u8) -> bool {
    matches!(kind, b'$' | b'=' | b'!')
}

/// Walks over `bytes` if they are exactly one usual message. Returns how many of them are kept;
/// otherwise `None`.
#[inline(always)]
pub(super) fn pass_message(bytes: &[u8], conversation: &FlowConversation) -> Option<usize> {
    if let [b'+' | b'-' | b':', ..] = bytes {
        let is_whole =
            bytes.len() <= MAX_KEPT_REDIS_BYTES && find_newline(bytes)? + 1 == bytes.len();
        return is_whole.then_some(bytes.len());
    }
    let mut message = RedisMessage::BETWEEN;
    let kept = message.pass_usual(bytes, conversation);
    let after = bytes.get(kept..).filter(|_| kept > 0)?;
    let mut from = kept + message.pass_texts(after);
    if message.text > 0 && bytes.last() == Some(&b'\n') {
        from += message.text as usize;
        message.text = 0;
    }
    (from == bytes.len() && message.is_between_messages()).then_some(kept)
}

impl RedisMessage {
    /// State between two messages.
    const BETWEEN: RedisMessage = RedisMessage {
        elements: 0,
        text: 0,
        number: 0,
        digits: NumberState::None,
        is_negative: false,
        line_kind: 0,
        part: RedisElement::Line,
        message_kind: 0,
        kept: 0,
    };

    /// Continues at the beginning of a message.
    pub(super) fn clear(&mut self) {
        (self.elements, self.text, self.line_kind) = (0, 0, 0);
    }

    /// Whether the next byte begins a message.
    pub(super) fn is_between_messages(&self) -> bool {
        self.elements == 0 && self.text == 0 && self.line_kind == 0
    }

    /// Walks over `bytes`, which begin at offset `at` of a transfer, and passes those that are kept
    /// to `sink`. Fails if the bytes are not messages.
    pub(super) fn walk_messages(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> Result<(), OtherForm> {
        // Beginning and current end of the kept part of the message.
        let (mut begin, mut end, mut from) = (0, 0, 0);
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            if !self.is_between_messages() {
                let is_kept = self.part != RedisElement::Rest;
                let Some(count) = self.pass_element(rest, conversation) else {
                    let kept = (is_kept || end > begin).then_some(usize::from(self.kept));
                    self.clear();
                    return Err(OtherForm { from: begin, kept });
                };
                from += count;
                if is_kept {
                    end = from;
                }
            } else {
                self.kept = 0;
                let count = self.pass_usual(rest, conversation);
                if count == 0 {
                    (self.elements, self.part) = (1, RedisElement::Line);
                    continue;
                }
                from += count;
                end = from;
            }
            if self.part == RedisElement::Rest {
                from += self.pass_texts(bytes.get(from..).unwrap_or(&[]));
            }
            if self.is_between_messages() {
                self.keep_range(bytes, begin..end, from, at, sink);
                (begin, end) = (from, from);
            }
        }
        self.keep_range(bytes, begin..end, from, at, sink);
        Ok(())
    }

    /// Walks over the kept part of the message that `bytes` begin with, if it is a usual message: a
    /// command's first lines and name, or the line of a text reply. Returns the part's length in
    /// bytes; 0 if the message is of another kind, or incomplete.
    #[inline(always)]
    fn pass_usual(&mut self, bytes: &[u8], conversation: &FlowConversation) -> usize {
        match usual_header(bytes) {
            Some((b'$', length, head)) => {
                (self.elements, self.text, self.part) = (0, length + 2, RedisElement::Rest);
                head
            }
            Some((b'*', count @ 1.., line)) => {
                let name = bytes.get(line..).and_then(usual_header);
                let Some((b'$', length @ ..=MAX_KEPT_REDIS_TEXT_BYTES, head)) = name else {
                    return 0;
                };
                let end = line + head + length as usize + 2;
                if end > MAX_KEPT_REDIS_BYTES || bytes.get(end - 1) != Some(&b'\n') {
                    return 0;
                }
                conversation.note_redis();
                (self.elements, self.part) = (count - 1, RedisElement::Rest);
                end
            }
            _ => 0,
        }
    }

    /// Advances past complete elements that are texts. Returns the number of their bytes, including
    /// the lines before the texts.
    #[inline(always)]
    fn pass_texts(&mut self, bytes: &[u8]) -> usize {
        let mut from = 0;
        while self.elements > 0
            && self.text == 0
            && self.line_kind == 0
            && let Some((b'$', length, head)) = bytes.get(from..).and_then(usual_header)
            && let end = from + head + length as usize + 2
            && bytes.get(end - 1) == Some(&b'\n')
        {
            self.elements -= 1;
            from = end;
        }
        from
    }

    /// Walks over the text or line with which `rest` begins, up to its end or the end of `rest`.
    /// Returns the number of bytes walked over; `None` if they are not of a Redis message.
    #[inline(always)]
    fn pass_element(&mut self, rest: &[u8], conversation: &FlowConversation) -> Option<usize> {
        if self.text > 0 {
            let count = self.text.min(rest.len() as u64) as usize;
            self.text -= count as u64;
            if self.text == 0 {
                self.part = RedisElement::Rest;
                return (rest.get(count - 1) == Some(&b'\n')).then_some(count);
            }
            return Some(count);
        }
        let mut from = 0;
        if self.line_kind == 0 {
            let kind = *rest.first()?;
            if !is_type(kind) {
                return None;
            }
            (self.line_kind, self.number, self.digits) = (kind, 0, NumberState::None);
            self.is_negative = false;
            match self.part {
                RedisElement::Line => self.message_kind = kind,
                // The message is a command: nothing else begins this way.
                RedisElement::Element if kind == b'$' && self.message_kind == b'*' => {
                    conversation.note_redis()
                }
                _ => {}
            }
            from = 1;
        }
        if !is_sized(self.line_kind) {
            let line = rest.get(from..).unwrap_or(&[]);
            let Some(end) = find_newline(line) else { return Some(rest.len()) };
            self.end_line();
            return Some(from + end + 1);
        }
        while let Some(byte) = rest.get(from) {
            from += 1;
            match (byte, self.digits) {
                (b'0'..=b'9', NumberState::None | NumberState::Sign | NumberState::Some) => {
                    self.number = self.number * 10 + u64::from(byte - b'0');
                    self.digits = NumberState::Some;
                    if self.number > MAX_STATED_NUMBER {
                        return None;
                    }
                }
                (b'-', NumberState::None) => {
                    (self.is_negative, self.digits) = (true, NumberState::Sign)
                }
                (b'\r', NumberState::Some) => self.digits = NumberState::Return,
                (b'\n', NumberState::Return) => {
                    self.end_line();
                    return Some(from);
                }
                _ => return None,
            }
        }
        Some(from)
    }

    /// Determines what follows a line that has ended.
    #[inline(always)]
    fn end_line(&mut self) {
        let kind = core::mem::take(&mut self.line_kind);
        let number = if self.is_negative { 0 } else { self.number };
        self.elements = self.elements.saturating_sub(1);
        let has_text = is_text(kind) && !self.is_negative;
        if has_text {
            self.text = number + 2;
        } else if is_sized(kind) {
            let each = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
            self.elements = self.elements.saturating_add(number * each);
        }
        let is_short = has_text && number <= MAX_KEPT_REDIS_TEXT_BYTES;
        self.part = match self.part {
            RedisElement::Line if kind == b'!' && is_short => RedisElement::Text,
            RedisElement::Line if !is_text(kind) => RedisElement::Element,
            RedisElement::Element if is_short => RedisElement::Text,
            _ => RedisElement::Rest,
        };
    }

    /// Passes the bytes of the message at `range` to `sink`, up to the limit of a message. The
    /// message was walked over up to the index `to`.
    fn keep_range(
        &mut self,
        bytes: &[u8],
        range: Range<usize>,
        to: usize,
        at: usize,
        sink: &mut impl SnippetSink,
    ) {
        let before = usize::from(self.kept);
        let length = range.len().min(MAX_KEPT_REDIS_BYTES - before);
        if length == 0 {
            return;
        }
        self.kept += length as u8;
        let kept = range.start..range.start + length;
        if usize::from(self.kept) == MAX_KEPT_REDIS_BYTES {
            self.part = RedisElement::Rest;
        }
        // The run is also cut if the bytes that are left out are still to come.
        let cut = kept.end < to || !self.is_between_messages() && self.part == RedisElement::Rest;
        let (continues, offset) = (before > 0, at + kept.start);
        let run = SnippetRun {
            class: SnippetClass::Other,
            offset,
            has_buffered: false,
            length,
            continues,
            cut,
        };
        sink.put_ranges(run, bytes, slice::from_ref(&kept));
    }
}
