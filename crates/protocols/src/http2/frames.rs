//! Frames of HTTP/2 (RFC 9113, 4 and 6): blocks of headers are put together, decoded, and given to
//! the streams.
//!
//! Of DATA frames that end a stream there is the head only; other DATA frames are not there.

use super::hpack::Decoder;
use super::streams::{Fields, Streams};
use crate::operation::Out;
use crate::piece::{Place, Speaker};
use crate::streams::{Heard, Messages, Step};
use crate::tuning::{HTTP2_BLOCK_BYTES, HTTP2_FRAME_BYTES};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of a frame's head.
const HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

/// One connection.
#[derive(Debug, Default)]
pub(super) struct Http2 {
    client: Direction,
    server: Direction,
    streams: Streams,
}

/// What one side says.
#[derive(Debug, Default)]
struct Direction {
    decoder: Decoder,
    /// The first frame has come.
    begun: bool,
    block: Option<Block>,
}

/// A block of headers that is not whole.
#[derive(Debug)]
struct Block {
    stream: u32,
    place: Place,
    /// The stream that it promises, where it does.
    promised: Option<u32>,
    end_stream: bool,
    bytes: Vec<u8>,
    /// Bytes of it are missing.
    is_partial: bool,
}

impl Http2 {
    fn direction(&mut self, speaker: Speaker) -> &mut Direction {
        match speaker {
            Speaker::Client => &mut self.client,
            Speaker::Server => &mut self.server,
        }
    }

    /// A block is whole, or as whole as it will be.
    fn decode(&mut self, speaker: Speaker, block: &Block, out: &mut Out<'_>) {
        let mut fields = Fields::default();
        fields.is_partial = block.is_partial;
        let decoder = &mut self.direction(speaker).decoder;
        // What is in front of a broken field was said.
        let _ = decoder.decode(&block.bytes, |field, value| fields.take(field, value));
        if block.is_partial {
            decoder.forget();
        }
        match block.promised {
            Some(promised) => self.streams.promise(promised, block.place, &fields, out),
            None => {
                self.streams.headers(speaker, block.stream, block.place, &fields, out);
                if block.end_stream {
                    self.streams.end(speaker, block.stream, out);
                }
            }
        }
    }

    fn add(&mut self, speaker: Speaker, bytes: &[u8], ends: bool, out: &mut Out<'_>) {
        let direction = self.direction(speaker);
        let Some(block) = &mut direction.block else { return };
        let room = HTTP2_BLOCK_BYTES.saturating_sub(block.bytes.len()).min(bytes.len());
        block.is_partial |= room < bytes.len();
        block.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
        if ends && let Some(block) = direction.block.take() {
            self.decode(speaker, &block, out);
        }
    }

    /// A HEADERS or PUSH_PROMISE frame; `None` where it breaks the rules.
    fn begin_block(
        &mut self,
        frame: &Frame<'_>,
        heard: &Heard<'_>,
        out: &mut Out<'_>,
    ) -> Option<()> {
        let mut fragment = frame.payload;
        let mut padding = 0;
        if frame.flags & PADDED != 0 {
            let (length, rest) = fragment.split_first()?;
            (padding, fragment) = (usize::from(*length), rest);
        }
        let mut promised = None;
        if frame.kind == PUSH_PROMISE {
            promised = Some(number(fragment)? & 0x7fff_ffff);
            fragment = fragment.get(4..)?;
        } else if frame.flags & PRIORITY != 0 {
            fragment = fragment.get(5..)?;
        }
        // Of a frame that is cut off, the padding is what is missing first.
        let missing = frame.length - frame.payload.len();
        let padded = padding.saturating_sub(missing);
        fragment = fragment.get(..fragment.len().checked_sub(padded)?)?;
        self.direction(heard.speaker).block = Some(Block {
            stream: frame.stream,
            place: heard.place(0),
            promised,
            end_stream: frame.kind == HEADERS && frame.flags & END_STREAM != 0,
            bytes: Vec::new(),
            is_partial: missing > padding,
        });
        let ends = frame.flags & END_HEADERS != 0 || missing > 0;
        self.add(heard.speaker, fragment, ends, out);
        Some(())
    }
}

