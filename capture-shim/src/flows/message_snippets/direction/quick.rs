//! Fast paths for the most frequent transfers: a head with or without its body, frames of HTTP/2,
//! the first bytes of a turn (what one side sends until the other side sends), a message of Redis,
//! and bytes that are left out. They keep the same bytes as the slow path.

use core::slice;

use super::super::body_framing::BodyFraming;
use super::super::conversation::FlowConversation;
use super::super::form::TransferForm;
use super::super::pieces::KeptRanges;
use super::super::redis;
use super::super::sink::{SnippetClass, SnippetRun, SnippetSink};
use super::super::usual::usual_head;
use super::{DirectionState, WalkStage};
use crate::tuning::MAX_KEPT_TURN_BYTES;

/// A bit for each stage in which a turn or a body of one end may be over once the other end has
/// sent something, so that a head may begin.
const UNTIL_TURN: u16 = 1 << WalkStage::Words as u8 | 1 << WalkStage::Open as u8;

/// A bit for each byte below 64 with which neither a text line begins, nor HTTP/2 frames, nor TLS
/// records.
const IS_NO_BEGINNING: u64 =
    !(1 | 1 << b'\r' | 1 << b'\n' | 1 << 0x14 | 1 << 0x15 | 1 << 0x16 | 1 << 0x17);

impl WalkStage {
    /// Whether a turn of the other end ends the stage.
    #[inline(always)]
    pub(super) fn is_until_turn(self) -> bool {
        UNTIL_TURN >> self as u8 & 1 != 0
    }
}

