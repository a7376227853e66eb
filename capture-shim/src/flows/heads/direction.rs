//! One direction of a flow: what its bytes are, as far as that is known, and where the next head
//! begins.
//!
//! Nothing here reads the clock, the log or another flow, so it is tested on bytes alone.

use core::slice;

use super::behind::Behind;
use super::conversation::Conversation;
use super::http1::{Gathered, Head};
use super::http2::Frames;
use super::lines::{FirstLine, Held, first_line, is_head, newline};
use super::redis::{Message, Other};
use super::sink::{Class, Run, Sink};
use crate::tuning::{MAX_KEPT_TURN_BYTES, MAX_KEPT_UNFINISHED_BYTES};

// The tests of this crate compile this file as one of theirs, so the paths are said.
#[path = "direction/quick.rs"]
mod quick;
#[path = "direction/recognising.rs"]
mod recognising;

/// Place in what one end says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// Where a head may begin.
    Beginning = 0,
    /// In the words of a turn whose form is not known.
    Words,
    /// In a first line whose end has not come yet.
    FirstLine,
    /// In the lines of a head.
    Lines,
    /// In a body of known length.
    Body,
    /// In a body of unknown length.
    Open,
    /// In frames of HTTP/2.
    Frames,
    /// In messages of Redis.
    Redis,
    /// In what is never kept: it is encrypted, or frames whose beginnings were lost.
    Hidden,
}

/// Place of a byte in a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct HeldAt {
    /// Time of the transfer, in ticks.
    pub(super) ticks: u64,
    /// Number of bytes before it in the transfer.
    pub(super) offset: u32,
}

impl HeldAt {
    /// The byte at `offset` of the transfer of the time `ticks`.
    pub(super) fn new(ticks: u64, offset: usize) -> HeldAt {
        HeldAt { ticks, offset: u32::try_from(offset).unwrap_or(u32::MAX) }
    }
}

/// State of one direction of a flow. All of it may be zeros. What most messages ask for comes
/// first, in one line of the processor's cache.
#[repr(C, align(64))]
pub(super) struct Direction {
    stage: Stage,
    /// Whether there were heads of HTTP/1.
    is_http1: bool,
    /// Whether the first turn was begun before anything of it was seen.
    is_joined: bool,
    /// Whether something was said before anything was seen.
    was_joined: bool,
    /// Whether the bytes are plain text that is encrypted on the flow.
    is_plain: bool,
    /// Number of bytes of the turn that were kept.
    kept: u16,
    /// Begin and end of the latest call, in ticks.
    latest: [u64; 2],
    /// Number of bytes of the body that are still to come.
    rest: u64,
    /// Place where the line or the frame began that came in parts.
    held: HeldAt,
    head: Head,
    frames: Frames,
    redis: Message,
}

impl Direction {
    /// Begins with a flow's first byte, or with a later one where the flow was `joined`.
    pub(super) fn begin(&mut self, joined: bool) {
        self.stage = Stage::Beginning;
        (self.is_http1, self.kept, self.latest) = (false, 0, [0; 2]);
        self.head.line.clear();
        (self.is_joined, self.was_joined, self.is_plain) = (joined, joined, false);
        if joined {
            // It may be in the midst of anything.
            self.stage = Stage::Words;
            self.kept = MAX_KEPT_TURN_BYTES as u16;
        }
    }

    /// Begins with the first plain text of a flow on which it is encrypted, unless that was before.
    pub(super) fn become_plain(&mut self) {
        if !self.is_plain {
            self.begin(self.was_joined);
            self.is_plain = true;
        }
    }

