//! Quick ways through what most transfers are: a head with or without its body, frames of HTTP/2,
//! the words of a turn, a message of Redis, and what is left out. What is kept is what the other
//! ways keep.

use core::slice;

use super::super::behind::Behind;
use super::super::conversation::Conversation;
use super::super::form::Form;
use super::super::pieces::Pieces;
use super::super::redis;
use super::super::sink::{Class, Run, Sink};
use super::super::usual::usual_head;
use super::{Direction, Stage};
use crate::tuning::MAX_KEPT_TURN_BYTES;

/// A bit for each stage in which one end's words or a body may end where the other end has said
/// something, and a head may begin.
const UNTIL_TURN: u16 = 1 << Stage::Words as u8 | 1 << Stage::Open as u8;

/// A bit for each byte below 64 with which neither text begins, nor frames, nor records of TLS.
const IS_NO_BEGINNING: u64 =
    !(1 | 1 << b'\r' | 1 << b'\n' | 1 << 0x14 | 1 << 0x15 | 1 << 0x16 | 1 << 0x17);

impl Stage {
    /// Whether a turn of the other end ends it.
    #[inline(always)]
    pub(super) fn is_until_turn(self) -> bool {
        UNTIL_TURN >> self as u8 & 1 != 0
    }
}

impl Direction {
    /// Walks over the first bytes of a transfer, or over those behind them, which lie at `at` of
    /// it.
    pub(in super::super) fn walk(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            let quick = self.pass_quickly(rest, at + from, conversation, sink);
            from += quick.unwrap_or_else(|| self.step(rest, at + from, conversation, sink));
        }
    }

    /// Walks over the first of these bytes where a quick way knows them. Returns how many that
    /// were.
    #[inline(always)]
    fn pass_quickly(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> Option<usize> {
        let mut pieces = Pieces::NONE;
        let (count, run) = match self.form(bytes, at, conversation) {
            Form::Head => self.pass_head(bytes, at, conversation, &mut pieces)?,
            Form::Words => (bytes.len(), self.pass_words(bytes, at)),
            Form::Redis => (bytes.len(), self.pass_redis(bytes, at, conversation)?),
            Form::LeftOut => return Some(self.leave_out(bytes)),
            Form::Frames | Form::Any => return None,
        };
        if run.length > 0 {
            match run.class {
                Class::Http1 => sink.pieces(run, bytes, pieces.ranges()),
                _ => sink.pieces(run, bytes, slice::from_ref(&(0..run.length))),
            }
        }
        Some(count)
    }

    /// Form of `bytes`, which lie at `at` of a transfer.
    #[inline(always)]
    pub(in super::super) fn form(
        &self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
    ) -> Form {
        let [first, behind @ ..] = bytes else { return Form::Any };
        if self.stage == Stage::Beginning && self.head.line.length() == 0 {
            return self.form_of_beginning(*first, behind, conversation);
        }
        if self.stage.is_until_turn() {
            return match self.stage {
                // A head may begin.
                _ if at == 0 && first.is_ascii_uppercase() => Form::Any,
                Stage::Words => Form::Words,
                _ => Form::LeftOut,
            };
        }
        match self.stage {
            Stage::Body | Stage::Hidden => Form::LeftOut,
            Stage::Redis if self.redis.is_between() => Form::Redis,
            Stage::Frames if self.frames.is_between() => Form::Frames,
            _ => Form::Any,
        }
    }

    /// The same where anything may begin.
    #[inline(always)]
    fn form_of_beginning(&self, first: u8, behind: &[u8], conversation: &Conversation) -> Form {
        let are_words = match (first, behind) {
            // A type and a length, as PostgreSQL has them, and no line.
            (b'A'..=b'Z', [0, ..]) => true,
            (b'A'..=b'Z', _) => return Form::Head,
            // No settings of HTTP/2.
            (0, [_, _, kind, ..]) => *kind != 4,
            (..=63, _) => IS_NO_BEGINNING >> first & 1 != 0,
            _ => !first.is_ascii_lowercase(),
        };
        if !are_words || self.is_http1 {
            return Form::Any;
        }
        match redis::begins(first, || conversation.is_redis()) {
            true => Form::Redis,
            false => Form::Words,
        }
    }

    /// Passes bytes of [`Form::Head`], which lie at `at` of a transfer: a usual head, and what
    /// there is of its body. Puts what is kept into `pieces`, and returns the number of bytes and
    /// the run of those that are kept; `None` where it is no usual head, and nothing is done.
    #[inline(always)]
    pub(in super::super) fn pass_head(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        pieces: &mut Pieces,
    ) -> Option<(usize, Run)> {
        let (end, behind) = usual_head(bytes, pieces, conversation)?;
        self.is_http1 = true;
        let there = bytes.len() - end;
        let mut count = end;
        match behind {
            Behind::Head => {}
            Behind::Body(length) if length <= there as u64 => count += length as usize,
            Behind::Body(length) => {
                (self.stage, self.rest) = (Stage::Body, length - there as u64);
                count = bytes.len();
            }
            Behind::Unknown => self.stage = Stage::Open,
            Behind::Frames => self.begin_frames(false, conversation),
        }
        Some((count, run(Class::Http1, at, pieces.length())))
    }

    /// Passes bytes of [`Form::Words`]. Returns the run of those that are kept.
    #[inline(always)]
    pub(in super::super) fn pass_words(&mut self, bytes: &[u8], at: usize) -> Run {
        let before = usize::from(self.kept);
        let length = bytes.len().min(MAX_KEPT_TURN_BYTES.saturating_sub(before));
        (self.stage, self.kept) = (Stage::Words, self.kept + length as u16);
        let run = run(Class::Other, at, length);
        Run { continues: before > 0, cut: length < bytes.len(), ..run }
    }

    /// Passes bytes of [`Form::Redis`] that are one usual message. Returns the run of those that
    /// are kept; `None` where they are not, and nothing is done.
    #[inline(always)]
    pub(in super::super) fn pass_redis(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
    ) -> Option<Run> {
        let length = redis::one(bytes, conversation)?;
        if self.stage != Stage::Redis {
            self.stage = Stage::Redis;
            self.redis.clear();
        }
        Some(Run { cut: length < bytes.len(), ..run(Class::Other, at, length) })
    }

    /// Passes the usual ones of [`Form::Frames`], which begin a transfer, and calls `keep` for the
    /// run of each that is kept. Returns the number of bytes.
    #[inline(always)]
    pub(in super::super) fn pass_frames(
        &mut self,
        bytes: &[u8],
        mut keep: impl FnMut(Run, &[u8]),
    ) -> usize {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..)
            && let Some(length) = self.frames.pass_whole(rest, from, &mut keep)
        {
            from += length;
        }
        from
    }

    /// Passes bytes of [`Form::LeftOut`], and returns how many that were.
    #[inline(always)]
    pub(in super::super) fn leave_out(&mut self, bytes: &[u8]) -> usize {
        match self.stage {
            Stage::Body => self.body(bytes.len()),
            _ => bytes.len(),
        }
    }
}

/// Run of bytes that came with one transfer.
#[inline(always)]
fn run(class: Class, offset: usize, length: usize) -> Run {
    Run { class, offset, held: false, length, continues: false, cut: false }
}