/// A frame, whose end may be missing.
struct Frame<'a> {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

impl Frame<'_> {
    fn read(bytes: &[u8]) -> Option<Frame<'_>> {
        let [high, middle, low, kind, flags, rest @ ..] = bytes else { return None };
        let stream = number(rest)? & 0x7fff_ffff;
        let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        let behind = rest.get(4..).unwrap_or_default();
        let payload = behind.get(..length.min(behind.len())).unwrap_or_default();
        Some(Frame { length, kind: *kind, flags: *flags, stream, payload })
    }

    /// Whether the RFC allows such a frame.
    fn is_valid(&self) -> bool {
        let on_stream = self.stream != 0;
        match self.kind {
            DATA | HEADERS | CONTINUATION => on_stream,
            RST_STREAM => on_stream && self.length == 4,
            SETTINGS => !on_stream && self.length.is_multiple_of(6),
            PUSH_PROMISE => on_stream && self.length >= 4,
            PING => !on_stream && self.length == 8,
            GOAWAY => !on_stream && self.length >= 8,
            _ => true,
        }
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

impl Messages for Http2 {
    const NAME: &'static str = "http2";
    const BOUND: usize = HTTP2_FRAME_BYTES;
    const PIECES_BEGIN: bool = true;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let speaker = heard.speaker;
        if !self.direction(speaker).begun && heard.bytes.starts_with(b"PRI") {
            let there = heard.bytes.len().min(PREFACE.len());
            return match heard.bytes.get(..there) == PREFACE.get(..there) {
                false => Step::Lost,
                true if there < PREFACE.len() => heard.more(),
                true => Step::Skip(PREFACE.len() as u64),
            };
        }
        let Some(frame) = Frame::read(heard.bytes) else { return heard.more() };
        if !frame.is_valid() {
            self.gap(speaker, out);
            return Step::Lost;
        }
        // Bodies are not there, whatever their length.
        let length = if frame.kind == DATA { HEAD } else { HEAD + frame.length };
        if heard.bytes.len() < length && !heard.ended {
            return Step::More;
        }
        let direction = self.direction(speaker);
        if !direction.begun && frame.kind != SETTINGS {
            // SETTINGS come first (3.4), so what was before these is missing.
            direction.decoder.forget();
        }
        direction.begun = true;
        // Nothing may come between the frames of a block (6.10).
        if frame.kind != CONTINUATION && direction.block.is_some() {
            self.gap(speaker, out);
        }
        match frame.kind {
            DATA if frame.flags & END_STREAM != 0 => self.streams.end(speaker, frame.stream, out),
            HEADERS | PUSH_PROMISE => {
                let begun = self.begin_block(&frame, heard, out);
                begun.unwrap_or_else(|| self.gap(speaker, out));
            }
            CONTINUATION => {
                let block = self.direction(speaker).block.as_mut();
                match block.filter(|block| block.stream == frame.stream) {
                    Some(block) => {
                        let missing = frame.payload.len() < frame.length;
                        block.is_partial |= missing;
                        let ends = frame.flags & END_HEADERS != 0 || missing;
                        self.add(speaker, frame.payload, ends, out);
                    }
                    None => self.direction(speaker).decoder.forget(),
                }
            }
            RST_STREAM => {
                if let Some(code) = number(frame.payload) {
                    self.streams.reset(speaker, frame.stream, heard.place(0), code, out);
                }
            }
            GOAWAY => {
                if let Some(code) = frame.payload.get(4..).and_then(number) {
                    self.streams.go_away(heard.place(0), code, out);
                }
            }
            _ => {}
        }
        Step::Skip(length as u64)
    }

    /// The table is not known any more, and a block that is not whole is what it is.
    fn gap(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        if let Some(mut block) = self.direction(speaker).block.take() {
            block.is_partial = true;
            self.decode(speaker, &block, out);
        }
        self.direction(speaker).decoder.forget();
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        for speaker in [Speaker::Client, Speaker::Server] {
            self.gap(speaker, &mut out.of(speaker));
        }
        self.streams.finish(out);
    }
}