    /// Notes a call that lasted from `begin` to `end` ticks, whose bytes follow. They begin a turn
    /// where `turns`.
    #[inline(always)]
    pub(super) fn call(&mut self, begin: u64, end: u64, turns: bool, conversation: &Conversation) {
        // Two threads at once: nobody knows whose bytes came first. A call can have several
        // transfers.
        if begin < self.latest[1] && self.latest != [begin, end] {
            self.lose(conversation);
        }
        self.latest = [begin, end];
        if self.stage == Stage::Frames {
            self.frames.transfer_begins();
        } else if turns && !core::mem::take(&mut self.is_joined) {
            // One after the other: a jump by a table is guessed wrong more often.
            if self.stage.is_until_turn() {
                // What follows may be a head.
                self.expect();
            } else if self.stage == Stage::Redis {
                self.redis_turns(conversation);
            } else if self.stage == Stage::Beginning && !self.is_http1 {
                self.head.line.clear();
            }
        }
    }

    /// Goes on with the turn of one who spoke Redis's protocol.
    #[inline(never)]
    fn redis_turns(&mut self, conversation: &Conversation) {
        // Unless both speak at once, as with a long pipeline.
        if self.redis.is_between() || !conversation.is_redis() {
            self.expect();
        }
    }

    /// Goes on where a head may begin.
    fn expect(&mut self) {
        self.stage = Stage::Beginning;
        self.kept = 0;
        self.head.line.clear();
    }

    /// Goes on where nothing is known until something begins.
    pub(super) fn lose(&mut self, conversation: &Conversation) {
        conversation.unpair();
        self.head.line.clear();
        self.kept = MAX_KEPT_TURN_BYTES as u16;
        self.stage = match self.stage {
            Stage::Frames | Stage::Hidden => Stage::Hidden,
            _ if self.is_http1 => Stage::Open,
            _ => Stage::Words,
        };
    }

    /// Number of bytes of a line, or of a frame's head, that has only begun.
    fn begun(&self) -> usize {
        match self.stage {
            Stage::Frames => self.frames.begun(),
            _ => self.head.line.length(),
        }
    }

    /// Where the line or the frame began that has only begun, if there is one.
    pub(super) fn held(&self) -> Option<HeldAt> {
        (self.begun() > 0).then_some(self.held)
    }

    /// Notes that a transfer was walked over as far as `end`. What has only begun may have begun in
    /// it: `place` is where a byte of it is.
    pub(super) fn note_held(&mut self, end: usize, place: impl FnOnce(usize) -> HeldAt) {
        let begun = self.begun();
        if 0 < begun && begun <= end {
            self.held = place(end - begun);
        }
    }

    /// Passes `bytes` bytes that nobody sees.
    pub(super) fn pass(&mut self, bytes: u64, conversation: &Conversation) {
        match self.stage {
            Stage::Body if bytes <= self.rest => self.skip(bytes),
            Stage::Frames if self.frames.pass(bytes) => {}
            Stage::Open | Stage::Hidden => {}
            _ => self.lose(conversation),
        }
    }

    /// Passes bytes of a body.
    fn skip(&mut self, bytes: u64) {
        self.rest -= bytes;
        if self.rest == 0 {
            self.expect();
        }
    }

    /// Passes bytes of a body, where `most` are there. Returns how many.
    #[inline(always)]
    fn body(&mut self, most: usize) -> usize {
        let length = self.rest.min(most as u64);
        self.skip(length);
        length as usize
    }

