//! Frames of HTTP/2: walks over them and keeps those that identify messages.

use core::slice;

use super::hpack::{BlankedValues, HeaderBlocks, QueryBlanker};
use super::sink::{SnippetClass, SnippetRun, SnippetSink};
use crate::tuning::{MAX_KEPT_FRAME_BYTES, MAX_WHOLE_FRAME_BYTES};

/// Length of a frame header, in bytes.
const HEADER_BYTES: usize = 9;

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

/// What becomes of the payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum FramePayload {
    /// Left out.
    Skipped = 0,
    /// Kept.
    Kept,
    /// Fragment of a header block: kept, with the values of most fields blanked.
    Block,
}

/// Walk over the frames of one direction. All fields may be zeros.
#[repr(C)]
pub(super) struct FrameWalk {
    blocks: HeaderBlocks,
    header: [u8; HEADER_BYTES],
    /// Number of bytes of the frame header so far.
    header_length: u8,
    payload: FramePayload,
    /// Whether the first byte of the payload is the padding length.
    is_padded: bool,
    /// Number of remaining bytes before the header block fragment, without the padding length.
    before_block: u8,
    /// Number of bytes of padding after the header block fragment.
    padding: u8,
    /// Number of remaining bytes of the client's preface.
    preface: u8,
    /// Offset in the transfer of the frame's first byte.
    offset: u32,
    /// Whether the frame began in an earlier transfer.
    began_in_earlier_transfer: bool,
    /// Number of remaining bytes of the payload.
    payload_rest: u32,
    /// Number of bytes of the payload that were kept.
    kept: u32,
    /// Query of the current value. Few frames need it, so it comes last.
    query: QueryBlanker,
}

impl FrameWalk {
    /// Begins with a first frame. If `after_preface`, the rest of a client's preface comes before
    /// it.
    pub(super) fn begin_frames(&mut self, after_preface: bool) {
        self.blocks.clear();
        (self.header_length, self.payload_rest) = (0, 0);
        self.preface = if after_preface { PREFACE_REST.len() as u8 } else { 0 };
    }

    /// Notes that the following bytes are of another transfer than the previous ones.
    pub(super) fn begin_transfer(&mut self) {
        self.offset = 0;
        self.began_in_earlier_transfer = self.unfinished_bytes() > 0;
    }

    /// Notes that the bytes of an incomplete frame header came with an earlier transfer.
    pub(super) fn mark_header_buffered(&mut self) {
        self.began_in_earlier_transfer = self.unfinished_bytes() > 0;
    }

    /// Number of bytes of an incomplete frame header.
    pub(super) fn unfinished_bytes(&self) -> usize {
        usize::from(self.header_length) % HEADER_BYTES
    }

    /// Advances past `bytes` bytes whose contents are not visible. Returns false if the start of
    /// the next frame is unknown after them.
    pub(super) fn pass_bytes(&mut self, bytes: u64) -> bool {
        let is_within = usize::from(self.header_length) == HEADER_BYTES
            && self.payload == FramePayload::Skipped;
        if !is_within || bytes > u64::from(self.payload_rest) {
            return false;
        }
        self.payload_rest -= bytes as u32;
        if self.payload_rest == 0 {
            self.header_length = 0;
        }
        true
    }

