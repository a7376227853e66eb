//! Walks over the bytes of one direction of a flow: determines their protocol as far as possible,
//! where the next head (first line and header lines of a message) begins, and which bytes are kept.
//! In unknown protocols the first bytes of each turn are kept: a turn is what one side sends until
//! the other side sends.
//!
//! Nothing here reads the clock, the log or another flow, so it is tested on bytes alone.

use core::slice;

use super::body_framing::BodyFraming;
use super::conversation::FlowConversation;
use super::http1::{GatheredBytes, HttpHead};
use super::http2::FrameWalk;
use super::lines::{BufferedBytes, FirstLine, find_newline, is_head, parse_first_line};
use super::redis::{OtherForm, RedisMessage};
use super::sink::{SnippetClass, SnippetRun, SnippetSink};
use crate::tuning::{MAX_KEPT_TURN_BYTES, MAX_KEPT_UNFINISHED_BYTES};

// The tests of this crate compile this file as one of theirs, so the paths are explicit.
#[path = "direction/quick.rs"]
mod quick;
#[path = "direction/recognising.rs"]
mod recognising;

/// What the next byte of a direction belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum WalkStage {
    /// Where a head may begin.
    Beginning = 0,
    /// In the bytes of a turn of an unknown protocol.
    Words,
    /// In an incomplete first line.
    FirstLine,
    /// In the lines of a head.
    Lines,
    /// In a body of known length.
    Body,
    /// In a body of unknown length, up to the next turn or recognisable head.
    Open,
    /// In frames of HTTP/2.
    Frames,
    /// In messages of Redis.
    Redis,
    /// In bytes that are never kept: encrypted bytes, or frames after missed bytes.
    Hidden,
}

/// Position of a byte in a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct TransferPosition {
    /// Time of the transfer, in ticks.
    pub(super) ticks: u64,
    /// Number of bytes before the byte in the transfer.
    pub(super) offset: u32,
}

impl TransferPosition {
    /// The byte at `offset` of the transfer of the time `ticks`.
    pub(super) fn new(ticks: u64, offset: usize) -> TransferPosition {
        TransferPosition { ticks, offset: u32::try_from(offset).unwrap_or(u32::MAX) }
    }
}

/// State of one direction of a flow. All fields may be zeros. The fields that most messages use
/// come first, in one cache line.
#[repr(C, align(64))]
pub(super) struct DirectionState {
    stage: WalkStage,
    /// Whether there were HTTP/1 heads.
    is_http1: bool,
    /// Whether the first turn may have begun before the flow was followed.
    first_turn_began_before: bool,
    /// Whether bytes had passed before the flow was followed.
    missed_first_bytes: bool,
    /// Whether the bytes that are walked over are the plain text of an encrypted flow.
    is_plain: bool,
    /// Number of bytes of the current turn that were kept.
    kept_in_turn: u16,
    /// Begin and end of the latest call, in ticks.
    latest_call: [u64; 2],
    /// Number of bytes of the body that are still to come.
    remaining_body: u64,
    /// Start of a line or frame that arrives in parts.
    unfinished_start: TransferPosition,
    head: HttpHead,
    frames: FrameWalk,
    redis: RedisMessage,
}

impl DirectionState {
    /// Begins with the first byte of the direction, or with a later one if it `missed_bytes`.
    pub(super) fn begin_walk(&mut self, missed_bytes: bool) {
        self.stage = WalkStage::Beginning;
        (self.is_http1, self.kept_in_turn, self.latest_call) = (false, 0, [0; 2]);
        self.head.line.clear();
        (self.first_turn_began_before, self.missed_first_bytes) = (missed_bytes, missed_bytes);
        self.is_plain = false;
        if missed_bytes {
            // The bytes may be in the middle of anything.
            self.stage = WalkStage::Words;
            self.kept_in_turn = MAX_KEPT_TURN_BYTES as u16;
        }
    }

    /// Begins with the first plain text of an encrypted flow, unless plain text was walked over
    /// before.
    pub(super) fn become_plain(&mut self) {
        if !self.is_plain {
            self.begin_walk(self.missed_first_bytes);
            self.is_plain = true;
        }
    }

