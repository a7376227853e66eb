//! Frames of HTTP/2: walks over them and keeps those that identify messages.

use core::slice;

use super::hpack::{BlankedValues, HeaderBlocks, QueryBlanker};
use super::sink::{SnippetClass, SnippetRun, SnippetSink};
use crate::tuning::{MAX_KEPT_FRAME_BYTES, MAX_WHOLE_FRAME_BYTES};

/// Length of a frame header, in bytes.
const HEAD: usize = 9;

// Types of frames, and their flags (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

/// Rest of the client's preface, after its first line and before its first frame.
const PREFACE_REST: &[u8] = b"\r\nSM\r\n\r\n";

/// Payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum FramePayload {
    /// Left out.
    Skipped = 0,
    /// Kept.
    Kept,
    /// Fragment of a header block, which is kept except for values.
    Block,
}

/// Walk over the frames of one direction. All fields may be zeros.
#[repr(C)]
pub(super) struct FrameWalk {
    blocks: HeaderBlocks,
    head: [u8; HEAD],
    /// Number of bytes of the frame header so far.
    known: u8,
    payload: FramePayload,
    /// Whether the first byte of the payload is the padding length.
    is_padded: bool,
    /// Number of remaining bytes before the header block fragment, without the padding length.
    before: u8,
    /// Number of bytes of padding after the header block fragment.
    padding: u8,
    /// Number of remaining bytes of the client's preface.
    preface: u8,
    /// Offset in the transfer of the frame's first byte.
    offset: u32,
    /// Whether the frame began in an earlier transfer.
    is_held: bool,
    /// Number of remaining bytes of the payload.
    rest: u32,
    /// Number of bytes of the payload that were kept.
    kept: u32,
    /// Query of the current value. Few frames need it, so it comes last.
    query: QueryBlanker,
}

impl FrameWalk {
    /// Begins with a first frame; after a client's first line (its preface) if `behind_preface`.
    pub(super) fn begin_frames(&mut self, behind_preface: bool) {
        self.blocks.clear();
        (self.known, self.rest) = (0, 0);
        self.preface = if behind_preface { PREFACE_REST.len() as u8 } else { 0 };
    }

    /// Notes that the following bytes are of another transfer than the previous ones.
    pub(super) fn transfer_begins(&mut self) {
        self.offset = 0;
        self.is_held = self.unfinished_bytes() > 0;
    }

    /// Notes that the incomplete frame header consists of buffered bytes.
    pub(super) fn mark_header_buffered(&mut self) {
        self.is_held = self.unfinished_bytes() > 0;
    }

    /// Number of bytes of an incomplete frame header.
    pub(super) fn unfinished_bytes(&self) -> usize {
        usize::from(self.known) % HEAD
    }

    /// Advances past `bytes` bytes that are not visible. Returns false if the start of the next
    /// frame is then unknown.
    pub(super) fn pass_bytes(&mut self, bytes: u64) -> bool {
        let is_within = usize::from(self.known) == HEAD && self.payload == FramePayload::Skipped;
        if !is_within || bytes > u64::from(self.rest) {
            return false;
        }
        self.rest -= bytes as u32;
        if self.rest == 0 {
            self.known = 0;
        }
        true
    }