impl DirectionState {
    /// Walks over `bytes`, which begin at offset `at` of a transfer, and passes those that are kept
    /// to `sink`.
    pub(in super::super) fn walk_transfer(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            let quick = self.pass_fast(rest, at + from, conversation, sink);
            from += quick.unwrap_or_else(|| self.step_slow(rest, at + from, conversation, sink));
        }
    }

    /// Walks over the first of `bytes` if a fast path handles them. Returns the number of bytes
    /// walked over; `None` if no fast path does.
    #[inline(always)]
    fn pass_fast(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> Option<usize> {
        let mut pieces = KeptRanges::NONE;
        let (count, run) = match self.form_of(bytes, at, conversation) {
            TransferForm::Head => self.pass_head(bytes, at, conversation, &mut pieces)?,
            TransferForm::Words => (bytes.len(), self.pass_words(bytes, at)),
            TransferForm::Redis => (bytes.len(), self.pass_redis(bytes, at, conversation)?),
            TransferForm::LeftOut => return Some(self.pass_left_out(bytes)),
            TransferForm::Frames | TransferForm::Any => return None,
        };
        if run.length > 0 {
            match run.class {
                SnippetClass::Http1 => sink.put_ranges(run, bytes, pieces.ranges()),
                _ => sink.put_ranges(run, bytes, slice::from_ref(&(0..run.length))),
            }
        }
        Some(count)
    }

    /// Form of `bytes`, which begin at offset `at` of a transfer.
    #[inline(always)]
    pub(in super::super) fn form_of(
        &self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
    ) -> TransferForm {
        let [first, after @ ..] = bytes else { return TransferForm::Any };
        if self.stage == WalkStage::Beginning && self.head.line.length() == 0 {
            return self.form_at_start(*first, after, conversation);
        }
        if self.stage.is_until_turn() {
            return match self.stage {
                // A head may begin.
                _ if at == 0 && first.is_ascii_uppercase() => TransferForm::Any,
                WalkStage::Words => TransferForm::Words,
                _ => TransferForm::LeftOut,
            };
        }
        match self.stage {
            WalkStage::Body | WalkStage::Hidden => TransferForm::LeftOut,
            WalkStage::Redis if self.redis.is_between_messages() => TransferForm::Redis,
            WalkStage::Frames if self.frames.is_between_frames() => TransferForm::Frames,
            _ => TransferForm::Any,
        }
    }

    /// Form of the bytes `first` and `after` where a head or a turn may begin.
    #[inline(always)]
    fn form_at_start(
        &self,
        first: u8,
        after: &[u8],
        conversation: &FlowConversation,
    ) -> TransferForm {
        let are_words = match (first, after) {
            // A message type and a binary length, as in PostgreSQL, are not a line.
            (b'A'..=b'Z', [0, ..]) => true,
            (b'A'..=b'Z', _) => return TransferForm::Head,
            // A SETTINGS frame of HTTP/2, of the type 4, begins with a zero, too.
            (0, [_, _, kind, ..]) => *kind != 4,
            (..=63, _) => IS_NO_BEGINNING >> first & 1 != 0,
            _ => !first.is_ascii_lowercase(),
        };
        if !are_words || self.is_http1 {
            return TransferForm::Any;
        }
        match redis::begins_message(first, || conversation.is_redis()) {
            true => TransferForm::Redis,
            false => TransferForm::Words,
        }
    }

    /// Walks over bytes of [`TransferForm::Head`], which begin at offset `at` of a transfer: a
    /// usual head, and as much of its body as is present. Puts the kept ranges into `pieces`.
    /// Returns the number of bytes walked over and the run of kept bytes; `None` without any effect
    /// if they are not a usual head.
    #[inline(always)]
    pub(in super::super) fn pass_head(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        pieces: &mut KeptRanges,
    ) -> Option<(usize, SnippetRun)> {
        let (end, framing) = usual_head(bytes, pieces, conversation)?;
        self.is_http1 = true;
        let available = bytes.len() - end;
        let mut count = end;
        match framing {
            BodyFraming::Head => {}
            BodyFraming::Body(length) if length <= available as u64 => count += length as usize,
            BodyFraming::Body(length) => {
                (self.stage, self.remaining_body) = (WalkStage::Body, length - available as u64);
                count = bytes.len();
            }
            BodyFraming::Unknown => self.stage = WalkStage::Open,
            BodyFraming::Frames => self.begin_frames(false, conversation),
        }
        Some((count, transfer_run(SnippetClass::Http1, at, pieces.byte_count())))
    }

    /// Walks over bytes of [`TransferForm::Words`]. Returns the run of kept bytes.
    #[inline(always)]
    pub(in super::super) fn pass_words(&mut self, bytes: &[u8], at: usize) -> SnippetRun {
        let before = usize::from(self.kept_in_turn);
        let length = bytes.len().min(MAX_KEPT_TURN_BYTES.saturating_sub(before));
        (self.stage, self.kept_in_turn) = (WalkStage::Words, self.kept_in_turn + length as u16);
        let run = transfer_run(SnippetClass::Other, at, length);
        SnippetRun { continues: before > 0, cut: length < bytes.len(), ..run }
    }

    /// Walks over bytes of [`TransferForm::Redis`] that are one usual message. Returns the run of
    /// kept bytes; `None` without any effect if they are not.
    #[inline(always)]
    pub(in super::super) fn pass_redis(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
    ) -> Option<SnippetRun> {
        let length = redis::pass_message(bytes, conversation)?;
        if self.stage != WalkStage::Redis {
            self.stage = WalkStage::Redis;
            self.redis.clear();
        }
        Some(SnippetRun {
            cut: length < bytes.len(),
            ..transfer_run(SnippetClass::Other, at, length)
        })
    }

    /// Walks over the usual [`TransferForm::Frames`] at the beginning of a transfer, and calls
    /// `keep` for the run of each kept frame. Returns the number of bytes walked over.
    #[inline(always)]
    pub(in super::super) fn pass_frames(
        &mut self,
        bytes: &[u8],
        mut keep: impl FnMut(SnippetRun, &[u8]),
    ) -> usize {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..)
            && let Some(length) = self.frames.pass_whole_frame(rest, from, &mut keep)
        {
            from += length;
        }
        from
    }

    /// Advances past bytes of [`TransferForm::LeftOut`]. Returns the number of bytes.
    #[inline(always)]
    pub(in super::super) fn pass_left_out(&mut self, bytes: &[u8]) -> usize {
        match self.stage {
            WalkStage::Body => self.take_body(bytes.len()),
            _ => bytes.len(),
        }
    }
}

/// Run of bytes of one transfer, without buffered ones.
#[inline(always)]
fn transfer_run(class: SnippetClass, offset: usize, length: usize) -> SnippetRun {
    SnippetRun { class, offset, has_buffered: false, length, continues: false, cut: false }
}