    /// Notes a call that lasted from `begin` to `end`, in ticks. The bytes walked over next are the
    /// call's; they begin a turn if `turns` is true.
    #[inline(always)]
    pub(super) fn note_call(
        &mut self,
        begin: u64,
        end: u64,
        turns: bool,
        conversation: &FlowConversation,
    ) {
        // Two concurrent threads: the order of their bytes is unknown. A call can have several
        // transfers.
        if begin < self.latest_call[1] && self.latest_call != [begin, end] {
            self.lose_track(conversation);
        }
        self.latest_call = [begin, end];
        if self.stage == WalkStage::Frames {
            self.frames.begin_transfer();
        } else if turns && !core::mem::take(&mut self.first_turn_began_before) {
            // Tested one after the other: a jump by a table is mispredicted more often.
            if self.stage.is_until_turn() {
                // The following bytes may be a head.
                self.expect_head();
            } else if self.stage == WalkStage::Redis {
                self.redis_turns(conversation);
            } else if self.stage == WalkStage::Beginning && !self.is_http1 {
                self.head.line.clear();
            }
        }
    }

    /// Begins the next turn of a direction that was in messages of Redis.
    #[inline(never)]
    fn redis_turns(&mut self, conversation: &FlowConversation) {
        // If both ends send at the same time, as with a long pipeline, a message may be incomplete:
        // then the message continues in this turn.
        if self.redis.is_between_messages() || !conversation.is_redis() {
            self.expect_head();
        }
    }

    /// Continues at a position where a head may begin.
    fn expect_head(&mut self) {
        self.stage = WalkStage::Beginning;
        self.kept_in_turn = 0;
        self.head.line.clear();
    }

    /// Continues in an unknown position, since bytes were missed or their order is unknown, until
    /// something recognisable begins.
    pub(super) fn lose_track(&mut self, conversation: &FlowConversation) {
        conversation.mark_unpaired();
        self.head.line.clear();
        self.kept_in_turn = MAX_KEPT_TURN_BYTES as u16;
        self.stage = match self.stage {
            WalkStage::Frames | WalkStage::Hidden => WalkStage::Hidden,
            _ if self.is_http1 => WalkStage::Open,
            _ => WalkStage::Words,
        };
    }

    /// Number of bytes of an incomplete line or frame header.
    fn unfinished_bytes(&self) -> usize {
        match self.stage {
            WalkStage::Frames => self.frames.unfinished_bytes(),
            _ => self.head.line.length(),
        }
    }

    /// Start of an incomplete line or frame, if there is one.
    pub(super) fn unfinished_position(&self) -> Option<TransferPosition> {
        (self.unfinished_bytes() > 0).then_some(self.unfinished_start)
    }

    /// Notes that a transfer was walked over up to its byte `end`. If an incomplete line or frame
    /// has begun in the transfer, remembers where. `place` returns the position of the transfer's
    /// byte at an offset.
    pub(super) fn note_unfinished_position(
        &mut self,
        end: usize,
        place: impl FnOnce(usize) -> TransferPosition,
    ) {
        let begun = self.unfinished_bytes();
        if 0 < begun && begun <= end {
            self.unfinished_start = place(end - begun);
        }
    }

    /// Advances past `bytes` bytes whose contents are not visible.
    pub(super) fn pass_bytes(&mut self, bytes: u64, conversation: &FlowConversation) {
        match self.stage {
            WalkStage::Body if bytes <= self.remaining_body => self.skip_body(bytes),
            WalkStage::Frames if self.frames.pass_bytes(bytes) => {}
            WalkStage::Open | WalkStage::Hidden => {}
            _ => self.lose_track(conversation),
        }
    }

    /// Advances past `bytes` bytes of a body.
    fn skip_body(&mut self, bytes: u64) {
        self.remaining_body -= bytes;
        if self.remaining_body == 0 {
            self.expect_head();
        }
    }

    /// Advances past up to `most` bytes of a body. Returns the number of bytes.
    #[inline(always)]
    fn take_body(&mut self, most: usize) -> usize {
        let length = self.remaining_body.min(most as u64);
        self.skip_body(length);
        length as usize
    }

