//! What begins where a head may begin: one of HTTP/1, frames, messages of Redis, words, or what is
//! encrypted.

use super::super::conversation::Conversation;
use super::super::http1::Gathered;
use super::super::lines::{Beginning, FirstLine, Held, View, beginning, first_line, newline};
use super::super::opening::{Opening, opening, opening_in_parts};
use super::super::redis;
use super::super::sink::Sink;
use super::{Direction, Stage};
use crate::tuning::{MAX_FIRST_LINE_BYTES, MAX_KEPT_UNFINISHED_BYTES};

impl Direction {
    /// Finds out what begins with `bytes`, and goes on with it. Returns how many were taken.
    pub(super) fn recognise(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> usize {
        // What is neither text nor begins like anything that is known.
        let is_plain = bytes.first().is_some_and(|first| {
            !first.is_ascii_alphabetic() && !matches!(first, 0 | b'\r' | b'\n' | 0x14..=0x17)
        });
        if is_plain && !self.is_http1 && self.head.line.length() == 0 {
            let is_redis = |first: &u8| redis::begins(*first, || conversation.is_redis());
            if bytes.first().is_some_and(is_redis) {
                self.stage = Stage::Redis;
                self.redis.clear();
                return self.redis(bytes, at, conversation, sink);
            }
            self.stage = Stage::Words;
            return self.words(None, bytes, at, sink);
        }
        self.recognise_head(bytes, at, conversation, sink)
    }

    /// The same where it may be a head.
    fn recognise_head(
        &mut self,
        bytes: &[u8],
        at: usize,
        conversation: &Conversation,
        sink: &mut impl Sink,
    ) -> usize {
        let held = self.head.line.held();
        let has_held = !held.as_slice().is_empty();
        // Empty lines before a head belong to none.
        let blank = match has_held {
            true => 0,
            false => bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count(),
        };
        if blank > 0 && self.is_http1 {
            return blank;
        }
        let first = if has_held { held.as_slice().first() } else { bytes.first() };
        // Behind a proxy's answer TLS may begin.
        if !self.is_http1 || matches!(first, Some(0x14..=0x17)) {
            let is_http2 = conversation.is_http2();
            let opening = match has_held {
                true => opening_in_parts(held.as_slice(), bytes, is_http2),
                false => opening(bytes, is_http2),
            };
            match opening {
                Opening::Tls => {
                    conversation.encrypts();
                    self.stage = Stage::Hidden;
                    return bytes.len();
                }
                Opening::Http2 => {
                    self.begin_frames(false, conversation);
                    self.frames.walk(held.as_slice(), 0, sink);
                    self.frames.is_of_before();
                    return 0;
                }
                Opening::Proxy(length) if !has_held => {
                    (self.stage, self.rest) = (Stage::Body, length as u64);
                    return 0;
                }
                Opening::Maybe => return self.hold(bytes),
                Opening::Proxy(_) | Opening::Other => {}
            }
        }
        let text = bytes.get(blank..).unwrap_or(&[]);
        let searched = text.get(..MAX_FIRST_LINE_BYTES).unwrap_or(text);
        let begins = if has_held { held.as_slice().first() } else { text.first() };
        // Most of what is no text is not searched for a newline.
        let is_text = begins.is_some_and(u8::is_ascii_graphic);
        let Some(end) = is_text.then(|| newline(searched)).flatten() else {
            self.head.line.push(searched);
            match beginning(self.head.line.start()) {
                Beginning::Other => return self.other(held, bytes, at, sink),
                Beginning::Maybe => {}
                Beginning::Likely => {
                    self.stage = Stage::FirstLine;
                    let mut line = Gathered::NOTHING;
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
            self.head.line.push(line);
            first_line(self.head.line.view())
        } else {
            first_line(View::of(line))
        };
        let behind = blank + end + 1;
        match first {
            Some(FirstLine::Preface) => {
                self.begin_frames(true, conversation);
                behind
            }
            Some(FirstLine::Proxy) if !self.is_http1 => {
                self.head.line.clear();
                behind
            }
            Some(first @ (FirstLine::Request { .. } | FirstLine::Response { .. })) => {
                self.head.begin();
                self.head.facts.is(first);
                self.is_http1 = true;
                let mut line = Gathered::NOTHING;
                self.head.begin_first_line(&mut line, &held, true);
                self.head.first_line(&mut line, bytes, blank..behind, at, sink);
                self.lines(&mut line, bytes, behind, at, conversation, sink)
            }
            Some(FirstLine::Proxy) | None => self.other(held, bytes, at, sink),
        }
    }

    /// Holds bytes until more of them are known.
    fn hold(&mut self, bytes: &[u8]) -> usize {
        self.head.line.push(bytes);
        bytes.len()
    }

    /// Goes on with bytes that are no head, behind those that were held.
    fn other(&mut self, held: Held, bytes: &[u8], at: usize, sink: &mut impl Sink) -> usize {
        self.head.line.clear();
        if self.is_http1 {
            self.stage = Stage::Open;
            return bytes.len();
        }
        self.stage = Stage::Words;
        self.words(Some(held), bytes, at, sink)
    }
}
