//! Heads of HTTP/1: the first line, and of the others those that are chosen.

use core::ops::Range;

use snippets::Target;

use super::behind::{Behind, Facts};
use super::conversation::Conversation;
use super::fields::{Begins, Choice, Field, begins, choice, word};
use super::lines::{Held, Line, newline};
use super::pieces::Pieces;
use super::sink::{Class, Run, Sink};
use crate::tuning::MAX_KEPT_LINES_BYTES;

/// Head that is passing, and the line of it that is. All of it may be zeros.
#[repr(C)]
pub(super) struct Head {
    /// Line that came in parts so far.
    pub(super) line: Line,
    /// Number of bytes of the head that were kept.
    kept: u32,
    /// Facts that its lines have told.
    pub(super) facts: Facts,
    /// Place in the first line.
    target: Target,
}

impl Head {
    /// Begins a head.
    pub(super) fn begin(&mut self) {
        self.line.clear();
        self.kept = 0;
        self.facts = Facts::NONE;
    }

    /// Adds what is kept of a first line's bytes, which are at `range`: all but its query, and what
    /// may be a password. A query with spaces, by mistake, leaves a piece of each.
    #[cold]
    pub(super) fn first_line(
        &mut self,
        gathered: &mut Gathered,
        bytes: &[u8],
        range: Range<usize>,
        at: usize,
        sink: &mut impl Sink,
    ) {
        let mut begin = range.start;
        for (index, byte) in bytes.iter().enumerate().take(range.end).skip(range.start) {
            if !self.target.keeps(*byte) {
                if begin < index {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add(begin..index);
                }
                begin = index + 1;
            }
        }
        if begin < range.end {
            self.make_room(gathered, bytes, at, sink);
            gathered.add(begin..range.end);
        }
    }

    /// Begins a first line, with bytes that are held.
    pub(super) fn begin_first_line(
        &mut self,
        gathered: &mut Gathered,
        held: &Held,
        is_whole: bool,
    ) {
        self.target = if is_whole { Target::Method } else { Target::MaybeMethod };
        gathered.hold(held.filtered(|byte| self.target.keeps(byte)));
    }

    /// Begins a head whose first line has come in part.
    pub(super) fn begin_in_line(&mut self) {
        let line = core::mem::replace(&mut self.line, Line::EMPTY);
        self.begin();
        self.line = line;
    }