    /// Walks over the first of `bytes`, which begin at offset `at` of a transfer, by the slow path,
    /// which handles all forms. Returns the number of bytes walked over.
    #[inline(never)]
    pub(super) fn step_slow(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> usize {
        match self.stage {
            WalkStage::Words | WalkStage::Open if at == 0 && is_head(bytes) => {
                self.expect_head();
                0
            }
            WalkStage::Beginning => self.recognise_start(bytes, at, conversation, sink),
            WalkStage::Words => self.keep_words(None, bytes, at, sink),
            WalkStage::FirstLine => self.first_line(bytes, at, conversation, sink),
            WalkStage::Lines => {
                let mut gathered = GatheredBytes::NOTHING;
                self.walk_lines(&mut gathered, bytes, 0, at, conversation, sink)
            }
            WalkStage::Body => self.take_body(bytes.len()),
            WalkStage::Frames => {
                if !self.frames.walk_frames(bytes, at, sink) {
                    self.stage = WalkStage::Hidden;
                }
                bytes.len()
            }
            WalkStage::Redis => self.walk_redis(bytes, at, conversation, sink),
            WalkStage::Open | WalkStage::Hidden => bytes.len(),
        }
    }

    /// Passes `bytes` of a turn, after the buffered bytes `held`, to `sink`, up to the limit of a
    /// turn. Returns the number of bytes walked over.
    fn keep_words(
        &mut self,
        held: Option<BufferedBytes>,
        bytes: &[u8],
        at: usize,
        sink: &mut impl SnippetSink,
    ) -> usize {
        let held = held.as_ref().map_or(&[][..], BufferedBytes::as_slice);
        let all = held.len() + bytes.len();
        let length = all.min(MAX_KEPT_TURN_BYTES.saturating_sub(usize::from(self.kept_in_turn)));
        if length > 0 {
            let (continues, cut) = (self.kept_in_turn > 0, length < all);
            let (class, has_held) = (SnippetClass::Other, !held.is_empty());
            let run =
                SnippetRun { class, offset: at, has_buffered: has_held, length, continues, cut };
            if held.is_empty() {
                sink.put_ranges(run, bytes, slice::from_ref(&(0..length)));
            } else {
                sink.begin_run(run);
                sink.put_bytes(held);
                sink.put_bytes(bytes);
            }
            self.kept_in_turn += length as u16;
        }
        bytes.len()
    }

    /// Continues with messages of Redis, or with a turn of unknown form if the bytes are no
    /// messages.
    #[inline(never)]
    fn walk_redis(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> usize {
        match self.redis.walk_messages(bytes, at, conversation, sink) {
            Ok(()) => bytes.len(),
            Err(OtherForm { from, kept }) => {
                self.stage = WalkStage::Words;
                self.kept_in_turn = kept.unwrap_or(MAX_KEPT_TURN_BYTES) as u16;
                from
            }
        }
    }

    /// Continues with a first line that arrives in parts. Returns the number of bytes walked over.
    fn first_line(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> usize {
        let mut gathered = GatheredBytes::NOTHING;
        let Some(end) = find_newline(bytes) else {
            self.head.line.push_bytes(bytes);
            self.head.first_line(&mut gathered, bytes, 0..bytes.len(), at, sink);
            self.head.keep_at_most(MAX_KEPT_UNFINISHED_BYTES, &gathered, bytes, at, sink);
            return bytes.len();
        };
        self.head.line.push_bytes(bytes.get(..end).unwrap_or(bytes));
        match parse_first_line(self.head.line.line_view()) {
            Some(first @ (FirstLine::Request { .. } | FirstLine::Response { .. })) => {
                self.head.line.clear();
                self.head.facts.note_first_line(first);
                self.is_http1 = true;
                self.head.first_line(&mut gathered, bytes, 0..end + 1, at, sink);
                self.walk_lines(&mut gathered, bytes, end + 1, at, conversation, sink)
            }
            _ => {
                self.lose_track(conversation);
                bytes.len()
            }
        }
    }

    /// Continues with the lines of a head in `bytes` from `from` on, and determines what follows
    /// the head. Returns the index after the last byte walked over.
    fn walk_lines(
        &mut self,
        gathered: &mut GatheredBytes,
        bytes: &[u8],
        from: usize,
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> usize {
        self.stage = WalkStage::Lines;
        let Some((end, framing)) =
            self.head.walk_lines(gathered, bytes, from, at, conversation, sink)
        else {
            return bytes.len();
        };
        self.begin_body(framing, conversation);
        end
    }

    /// Continues with the bytes that follow a head.
    fn begin_body(&mut self, framing: BodyFraming, conversation: &FlowConversation) {
        // By values and not by a jump, which would be mispredicted half of the time.
        let (stage, rest) = match framing {
            BodyFraming::Head | BodyFraming::Frames => (WalkStage::Beginning, 0),
            BodyFraming::Body(length) => (WalkStage::Body, length),
            BodyFraming::Unknown => (WalkStage::Open, 0),
        };
        self.expect_head();
        (self.stage, self.remaining_body) = (stage, rest);
        if framing == BodyFraming::Frames {
            self.begin_frames(false, conversation);
        }
    }

    /// Continues with frames of HTTP/2, after the first line of a client's preface if
    /// `after_preface`.
    fn begin_frames(&mut self, after_preface: bool, conversation: &FlowConversation) {
        self.head.line.clear();
        self.stage = WalkStage::Frames;
        self.frames.begin_frames(after_preface);
        conversation.note_http2();
    }
}