    /// Walks over `bytes`, which lie at `at` of the transfer, and passes the kept ones to `sink`.
    /// Returns false if they are not frames.
    pub(super) fn walk_frames(
        &mut self,
        bytes: &[u8],
        at: usize,
        sink: &mut impl SnippetSink,
    ) -> bool {
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
            } else if self.known == 0
                && let Some(length) = self.pass_whole(rest, at + from, |run, bytes| {
                    sink.put_ranges(run, bytes, slice::from_ref(&(0..run.length)));
                })
            {
                from += length;
            } else if usize::from(self.known) < HEAD {
                if self.known == 0 {
                    (self.offset, self.is_held) = ((at + from) as u32, false);
                }
                let places = self.head.iter_mut().skip(usize::from(self.known));
                let count = places.zip(rest).map(|(place, byte)| *place = *byte).count();
                self.known += count as u8;
                from += count;
                if usize::from(self.known) == HEAD {
                    let after = bytes.get(from..).unwrap_or(&[]);
                    from += self.begin_frame(after, sink);
                }
            } else {
                let length = rest.len().min(self.rest as usize);
                let part = rest.get(..length).unwrap_or(rest);
                self.continue_payload(part, at + from, true, sink);
                from += length;
            }
        }
        true
    }

    /// Whether a frame begins next.
    #[inline(always)]
    pub(super) fn is_between(&self) -> bool {
        self.known == 0 && self.preface == 0
    }

    /// Walks over the frame at the beginning of `bytes`, which lie at `at` of the transfer, if it
    /// is a usual and complete one. Calls `keep` for the run of its kept bytes. Returns the frame's
    /// length; `None` without any effect otherwise. A frame must begin there.
    #[inline(always)]
    pub(super) fn pass_whole(
        &mut self,
        bytes: &[u8],
        at: usize,
        mut keep: impl FnMut(SnippetRun, &[u8]),
    ) -> Option<usize> {
        let (&[a, b, c, kind, flags, ..], payload) = bytes.split_first_chunk::<HEAD>()?;
        let length = HEAD + u32::from_be_bytes([0, a, b, c]) as usize;
        let frame = bytes.get(..length)?;
        let (class, held, continues, cut) = (SnippetClass::Http2, false, false, false);
        let run = |length| SnippetRun { class, offset: at, held, length, continues, cut };
        match (kind, flags & (PADDED | PRIORITY)) {
            (DATA, _) if flags & END_STREAM != 0 => keep(run(HEAD), bytes),
            (DATA, _) => {}
            (HEADERS, 0) if length <= MAX_WHOLE_FRAME_BYTES => {
                let mut blanks = BlankedValues::NONE;
                let block = payload.get(..length - HEAD)?;
                if !self.blocks.pass_block(block, &mut blanks) {
                    return None;
                }
                if blanks.is_empty() {
                    keep(run(length), frame);
                } else {
                    let mut copy = [0; MAX_WHOLE_FRAME_BYTES];
                    let copy = copy.get_mut(..length)?;
                    copy.copy_from_slice(frame);
                    blanks.blank_values(copy.get_mut(HEAD..)?);
                    keep(run(length), copy);
                }
            }
            _ => return None,
        }
        Some(length)
    }

    /// Begins a frame with a complete header, and walks over its payload as far as it is in
    /// `after`. Returns the number of bytes walked over.
    fn begin_frame(&mut self, after: &[u8], sink: &mut impl SnippetSink) -> usize {
        let [a, b, c, kind, flags, ..] = self.head;
        self.rest = u32::from_be_bytes([0, a, b, c]);
        self.kept = 0;
        (self.before, self.padding, self.is_padded) = (0, 0, false);
        let is = |flag: u8| flags & flag != 0;
        self.payload = match kind {
            // Only the header of the frame is kept, and only if it ends a message.
            DATA => {
                if is(END_STREAM) {
                    self.keep_frame_header(0, self.rest > 0, sink);
                }
                FramePayload::Skipped
            }
            HEADERS | PUSH_PROMISE | CONTINUATION => {
                self.is_padded = is(PADDED) && kind != CONTINUATION;
                self.before = match kind {
                    HEADERS if is(PRIORITY) => 5,
                    PUSH_PROMISE => 4,
                    _ => 0,
                };
                if kind != CONTINUATION {
                    self.blocks.begin_block();
                }
                FramePayload::Block
            }
            // RST_STREAM, SETTINGS, GOAWAY.
            3 | 4 | 7 => FramePayload::Kept,
            _ => FramePayload::Skipped,
        };
        let length = after.len().min(self.rest as usize);
        if self.payload != FramePayload::Skipped {
            let kept = length.min(MAX_KEPT_FRAME_BYTES);
            self.keep_frame_header(kept, kept < length, sink);
            self.kept = kept as u32;
            self.continue_payload(after.get(..length).unwrap_or(after), 0, false, sink);
        } else {
            self.skip_payload(length);
        }
        length
    }

    /// Begins a run with the frame header and `length` bytes after it.
    fn keep_frame_header(&self, length: usize, cut: bool, sink: &mut impl SnippetSink) {
        let run = SnippetRun {
            class: SnippetClass::Http2,
            offset: self.offset as usize,
            held: self.is_held,
            length: HEAD + length,
            continues: false,
            // The payload of DATA is never kept, so nothing is missing.
            cut: cut && self.head.get(3) != Some(&DATA),
        };
        sink.begin_run(run);
        sink.put_bytes(&self.head);
    }

    /// Continues with the payload, in a run of its own or in the current one.
    fn continue_payload(
        &mut self,
        bytes: &[u8],
        offset: usize,
        is_own: bool,
        sink: &mut impl SnippetSink,
    ) {
        if is_own && self.payload != FramePayload::Skipped && !bytes.is_empty() {
            let room = MAX_KEPT_FRAME_BYTES.saturating_sub(self.kept as usize);
            let length = bytes.len().min(room);
            let cut = length < bytes.len();
            sink.begin_run(SnippetRun {
                class: SnippetClass::Http2,
                offset,
                held: false,
                length,
                continues: true,
                cut,
            });
            self.kept += length as u32;
        }
        match self.payload {
            FramePayload::Skipped => {}
            FramePayload::Kept => sink.put_bytes(bytes),
            FramePayload::Block => self.walk_header_block(bytes, sink),
        }
        self.skip_payload(bytes.len());
    }

    /// Advances past `bytes` bytes of the payload.
    fn skip_payload(&mut self, bytes: usize) {
        self.rest = self.rest.saturating_sub(bytes as u32);
        if self.rest == 0 {
            self.known = 0;
        }
    }

    /// Passes bytes of a frame with a header block fragment to `sink`.
    fn walk_header_block(&mut self, bytes: &[u8], sink: &mut impl SnippetSink) {
        let (mut bytes, mut rest) = (bytes, self.rest as usize);
        if self.is_padded
            && let [first, after @ ..] = bytes
        {
            self.is_padded = false;
            self.padding = *first;
            sink.put_bytes(&[*first]);
            (bytes, rest) = (after, rest - 1);
        }
        let before = bytes.len().min(usize::from(self.before));
        let (first, after) = bytes.split_at(before);
        sink.put_bytes(first);
        self.before -= before as u8;
        let still_before = usize::from(self.before);
        rest -= before;
        let piece = rest.saturating_sub(still_before + usize::from(self.padding));
        let (piece, padding) = after.split_at(after.len().min(piece));
        self.blocks.walk_block(piece, &mut self.query, sink);
        sink.put_blanks(padding.len());
    }
}
