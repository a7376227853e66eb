//! HTTP/2 frames (RFC 9113, 4 and 6): header blocks are assembled, decoded, and passed to the
//! streams.
//!
//! Of DATA frames that end a stream, snippets contain only the header; other DATA frames are
//! missing.

use super::hpack::HpackDecoder;
use super::streams::{HeaderFields, Http2Streams};
use crate::flow_snippet::{FlowSpeaker, LogPosition};
use crate::operation::OperationSink;
use crate::streams::{MessageParser, ParseStep, UnparsedBytes};
use crate::tuning::{HTTP2_BLOCK_BYTES, HTTP2_FRAME_BYTES};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of a frame header, in bytes.
const HEAD: usize = 9;

/// Frame types.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// Frame flags.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

/// Parser of one connection.
#[derive(Debug, Default)]
pub(super) struct Http2 {
    client: HeaderDirection,
    server: HeaderDirection,
    streams: Http2Streams,
}

/// Header blocks of one direction.
#[derive(Debug, Default)]
struct HeaderDirection {
    decoder: HpackDecoder,
    /// Whether the first frame has arrived.
    has_begun: bool,
    block: Option<HeaderBlock>,
}

/// A header block that is not complete yet.
#[derive(Debug)]
struct HeaderBlock {
    stream: u32,
    place: LogPosition,
    /// The promised stream, in a push promise.
    promised: Option<u32>,
    end_stream: bool,
    bytes: Vec<u8>,
    /// Whether some bytes of the block are missing.
    is_partial: bool,
}

impl Http2 {
    fn direction_of(&mut self, speaker: FlowSpeaker) -> &mut HeaderDirection {
        match speaker {
            FlowSpeaker::Client => &mut self.client,
            FlowSpeaker::Server => &mut self.server,
        }
    }

    /// Decodes a block that is complete, or whose remaining bytes are missing.
    fn decode_block(
        &mut self,
        speaker: FlowSpeaker,
        block: &HeaderBlock,
        out: &mut OperationSink<'_>,
    ) {
        let mut fields = HeaderFields::default();
        fields.is_partial = block.is_partial;
        let decoder = &mut self.direction_of(speaker).decoder;
        // The fields before a broken one are valid.
        let _ = decoder.decode_block(&block.bytes, |field, value| fields.add_field(field, value));
        if block.is_partial {
            decoder.forget_table();
        }
        match block.promised {
            Some(promised) => self.streams.promise_stream(promised, block.place, &fields, out),
            None => {
                self.streams.process_headers(speaker, block.stream, block.place, &fields, out);
                if block.end_stream {
                    self.streams.end_stream(speaker, block.stream, out);
                }
            }
        }
    }

    fn add_to_block(
        &mut self,
        speaker: FlowSpeaker,
        bytes: &[u8],
        ends: bool,
        out: &mut OperationSink<'_>,
    ) {
        let direction = self.direction_of(speaker);
        let Some(block) = &mut direction.block else { return };
        let room = HTTP2_BLOCK_BYTES.saturating_sub(block.bytes.len()).min(bytes.len());
        block.is_partial |= room < bytes.len();
        block.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
        if ends && let Some(block) = direction.block.take() {
            self.decode_block(speaker, &block, out);
        }
    }

    /// Begins a block with a HEADERS or PUSH_PROMISE frame; `None` if the frame is invalid.
    fn begin_block(
        &mut self,
        frame: &Http2Frame<'_>,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> Option<()> {
        let mut fragment = frame.payload;
        let mut padding = 0;
        if frame.flags & PADDED != 0 {
            let (length, rest) = fragment.split_first()?;
            (padding, fragment) = (usize::from(*length), rest);
        }
        let mut promised = None;
        if frame.kind == PUSH_PROMISE {
            promised = Some(stream_number(fragment)? & 0x7fff_ffff);
            fragment = fragment.get(4..)?;
        } else if frame.flags & PRIORITY != 0 {
            fragment = fragment.get(5..)?;
        }
        // In a truncated frame, the padding is the first part to be missing.
        let missing = frame.length - frame.payload.len();
        let padded = padding.saturating_sub(missing);
        fragment = fragment.get(..fragment.len().checked_sub(padded)?)?;
        self.direction_of(unparsed.speaker).block = Some(HeaderBlock {
            stream: frame.stream,
            place: unparsed.position_at(0),
            promised,
            end_stream: frame.kind == HEADERS && frame.flags & END_STREAM != 0,
            bytes: Vec::new(),
            is_partial: missing > padding,
        });
        let ends = frame.flags & END_HEADERS != 0 || missing > 0;
        self.add_to_block(unparsed.speaker, fragment, ends, out);
        Some(())
    }
}

