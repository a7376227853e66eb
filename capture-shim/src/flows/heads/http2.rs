//! Frames of HTTP/2: they are walked over, and those that name messages are kept.

use super::hpack::Blocks;
use super::sink::{Class, Run, Sink};
use crate::tuning::MAX_KEPT_FRAME_BYTES;

/// Number of bytes at the beginning of a frame.
const HEAD: usize = 9;

/// What the client says behind its first line, before its first frame.
const PREFACE_REST: &[u8] = b"\r\nSM\r\n\r\n";

/// Bytes of a frame behind its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Payload {
    /// Left out.
    Skipped = 0,
    /// Kept.
    Kept,
    /// Piece of a header block, which is kept but for values.
    Block,
}

/// Walk over the frames of one direction. All of it may be zeros.
#[repr(C)]
pub(super) struct Frames {
    blocks: Blocks,
    head: [u8; HEAD],
    /// Number of bytes of the head so far.
    known: u8,
    payload: Payload,
    /// Whether the first byte of the payload tells how many of the last are padding.
    is_padded: bool,
    /// Number of bytes before the piece of a header block that are still to come, without the one
    /// that tells of padding.
    before: u8,
    /// Number of bytes of padding behind it.
    padding: u8,
    /// Number of bytes of the client's beginning that are still to come.
    preface: u8,
    /// Offset in the transfer of the frame's first byte.
    offset: u32,
    /// Whether the frame began in an earlier transfer.
    is_held: bool,
    /// Number of bytes of the payload that are still to come.
    rest: u32,
    /// Number of bytes of the payload that were kept.
    kept: u32,
}

impl Frames {
    /// Begins with a first frame; behind a client's first line where `behind_preface`.
    pub(super) fn begin(&mut self, behind_preface: bool) {
        self.blocks.clear();
        (self.known, self.rest) = (0, 0);
        self.preface = if behind_preface { PREFACE_REST.len() as u8 } else { 0 };
    }

    /// Notes that what follows is of another transfer than what was before.
    pub(super) fn transfer_begins(&mut self) {
        self.offset = 0;
        self.is_held = self.begun() > 0;
    }

    /// Notes that the frame's head that has only begun is from bytes that were held.
    pub(super) fn is_of_before(&mut self) {
        self.is_held = self.begun() > 0;
    }

    /// Number of bytes of a frame's head that has only begun.
    pub(super) fn begun(&self) -> usize {
        usize::from(self.known) % HEAD
    }

    /// Passes `bytes` bytes that nobody sees. False where that is no longer known where frames
    /// begin.
    pub(super) fn pass(&mut self, bytes: u64) -> bool {
        let is_within = usize::from(self.known) == HEAD && self.payload == Payload::Skipped;
        if !is_within || bytes > u64::from(self.rest) {
            return false;
        }
        self.rest -= bytes as u32;
        if self.rest == 0 {
            self.known = 0;
        }
        true
    }

