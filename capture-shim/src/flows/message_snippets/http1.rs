//! Heads of HTTP/1: the first line and the chosen header lines.

use core::ops::Range;

use snippets::RequestTarget;

use super::body_framing::{BodyFraming, HeaderFacts};
use super::conversation::FlowConversation;
use super::fields::{FieldChoice, KeptField, LineStart, choose_field, classify_line, word_at};
use super::lines::{BufferedBytes, PartialLine, find_newline};
use super::pieces::KeptRanges;
use super::sink::{SnippetClass, SnippetRun, SnippetSink};
use crate::tuning::MAX_KEPT_LINES_BYTES;

/// The head that is being walked, and its current line. All fields may be zeros.
#[repr(C)]
pub(super) struct HttpHead {
    /// Beginning of a line that arrives in parts.
    pub(super) line: PartialLine,
    /// Number of bytes of the head that were kept so far.
    kept: u32,
    /// Facts from the head's lines.
    pub(super) facts: HeaderFacts,
    /// Position in the first line, which decides whether its next byte is kept.
    target: RequestTarget,
}

impl HttpHead {
    /// Begins a head.
    pub(super) fn begin_head(&mut self) {
        self.line.clear();
        self.kept = 0;
        self.facts = HeaderFacts::NONE;
    }

    /// Adds the bytes of a first line at `range` of `bytes` to `gathered`, without the query and
    /// possible passwords.
    #[cold]
    pub(super) fn first_line(
        &mut self,
        gathered: &mut GatheredBytes,
        bytes: &[u8],
        range: Range<usize>,
        at: usize,
        sink: &mut impl SnippetSink,
    ) {
        let mut begin = range.start;
        for (index, byte) in bytes.iter().enumerate().take(range.end).skip(range.start) {
            if !self.target.accept_byte(*byte) {
                if begin < index {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add_range(begin..index);
                }
                begin = index + 1;
            }
        }
        if begin < range.end {
            self.make_room(gathered, bytes, at, sink);
            gathered.add_range(begin..range.end);
        }
    }

    /// Begins a first line with the buffered bytes `held`. `is_whole` is whether the line is
    /// complete, so that its first word is known to be a method or a version.
    pub(super) fn begin_first_line(
        &mut self,
        gathered: &mut GatheredBytes,
        held: &BufferedBytes,
        is_whole: bool,
    ) {
        self.target = if is_whole { RequestTarget::Method } else { RequestTarget::MaybeMethod };
        gathered.buffer_first(held.filter_bytes(|byte| self.target.accept_byte(byte)));
    }

    /// Begins a head whose first line is incomplete, and stays buffered.
    pub(super) fn begin_in_line(&mut self) {
        let line = core::mem::replace(&mut self.line, PartialLine::EMPTY);
        self.begin_head();
        self.line = line;
    }

