//! Heads of HTTP/1: the first line, and of the others those that are chosen.

use core::ops::Range;

use super::conversation::Conversation;
use super::fields::{self, Begins, Choice, Field, begins, choice, is_left_out, word};
use super::lines::{FirstLine, Held, Line, START, newline, usual_first_line};
use super::newlines::Newlines;
use super::pieces::Pieces;
use super::sink::{Class, Run, Sink};
use crate::tuning::{MAX_FIRST_LINE_BYTES, MAX_KEPT_LINES_BYTES};

/// Head that is passing, and the line of it that is. All of it may be zeros.
#[repr(C)]
pub(super) struct Head {
    /// Line that came in parts so far.
    pub(super) line: Line,
    /// Number of bytes of the head that were kept.
    kept: u32,
    /// Status of an answer; 0 for a request.
    status: u16,
    /// Whether the answer to a request has no body.
    is_bodiless: bool,
    /// Whether a line told a length of the body that makes sense.
    has_length: bool,
    /// Whether the body's length cannot be known from the head.
    is_open: bool,
    /// Whether the other end is asked to go on in HTTP/2, or told so.
    is_http2: bool,
    /// Length of the body as a line told it, in bytes.
    length: u64,
}

/// What a line tells of the body.
#[derive(Clone, Copy)]
enum Told {
    /// Its length in bytes; `None` where that makes no sense.
    Length(Option<u64>),
    /// That its length is told elsewhere.
    Encoding,
    /// Of another protocol.
    Protocol { is_http2: bool },
    /// Nothing.
    Nothing,
}

impl Told {
    /// What a whole line of that `field` tells, by its beginning.
    fn of(field: Field, line: &[u8]) -> Told {
        let start = line.get(..START).unwrap_or(line);
        match field {
            Field::ContentLength => Told::Length(fields::number(start)),
            Field::TransferEncoding => Told::Encoding,
            Field::Upgrade => Told::Protocol { is_http2: fields::is_http2(start) },
            Field::Naming => Told::Nothing,
        }
    }
}

/// What comes behind a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// Another head.
    Head,
    /// A body of this many bytes, and then another head.
    Body(u64),
    /// Bytes whose number is not known.
    Unknown,
    /// Frames of HTTP/2.
    Frames,
}

impl Head {
    /// Begins a head.
    pub(super) fn begin(&mut self) {
        self.line.clear();
        self.kept = 0;
        self.status = 0;
        (self.is_bodiless, self.has_length, self.is_open, self.is_http2) =
            (false, false, false, false);
    }

    /// Begins a head whose first line has come in part.
    pub(super) fn begin_in_line(&mut self) {
        let line = core::mem::replace(&mut self.line, Line::EMPTY);
        self.begin();
        self.line = line;
    }

    /// Notes what the first line told.
    pub(super) fn is(&mut self, first: FirstLine) {
        match first {
            FirstLine::Request { is_bodiless } => self.is_bodiless = is_bodiless,
            FirstLine::Response { status } => self.status = status,
            FirstLine::Preface | FirstLine::Proxy => {}
        }
    }

    /// Notes what a line that is kept told.
    fn note(&mut self, told: Told) {
        match told {
            Told::Length(Some(length)) if !self.has_length || self.length == length => {
                (self.has_length, self.length) = (true, length);
            }
            Told::Length(_) | Told::Encoding => self.is_open = true,
            Told::Protocol { is_http2 } => self.is_http2 = is_http2,
            Told::Nothing => {}
        }
    }

    /// What comes behind the head, which is whole now.
    fn behind(&self, conversation: &Conversation) -> Behind {
        let with_length = match (self.is_open, self.has_length, self.length) {
            (true, _, _) => Behind::Unknown,
            (false, true, 1..) => Behind::Body(self.length),
            (false, _, _) => Behind::Head,
        };
        match self.status {
            0 => {
                conversation.requested(self.is_bodiless);
                return with_length;
            }
            // A tunnel, or another protocol.
            101 => {
                conversation.answered();
                return if self.is_http2 { Behind::Frames } else { Behind::Unknown };
            }
            // Another answer follows.
            100..200 => return Behind::Head,
            _ => {}
        }
        match (conversation.answered(), self.status) {
            (_, 204 | 304) | (Some(true), _) => Behind::Head,
            (Some(false), _) if self.has_length => with_length,
            _ => Behind::Unknown,
        }
    }

    /// Passes a usual head that lies in `bytes`, from their first byte on, as a whole. Puts what is
    /// kept of it into `pieces`, and says what [`Head::lines`] would return; `None` where it is
    /// another, about which nothing is known then.
    #[inline(never)]
    pub(super) fn whole(
        &mut self,
        pieces: &mut Pieces,
        bytes: &[u8],
        conversation: &Conversation,
    ) -> Option<(usize, Behind)> {
        let mut newlines = Newlines::of(bytes);
        let end = newlines.next().filter(|end| *end < MAX_FIRST_LINE_BYTES)?;
        let first = usual_first_line(bytes.get(..end)?)?;
        self.begin();
        self.is(first);
        pieces.add(0..end + 1);
        let mut from = end + 1;
        loop {
            let first = word(bytes, from);
            if is_left_out(first) {
                from = newlines.next()? + 1;
                continue;
            }
            let begins = begins(bytes, from, first);
            let behind = newlines.next()? + 1;
            if let Begins::Field(field) = begins {
                if pieces.is_full() {
                    return None;
                }
                pieces.add(from..behind);
                if field != Field::Naming {
                    self.note(Told::of(field, bytes.get(from..behind - 1)?));
                }
            } else if begins == Begins::End {
                if pieces.is_full() {
                    return None;
                }
                pieces.add(from..behind);
                let is_short = pieces.length() <= MAX_KEPT_LINES_BYTES;
                return is_short.then(|| (behind, self.behind(conversation)));
            }
            from = behind;
        }
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
                    return Some((from, self.behind(conversation)));
                }
                continue;
            }
            match begins(rest, 0, word(rest, 0)) {
                Begins::Other => {}
                Begins::End => {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add(range);
                    self.keep(gathered, bytes, at, sink);
                    return Some((from, self.behind(conversation)));
                }
                Begins::Field(field) => {
                    self.make_room(gathered, bytes, at, sink);
                    gathered.add(range);
                    if field != Field::Naming {
                        self.note(Told::of(field, line));
                    }
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
            let told = Told::of(field, view.start());
            self.note(told);
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