    /// Walks over `bytes`, which lie at `at` of the transfer. False where they are no frames.
    pub(super) fn walk(&mut self, bytes: &[u8], at: usize, sink: &mut impl Sink) -> bool {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            if self.preface > 0 {
                let passed = PREFACE_REST.len() - usize::from(self.preface);
                let expected = PREFACE_REST.get(passed..).unwrap_or(&[]);
                let count = expected.len().min(rest.len());
                if expected.get(..count) != rest.get(..count) {
                    return false;
                }
                self.preface -= count as u8;
                from += count;
            } else if usize::from(self.known) < HEAD {
                if self.known == 0 {
                    (self.offset, self.is_held) = ((at + from) as u32, false);
                }
                let places = self.head.iter_mut().skip(usize::from(self.known));
                let count = places.zip(rest).map(|(place, byte)| *place = *byte).count();
                self.known += count as u8;
                from += count;
                if usize::from(self.known) == HEAD {
                    let behind = bytes.get(from..).unwrap_or(&[]);
                    from += self.frame(behind, sink);
                }
            } else {
                let length = rest.len().min(self.rest as usize);
                let these = rest.get(..length).unwrap_or(rest);
                self.go_on(these, at + from, true, sink);
                from += length;
            }
        }
        true
    }

    /// Begins a frame whose head is known now. Returns how many of the bytes behind it were taken.
    fn frame(&mut self, behind: &[u8], sink: &mut impl Sink) -> usize {
        let [a, b, c, kind, flags, ..] = self.head;
        self.rest = u32::from_be_bytes([0, a, b, c]);
        self.kept = 0;
        (self.before, self.padding, self.is_padded) = (0, 0, false);
        let (end_stream, padded, priority) = (flags & 1 != 0, flags & 8 != 0, flags & 0x20 != 0);
        self.payload = match kind {
            // DATA: its head alone, and only where it ends a message.
            0 => {
                if end_stream {
                    self.keep_head(0, self.rest > 0, sink);
                }
                Payload::Skipped
            }
            // HEADERS, PUSH_PROMISE, CONTINUATION.
            1 | 5 | 9 => {
                self.is_padded = padded && kind != 9;
                self.before = match kind {
                    1 if priority => 5,
                    5 => 4,
                    _ => 0,
                };
                if kind != 9 {
                    self.blocks.begin();
                }
                Payload::Block
            }
            // RST_STREAM, SETTINGS, GOAWAY.
            3 | 4 | 7 => Payload::Kept,
            _ => Payload::Skipped,
        };
        let length = behind.len().min(self.rest as usize);
        if self.payload != Payload::Skipped {
            let kept = length.min(MAX_KEPT_FRAME_BYTES);
            self.keep_head(kept, kept < length, sink);
            self.kept = kept as u32;
            self.go_on(behind.get(..length).unwrap_or(behind), 0, false, sink);
        } else {
            self.skip(length);
        }
        length
    }

    /// Begins a run with the frame's head and `length` bytes behind it.
    fn keep_head(&self, length: usize, cut: bool, sink: &mut impl Sink) {
        let run = Run {
            class: Class::Http2,
            offset: self.offset as usize,
            held: self.is_held,
            length: HEAD + length,
            continues: false,
            // The payload of DATA is never kept, so nothing is missing.
            cut: cut && self.head.get(3) != Some(&0),
        };
        sink.begin(run);
        sink.put(&self.head);
    }

    /// Goes on with the payload, in a run of its own or in the one that was begun.
    fn go_on(&mut self, bytes: &[u8], offset: usize, is_own: bool, sink: &mut impl Sink) {
        if is_own && self.payload != Payload::Skipped && !bytes.is_empty() {
            let room = MAX_KEPT_FRAME_BYTES.saturating_sub(self.kept as usize);
            let length = bytes.len().min(room);
            let cut = length < bytes.len();
            sink.begin(Run {
                class: Class::Http2,
                offset,
                held: false,
                length,
                continues: true,
                cut,
            });
            self.kept += length as u32;
        }
        match self.payload {
            Payload::Skipped => {}
            Payload::Kept => sink.put(bytes),
            Payload::Block => self.block(bytes, sink),
        }
        self.skip(bytes.len());
    }

    /// Counts bytes of the payload that have passed.
    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.saturating_sub(bytes as u32);
        if self.rest == 0 {
            self.known = 0;
        }
    }

    /// Gives bytes of a frame with a piece of a header block to `sink`.
    fn block(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let (mut bytes, mut rest) = (bytes, self.rest as usize);
        if self.is_padded
            && let [first, behind @ ..] = bytes
        {
            self.is_padded = false;
            self.padding = *first;
            sink.put(&[*first]);
            (bytes, rest) = (behind, rest - 1);
        }
        let before = bytes.len().min(usize::from(self.before));
        let (first, behind) = bytes.split_at(before);
        sink.put(first);
        self.before -= before as u8;
        let still_before = usize::from(self.before);
        rest -= before;
        let piece = rest.saturating_sub(still_before + usize::from(self.padding));
        let (piece, padding) = behind.split_at(behind.len().min(piece));
        self.blocks.walk(piece, sink);
        sink.blank(padding.len());
    }
}