    /// Walks over `bytes`, which begin at offset `at` of the transfer, and passes those that are
    /// kept to `sink`. Returns false if the bytes are not frames.
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
            } else if self.header_length == 0
                && let Some(length) = self.pass_whole_frame(rest, at + from, |run, bytes| {
                    sink.put_ranges(run, bytes, slice::from_ref(&(0..run.length)));
                })
            {
                from += length;
            } else if usize::from(self.header_length) < HEADER_BYTES {
                if self.header_length == 0 {
                    (self.offset, self.began_in_earlier_transfer) = ((at + from) as u32, false);
                }
                let places = self.header.iter_mut().skip(usize::from(self.header_length));
                let count = places.zip(rest).map(|(place, byte)| *place = *byte).count();
                self.header_length += count as u8;
                from += count;
                if usize::from(self.header_length) == HEADER_BYTES {
                    let after = bytes.get(from..).unwrap_or(&[]);
                    from += self.begin_frame(after, sink);
                }
            } else {
                let length = rest.len().min(self.payload_rest as usize);
                let part = rest.get(..length).unwrap_or(rest);
                self.continue_payload(part, at + from, true, sink);
                from += length;
            }
        }
        true
    }

    /// Whether a frame begins next.
    #[inline(always)]
    pub(super) fn is_between_frames(&self) -> bool {
        self.header_length == 0 && self.preface == 0
    }

    /// Walks over the frame with which `bytes` begin, at offset `at` of the transfer, if the frame
    /// is complete and of a frequent kind. Calls `keep` for the run of its kept bytes. Returns the
    /// frame's length; `None` without any effect if it is another frame.
    #[inline(always)]
    pub(super) fn pass_whole_frame(
        &mut self,
        bytes: &[u8],
        at: usize,
        mut keep: impl FnMut(SnippetRun, &[u8]),
    ) -> Option<usize> {
        let (&[a, b, c, kind, flags, ..], payload) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let length = HEADER_BYTES + u32::from_be_bytes([0, a, b, c]) as usize;
        let frame = bytes.get(..length)?;
        let (class, has_buffered, continues, cut) = (SnippetClass::Http2, false, false, false);
        let run = |length| SnippetRun { class, offset: at, has_buffered, length, continues, cut };
        match (kind, flags & (PADDED | PRIORITY)) {
            (DATA, _) if flags & END_STREAM != 0 => keep(run(HEADER_BYTES), bytes),
            (DATA, _) => {}
            (HEADERS, 0) if length <= MAX_WHOLE_FRAME_BYTES => {
                let mut blanks = BlankedValues::NONE;
                let block = payload.get(..length - HEADER_BYTES)?;
                if !self.blocks.pass_block(block, &mut blanks) {
                    return None;
                }
                if blanks.is_empty() {
                    keep(run(length), frame);
                } else {
                    let mut copy = [0; MAX_WHOLE_FRAME_BYTES];
                    let copy = copy.get_mut(..length)?;
                    copy.copy_from_slice(frame);
                    blanks.blank_values(copy.get_mut(HEADER_BYTES..)?);
                    keep(run(length), copy);
                }
            }
            _ => return None,
        }
        Some(length)
    }

    /// Begins a frame whose header is complete, and walks over the part of its payload that is at
    /// the beginning of `after`. Returns the number of payload bytes walked over.
    fn begin_frame(&mut self, after: &[u8], sink: &mut impl SnippetSink) -> usize {
        let [a, b, c, kind, flags, ..] = self.header;
        self.payload_rest = u32::from_be_bytes([0, a, b, c]);
        self.kept = 0;
        (self.before_block, self.padding, self.is_padded) = (0, 0, false);
        let is = |flag: u8| flags & flag != 0;
        self.payload = match kind {
            // A DATA frame shows only that its message ends: then its header is kept.
            DATA => {
                if is(END_STREAM) {
                    self.keep_frame_header(0, self.payload_rest > 0, sink);
                }
                FramePayload::Skipped
            }
            HEADERS | PUSH_PROMISE | CONTINUATION => {
                self.is_padded = is(PADDED) && kind != CONTINUATION;
                self.before_block = match kind {
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
        let length = after.len().min(self.payload_rest as usize);
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

    /// Begins a run with the frame header and `length` bytes after it. `cut` is whether bytes of
    /// the frame are left out after the run.
    fn keep_frame_header(&self, length: usize, cut: bool, sink: &mut impl SnippetSink) {
        let run = SnippetRun {
            class: SnippetClass::Http2,
            offset: self.offset as usize,
            has_buffered: self.began_in_earlier_transfer,
            length: HEADER_BYTES + length,
            continues: false,
            // The payload of DATA is never kept, so nothing is missing.
            cut: cut && self.header.get(3) != Some(&DATA),
        };
        sink.begin_run(run);
        sink.put_bytes(&self.header);
    }

    /// Continues with `bytes` of the payload, which begin at `offset` of the transfer: in a run of
    /// their own if `is_own`, otherwise in the current run.
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
                has_buffered: false,
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
        self.payload_rest = self.payload_rest.saturating_sub(bytes as u32);
        if self.payload_rest == 0 {
            self.header_length = 0;
        }
    }

    /// Passes bytes of a frame with a header block fragment to `sink`.
    fn walk_header_block(&mut self, bytes: &[u8], sink: &mut impl SnippetSink) {
        let (mut bytes, mut rest) = (bytes, self.payload_rest as usize);
        if self.is_padded
            && let [first, after @ ..] = bytes
        {
            self.is_padded = false;
            self.padding = *first;
            sink.put_bytes(&[*first]);
            (bytes, rest) = (after, rest - 1);
        }
        let before = bytes.len().min(usize::from(self.before_block));
        let (first, after) = bytes.split_at(before);
        sink.put_bytes(first);
        self.before_block -= before as u8;
        let still_before = usize::from(self.before_block);
        rest -= before;
        let piece = rest.saturating_sub(still_before + usize::from(self.padding));
        let (piece, padding) = after.split_at(after.len().min(piece));
        self.blocks.walk_block(piece, &mut self.query, sink);
        sink.put_blanks(padding.len());
    }
}