    /// Continues with the lines in `bytes` from `from` on; the gathered bytes are kept too. Returns
    /// the index of the first byte after the head, and what follows; `None` if all bytes belong to
    /// the head and it continues.
    pub(super) fn walk_lines(
        &mut self,
        gathered: &mut GatheredBytes,
        bytes: &[u8],
        mut from: usize,
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> Option<(usize, BodyFraming)> {
        loop {
            let rest = bytes.get(from..).unwrap_or(&[]);
            let Some(end) = find_newline(rest) else {
                if !rest.is_empty() {
                    self.make_room(gathered, bytes, at, sink);
                    self.continue_line(gathered, rest, from);
                }
                self.keep_gathered(gathered, bytes, at, sink);
                return None;
            };
            let line = rest.get(..end).unwrap_or(rest);
            let range = from..from + end + 1;
            from = range.end;
            if self.line.length() > 0 {
                if self.end_line(gathered, line, range) {
                    self.keep_gathered(gathered, bytes, at, sink);
                    return Some((from, self.facts.body_framing(conversation)));
                }
                continue;
            }
            match classify_line(rest, 0, word_at(rest, 0)) {
                LineStart::Other => {}
                LineStart::End => {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add_range(range);
                    self.keep_gathered(gathered, bytes, at, sink);
                    return Some((from, self.facts.body_framing(conversation)));
                }
                LineStart::Field(field) => {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add_range(range);
                    self.facts.note_field(field, line);
                }
            }
        }
    }

    /// Passes the gathered bytes to `sink` if all places for ranges are taken.
    #[inline]
    fn make_room(
        &mut self,
        gathered: &mut GatheredBytes,
        bytes: &[u8],
        at: usize,
        sink: &mut impl SnippetSink,
    ) {
        if gathered.pieces.is_full() {
            self.keep_gathered(gathered, bytes, at, sink);
            gathered.clear();
        }
    }

    /// Ends a line that arrived in parts. `line` is its last part, which is at `range`. Returns
    /// whether the whole line is the empty line.
    #[cold]
    fn end_line(&mut self, gathered: &mut GatheredBytes, line: &[u8], range: Range<usize>) -> bool {
        let before = choose_field(self.line.start());
        let held = self.line.buffered_bytes();
        self.line.push_bytes(line);
        let view = self.line.line_view();
        let is_end = view.is_empty();
        let kept =
            if is_end { FieldChoice::Keep(KeptField::Naming) } else { choose_field(view.start()) };
        if let FieldChoice::Keep(field) = kept {
            self.facts.note_field(field, view.start());
            if before == FieldChoice::Undecided {
                gathered.buffer_first(held);
            }
            gathered.add_range(range);
        }
        self.line.clear();
        is_end
    }

    /// Buffers `rest`, the part of an incomplete line that begins at index `from`.
    #[cold]
    fn continue_line(&mut self, gathered: &mut GatheredBytes, rest: &[u8], from: usize) {
        let before = choose_field(self.line.start());
        let held = self.line.buffered_bytes();
        self.line.push_bytes(rest);
        if matches!(choose_field(self.line.start()), FieldChoice::Keep(_)) {
            if before == FieldChoice::Undecided {
                gathered.buffer_first(held);
            }
            gathered.add_range(from..from + rest.len());
        }
    }

    /// Passes the gathered ranges of `bytes`, which begin at offset `at` of the transfer, to
    /// `sink`, up to the limit of a head.
    pub(super) fn keep_gathered(
        &mut self,
        gathered: &GatheredBytes,
        bytes: &[u8],
        at: usize,
        sink: &mut impl SnippetSink,
    ) {
        self.keep_at_most(MAX_KEPT_LINES_BYTES, gathered, bytes, at, sink);
    }

    /// Passes the gathered ranges of `bytes` to `sink`, with at most `most` bytes of the whole
    /// head.
    pub(super) fn keep_at_most(
        &mut self,
        most: usize,
        gathered: &GatheredBytes,
        bytes: &[u8],
        at: usize,
        sink: &mut impl SnippetSink,
    ) {
        let held = gathered.held.as_slice();
        let all = held.len() + gathered.pieces.byte_count();
        let length = all.min(most.saturating_sub(self.kept as usize));
        let is_continued = self.kept > 0;
        self.kept += length as u32;
        if length < all {
            // Later bytes would be read as if they continued here.
            self.kept = MAX_KEPT_LINES_BYTES as u32;
        }
        if length == 0 {
            return;
        }
        // Buffered bytes came before this transfer.
        let first = gathered.pieces.ranges().first().map_or(0, |range| range.start);
        let offset = if held.is_empty() { at + first } else { at };
        let (continues, cut) = (is_continued, length < all);
        let has_buffered = !held.is_empty();
        sink.begin_run(SnippetRun {
            class: SnippetClass::Http1,
            offset,
            has_buffered,
            length,
            continues,
            cut,
        });
        sink.put_bytes(held);
        for range in gathered.pieces.ranges() {
            sink.put_bytes(bytes.get(range.clone()).unwrap_or(&[]));
        }
    }
}

/// Bytes to keep: the buffered bytes of earlier transfers, followed by ranges of this transfer's
/// bytes.
pub(super) struct GatheredBytes {
    /// Buffered bytes of a line that ends in the first piece.
    held: BufferedBytes,
    pieces: KeptRanges,
}

impl GatheredBytes {
    /// No bytes.
    pub(super) const NOTHING: GatheredBytes =
        GatheredBytes { held: BufferedBytes::NOTHING, pieces: KeptRanges::NONE };

    /// Puts the buffered bytes `held`, if there are any, before the ranges. To be called before a
    /// range is added.
    pub(super) fn buffer_first(&mut self, held: BufferedBytes) {
        if !held.as_slice().is_empty() {
            self.held = held;
        }
    }

    /// Forgets everything.
    fn clear(&mut self) {
        self.held = BufferedBytes::NOTHING;
        self.pieces.clear();
    }

    /// Appends a range of the transfer's bytes.
    pub(super) fn add_range(&mut self, range: Range<usize>) {
        self.pieces.add_range(range);
    }
}