    /// Walks over the first of these bytes, by the ways that know all forms of them. Returns how
    /// many that were.
    #[inline(never)]
    pub(super) fn step(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> usize {
        match self.stage {
            Stage::Words | Stage::Open if at == 0 && is_head(bytes) => {
                self.expect();
                0
            }
            Stage::Beginning => self.recognise(bytes, at, conversation, sink),
            Stage::Words => self.words(None, bytes, at, sink),
            Stage::FirstLine => self.first_line(bytes, at, conversation, sink),
            Stage::Lines => {
                let mut gathered = Gathered::NOTHING;
                self.lines(&mut gathered, bytes, 0, at, conversation, sink)
            }
            Stage::Body => self.body(bytes.len()),
            Stage::Frames => {
                if !self.frames.walk(bytes, at, sink) {
                    self.stage = Stage::Hidden;
                }
                bytes.len()
            }
            Stage::Redis => self.redis(bytes, at, conversation, sink),
            Stage::Open | Stage::Hidden => bytes.len(),
        }
    }

    /// Keeps the first words of a turn.
    fn words(
        &mut self,
        held: Option<Held>,
        bytes: &[u8],
        at: usize,
        sink: &mut impl Sink,
    ) -> usize {
        let held = held.as_ref().map_or(&[][..], Held::as_slice);
        let all = held.len() + bytes.len();
        let length = all.min(MAX_KEPT_TURN_BYTES.saturating_sub(usize::from(self.kept)));
        if length > 0 {
            let (continues, cut) = (self.kept > 0, length < all);
            let (class, has_held) = (Class::Other, !held.is_empty());
            let run = Run { class, offset: at, held: has_held, length, continues, cut };
            if held.is_empty() {
                sink.pieces(run, bytes, slice::from_ref(&(0..length)));
            } else {
                sink.begin(run);
                sink.put(held);
                sink.put(bytes);
            }
            self.kept += length as u16;
        }
        bytes.len()
    }

    /// Goes on with messages of Redis. Where they are none, goes on with words.
    #[inline(never)]
    fn redis(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> usize {
        match self.redis.walk(bytes, at, conversation, sink) {
            Ok(()) => bytes.len(),
            Err(Other { from, kept }) => {
                self.stage = Stage::Words;
                self.kept = kept.unwrap_or(MAX_KEPT_TURN_BYTES) as u16;
                from
            }
        }
    }

    /// Goes on with a first line that came in parts.
    fn first_line(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> usize {
        let mut gathered = Gathered::NOTHING;
        let Some(end) = newline(bytes) else {
            self.head.line.push(bytes);
            self.head.first_line(&mut gathered, bytes, 0..bytes.len(), at, sink);
            self.head.keep_at_most(MAX_KEPT_UNFINISHED_BYTES, &gathered, bytes, at, sink);
            return bytes.len();
        };
        self.head.line.push(bytes.get(..end).unwrap_or(bytes));
        match first_line(self.head.line.view()) {
            Some(first @ (FirstLine::Request { .. } | FirstLine::Response { .. })) => {
                self.head.line.clear();
                self.head.facts.is(first);
                self.is_http1 = true;
                self.head.first_line(&mut gathered, bytes, 0..end + 1, at, sink);
                self.lines(&mut gathered, bytes, end + 1, at, conversation, sink)
            }
            _ => {
                self.lose(conversation);
                bytes.len()
            }
        }
    }

    /// Goes on with the lines of a head, and finds out what comes behind it.
    fn lines(
        &mut self,
        gathered: &mut Gathered,
        bytes: &[u8],
        from: usize,
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> usize {
        self.stage = Stage::Lines;
        let Some((end, behind)) = self.head.lines(gathered, bytes, from, at, conversation, sink)
        else {
            return bytes.len();
        };
        self.go_behind(behind, conversation);
        end
    }

    /// Goes on with what comes behind a head.
    fn go_behind(&mut self, behind: Behind, conversation: &Conversation) {
        // By values and not by a jump, which would be guessed wrong as often as not.
        let (stage, rest) = match behind {
            Behind::Head | Behind::Frames => (Stage::Beginning, 0),
            Behind::Body(length) => (Stage::Body, length),
            Behind::Unknown => (Stage::Open, 0),
        };
        self.expect();
        (self.stage, self.rest) = (stage, rest);
        if behind == Behind::Frames {
            self.begin_frames(false, conversation);
        }
    }

    fn begin_frames(&mut self, behind_preface: bool, conversation: &Conversation) {
        self.head.line.clear();
        self.stage = Stage::Frames;
        self.frames.begin(behind_preface);
        conversation.speaks_http2();
    }
}