    /// Goes on with the lines in `bytes` from `from` on; what was gathered so far is kept too.
    /// Returns the index of the first byte that is no longer the head's, and what is there; `None`
    /// where all are the head's and it goes on.
    pub(super) fn lines(
        &mut self,
        gathered: &mut Gathered,
        bytes: &[u8],
        mut from: usize,
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> Option<(usize, Behind)> {
        loop {
            let rest = bytes.get(from..).unwrap_or(&[]);
            let Some(end) = newline(rest) else {
                if !rest.is_empty() {
                    self.make_room(gathered, bytes, at, sink);
                    self.go_on(gathered, rest, from);
                }
                self.keep(gathered, bytes, at, sink);
                return None;
            };
            let line = rest.get(..end).unwrap_or(rest);
            let range = from..from + end + 1;
            from = range.end;
            if self.line.length() > 0 {
                if self.end_line(gathered, line, range) {
                    self.keep(gathered, bytes, at, sink);
                    return Some((from, self.facts.behind(conversation)));
                }
                continue;
            }
            match begins(rest, 0, word(rest, 0)) {
                Begins::Other => {}
                Begins::End => {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add(range);
                    self.keep(gathered, bytes, at, sink);
                    return Some((from, self.facts.behind(conversation)));
                }
                Begins::Field(field) => {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add(range);
                    self.facts.note(field, line);
                }
            }
        }
    }

    /// Keeps what was gathered where there is no room for another piece.
    #[inline]
    fn make_room(
        &mut self,
        gathered: &mut Gathered,
        bytes: &[u8],
        at: usize,
        sink: &mut impl Sink,
    ) {
        if gathered.pieces.is_full() {
            self.keep(gathered, bytes, at, sink);
            gathered.clear();
        }
    }

    /// Ends a line that came in parts, with `line`, its last one, which is at `range`. True where
    /// it is the empty one.
    #[cold]
    fn end_line(&mut self, gathered: &mut Gathered, line: &[u8], range: Range<usize>) -> bool {
        let before = choice(self.line.start());
        let held = self.line.held();
        self.line.push(line);
        let view = self.line.view();
        let is_end = view.is_empty();
        let kept = if is_end { Choice::Keep(Field::Naming) } else { choice(view.start()) };
        if let Choice::Keep(field) = kept {
            self.facts.note(field, view.start());
            if before == Choice::Undecided {
                gathered.hold(held);
            }
            gathered.add(range);
        }
        self.line.clear();
        is_end
    }

    /// Goes on with a line that does not end in `rest`, which begins at `from`.
    #[cold]
    fn go_on(&mut self, gathered: &mut Gathered, rest: &[u8], from: usize) {
        let before = choice(self.line.start());
        let held = self.line.held();
        self.line.push(rest);
        if matches!(choice(self.line.start()), Choice::Keep(_)) {
            if before == Choice::Undecided {
                gathered.hold(held);
            }
            gathered.add(from..from + rest.len());
        }
    }

    /// Keeps what was gathered of `bytes`, which lie at `at` of the transfer, as far as the head
    /// may have more.
    pub(super) fn keep(
        &mut self,
        gathered: &Gathered,
        bytes: &[u8],
        at: usize,
        sink: &mut impl Sink,
    ) {
        self.keep_at_most(MAX_KEPT_LINES_BYTES, gathered, bytes, at, sink);
    }

    /// The same, where the head may have `most` bytes.
    pub(super) fn keep_at_most(
        &mut self,
        most: usize,
        gathered: &Gathered,
        bytes: &[u8],
        at: usize,
        sink: &mut impl Sink,
    ) {
        let held = gathered.held.as_slice();
        let all = held.len() + gathered.pieces.length();
        let length = all.min(most.saturating_sub(self.kept as usize));
        let is_continued = self.kept > 0;
        self.kept += length as u32;
        if length < all {
            // What lies behind would be read as if it went on here.
            self.kept = MAX_KEPT_LINES_BYTES as u32;
        }
        if length == 0 {
            return;
        }
        // What was held came before this transfer.
        let first = gathered.pieces.ranges().first().map_or(0, |range| range.start);
        let offset = if held.is_empty() { at + first } else { at };
        let (continues, cut) = (is_continued, length < all);
        let held_too = !held.is_empty();
        sink.begin(Run { class: Class::Http1, offset, held: held_too, length, continues, cut });
        sink.put(held);
        for range in gathered.pieces.ranges() {
            sink.put(bytes.get(range.clone()).unwrap_or(&[]));
        }
    }
}

/// Bytes of a transfer that are kept: those that were held from before, and pieces.
pub(super) struct Gathered {
    /// Bytes of a line whose end is in the first piece.
    held: Held,
    pieces: Pieces,
}

impl Gathered {
    /// Nothing yet.
    pub(super) const NOTHING: Gathered = Gathered { held: Held::NOTHING, pieces: Pieces::NONE };

    /// Puts what was `held`, if anything was, before all pieces. There are none yet.
    pub(super) fn hold(&mut self, held: Held) {
        if !held.as_slice().is_empty() {
            self.held = held;
        }
    }

    /// Forgets everything.
    fn clear(&mut self) {
        self.held = Held::NOTHING;
        self.pieces.clear();
    }

    /// Adds a piece behind the others.
    pub(super) fn add(&mut self, range: Range<usize>) {
        self.pieces.add(range);
    }
}
