//! Recognises what begins where a head may begin: an HTTP/1 head, frames, messages of Redis, a turn
//! of another protocol, or encrypted bytes.

use super::super::conversation::FlowConversation;
use super::super::http1::GatheredBytes;
use super::super::lines::{
    BufferedBytes, FirstLine, HeadLikelihood, LineView, classify_start, find_newline,
    parse_first_line,
};
use super::super::opening::{TurnOpening, classify_fragments, classify_opening};
use super::super::redis;
use super::super::sink::SnippetSink;
use super::{DirectionState, WalkStage};
use crate::tuning::{MAX_FIRST_LINE_BYTES, MAX_KEPT_UNFINISHED_BYTES};

impl DirectionState {
    /// Determines what begins with `bytes`, which begin at offset `at` of a transfer, and walks
    /// over its first part. Returns the number of bytes walked over.
    pub(super) fn recognise_start(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> usize {
        // The bytes are neither text nor the beginning of TLS or HTTP/2.
        let is_other = bytes.first().is_some_and(|first| {
            !first.is_ascii_alphabetic() && !matches!(first, 0 | b'\r' | b'\n' | 0x14..=0x17)
        });
        if is_other && !self.is_http1 && self.head.line.length() == 0 {
            let is_redis = |first: &u8| redis::begins_message(*first, || conversation.is_redis());
            if bytes.first().is_some_and(is_redis) {
                self.stage = WalkStage::Redis;
                self.redis.clear();
                return self.walk_redis(bytes, at, conversation, sink);
            }
            self.stage = WalkStage::Words;
            return self.keep_words(None, bytes, at, sink);
        }
        self.recognise_head(bytes, at, conversation, sink)
    }

    /// Determines what begins with `bytes` if a head may begin there, and walks over its first
    /// part. Returns the number of bytes walked over.
    fn recognise_head(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &FlowConversation,
        sink: &mut impl SnippetSink,
    ) -> usize {
        let held = self.head.line.buffered_bytes();
        let has_held = !held.as_slice().is_empty();
        // Empty lines before a head do not belong to it.
        let blank = match has_held {
            true => 0,
            false => bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count(),
        };
        if blank > 0 && self.is_http1 {
            return blank;
        }
        let first = if has_held { held.as_slice().first() } else { bytes.first() };
        // TLS may begin after a proxy's response.
        if !self.is_http1 || matches!(first, Some(0x14..=0x17)) {
            let is_http2 = conversation.is_http2();
            let opening = match has_held {
                true => classify_fragments(held.as_slice(), bytes, is_http2),
                false => classify_opening(bytes, is_http2),
            };
            match opening {
                TurnOpening::Tls => {
                    conversation.note_encryption();
                    self.stage = WalkStage::Hidden;
                    return bytes.len();
                }
                TurnOpening::Http2 => {
                    self.begin_frames(false, conversation);
                    self.frames.walk_frames(held.as_slice(), 0, sink);
                    self.frames.mark_header_buffered();
                    return 0;
                }
                TurnOpening::Proxy(length) if !has_held => {
                    (self.stage, self.remaining_body) = (WalkStage::Body, length as u64);
                    return 0;
                }
                TurnOpening::Maybe => return self.buffer_bytes(bytes),
                TurnOpening::Proxy(_) | TurnOpening::Other => {}
            }
        }
        let text = bytes.get(blank..).unwrap_or(&[]);
        let searched = text.get(..MAX_FIRST_LINE_BYTES).unwrap_or(text);
        let line_start = if has_held { held.as_slice().first() } else { text.first() };
        // Most binary data is not searched for a newline, as it does not begin like text.
        let is_text = line_start.is_some_and(u8::is_ascii_graphic);
        let Some(end) = is_text.then(|| find_newline(searched)).flatten() else {
            self.head.line.push_bytes(searched);
            match classify_start(self.head.line.start()) {
                HeadLikelihood::Other => return self.continue_as_words(held, bytes, at, sink),
                HeadLikelihood::Maybe => {}
                HeadLikelihood::Likely => {
                    self.stage = WalkStage::FirstLine;
                    let mut line = GatheredBytes::NOTHING;
                    self.head.begin_in_line();
                    self.head.begin_first_line(&mut line, &held, false);
                    let all = blank..blank + searched.len();
                    self.head.first_line(&mut line, bytes, all, at, sink);
                    let most = MAX_KEPT_UNFINISHED_BYTES;
                    self.head.keep_at_most(most, &line, bytes, at, sink);
                }
            }
            return blank + searched.len();
        };
        let line = text.get(..end).unwrap_or(text);
        let first = if has_held {
            self.head.line.push_bytes(line);
            parse_first_line(self.head.line.line_view())
        } else {
            parse_first_line(LineView::from_whole_line(line))
        };
        let after = blank + end + 1;
        match first {
            Some(FirstLine::Preface) => {
                self.begin_frames(true, conversation);
                after
            }
            Some(FirstLine::Proxy) if !self.is_http1 => {
                self.head.line.clear();
                after
            }
            Some(first @ (FirstLine::Request { .. } | FirstLine::Response { .. })) => {
                self.head.begin_head();
                self.head.facts.note_first_line(first);
                self.is_http1 = true;
                let mut line = GatheredBytes::NOTHING;
                self.head.begin_first_line(&mut line, &held, true);
                self.head.first_line(&mut line, bytes, blank..after, at, sink);
                self.walk_lines(&mut line, bytes, after, at, conversation, sink)
            }
            Some(FirstLine::Proxy) | None => self.continue_as_words(held, bytes, at, sink),
        }
    }

    /// Buffers bytes until more bytes show what they are. Returns their number.
    fn buffer_bytes(&mut self, bytes: &[u8]) -> usize {
        self.head.line.push_bytes(bytes);
        bytes.len()
    }

    /// Continues with bytes that are not a head, after the buffered bytes `held`. Returns the
    /// number of bytes walked over.
    fn continue_as_words(
        &mut self,
        held: BufferedBytes,
        bytes: &[u8],
        at: usize,
        sink: &mut impl SnippetSink,
    ) -> usize {
        self.head.line.clear();
        if self.is_http1 {
            self.stage = WalkStage::Open;
            return bytes.len();
        }
        self.stage = WalkStage::Words;
        self.keep_words(Some(held), bytes, at, sink)
    }
}