/// A frame; its end may be missing.
struct Http2Frame<'a> {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

impl Http2Frame<'_> {
    fn read_frame(bytes: &[u8]) -> Option<Http2Frame<'_>> {
        let [high, middle, low, kind, flags, rest @ ..] = bytes else { return None };
        let stream = stream_number(rest)? & 0x7fff_ffff;
        let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        let after = rest.get(4..).unwrap_or_default();
        let payload = after.get(..length.min(after.len())).unwrap_or_default();
        Some(Http2Frame { length, kind: *kind, flags: *flags, stream, payload })
    }

    /// Whether RFC 9113 allows a frame of this type with this stream and length.
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

fn stream_number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

impl MessageParser for Http2 {
    const NAME: &'static str = "http2";
    const MAX_EXAMINED_BYTES: usize = HTTP2_FRAME_BYTES;
    const SNIPPETS_BEGIN_MESSAGES: bool = true;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let speaker = unparsed.speaker;
        if !self.direction_of(speaker).has_begun && unparsed.bytes.starts_with(b"PRI") {
            let available = unparsed.bytes.len().min(PREFACE.len());
            return match unparsed.bytes.get(..available) == PREFACE.get(..available) {
                false => ParseStep::Lost,
                true if available < PREFACE.len() => unparsed.wait_or_give_up(),
                true => ParseStep::Skip(PREFACE.len() as u64),
            };
        }
        let Some(frame) = Http2Frame::read_frame(unparsed.bytes) else {
            return unparsed.wait_or_give_up();
        };
        if !frame.is_valid() {
            self.on_gap(speaker, out);
            return ParseStep::Lost;
        }
        // Bodies are not captured, whatever their length.
        let length = if frame.kind == DATA { HEAD } else { HEAD + frame.length };
        if unparsed.bytes.len() < length && !unparsed.ended {
            return ParseStep::More;
        }
        let direction = self.direction_of(speaker);
        if !direction.has_begun && frame.kind != SETTINGS {
            // SETTINGS frames come first (3.4), so header blocks before them were not seen.
            direction.decoder.forget_table();
        }
        direction.has_begun = true;
        // No other frame may come between the frames of a block (6.10).
        if frame.kind != CONTINUATION && direction.block.is_some() {
            self.on_gap(speaker, out);
        }
        match frame.kind {
            DATA if frame.flags & END_STREAM != 0 => {
                self.streams.end_stream(speaker, frame.stream, out)
            }
            HEADERS | PUSH_PROMISE => {
                let begun = self.begin_block(&frame, unparsed, out);
                begun.unwrap_or_else(|| self.on_gap(speaker, out));
            }
            CONTINUATION => {
                let block = self.direction_of(speaker).block.as_mut();
                match block.filter(|block| block.stream == frame.stream) {
                    Some(block) => {
                        let missing = frame.payload.len() < frame.length;
                        block.is_partial |= missing;
                        let ends = frame.flags & END_HEADERS != 0 || missing;
                        self.add_to_block(speaker, frame.payload, ends, out);
                    }
                    None => self.direction_of(speaker).decoder.forget_table(),
                }
            }
            RST_STREAM => {
                if let Some(code) = stream_number(frame.payload) {
                    self.streams.reset_stream(
                        speaker,
                        frame.stream,
                        unparsed.position_at(0),
                        code,
                        out,
                    );
                }
            }
            GOAWAY => {
                if let Some(code) = frame.payload.get(4..).and_then(stream_number) {
                    self.streams.go_away(unparsed.position_at(0), code, out);
                }
            }
            _ => {}
        }
        ParseStep::Skip(length as u64)
    }

    /// Forgets the dynamic table and decodes an incomplete block as far as it was received.
    fn on_gap(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        if let Some(mut block) = self.direction_of(speaker).block.take() {
            block.is_partial = true;
            self.decode_block(speaker, &block, out);
        }
        self.direction_of(speaker).decoder.forget_table();
    }

    fn finish_messages(&mut self, out: &mut OperationSink<'_>) {
        for speaker in [FlowSpeaker::Client, FlowSpeaker::Server] {
            self.on_gap(speaker, &mut out.for_speaker(speaker));
        }
        self.streams.finish_streams(out);
    }
}
