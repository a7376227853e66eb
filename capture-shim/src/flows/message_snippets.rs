//! Message snippets: the bytes that identify messages (`SOCKCAP_PROTOCOLS`). These are a request
//! line and a few header lines, HTTP/2 frames other than data, and in other protocols the first
//! bytes of each turn (what one side sends until the other side sends); never a body.
//!
//! On a connection that a TLS library encrypts, the snippets come from the plain text that the
//! program exchanges with the library; bytes and times stay those of the socket.
//!
//! The bytes themselves decide what is kept (written to the log), never ports. Each direction of a
//! flow is walked over after its calls, in the program's own buffers. The walk remembers from one
//! transfer to the next how far a body or a head (first line and header lines) extends. The meaning
//! of the bytes is determined later, from the log.

mod body_framing;
mod conversation;
mod direction;
mod fields;
mod followed_flows;
mod form;
mod hpack;
mod http1;
mod http2;
mod lines;
mod marks;
mod newlines;
mod opening;
mod pieces;
pub(crate) mod plain;
mod records;
mod redis;
mod sessions;
mod sink;
mod snippet_writer;
mod turns;
mod usual;

use core::ffi::c_int;
use core::ops::Range;
use core::{iter, slice};

use snippets::{DatagramQuestion, DatagramSpan};
use socket_log::encode::{Direction, SnippetHeader};

use self::direction::TransferPosition;
use self::followed_flows::{FollowedFlow, TakenDirection};
use self::form::TransferForm;
use self::pieces::KeptRanges;
use self::sink::{SnippetClass, SnippetRun, SnippetSink};
use self::snippet_writer::SnippetWriter;
use super::{CallBuffers, WatchedTransfer};
use crate::log::{RecordWriter, StreamTransfer};
use crate::platform::raw;
use crate::state::options::recording_options;
use crate::tuning::MAX_KEPT_TURN_BYTES;

/// Maps the memory for the state of flows, if it is needed. Returns false if memory is lacking.
pub(super) fn create_tables() -> bool {
    followed_flows::create_table() && sessions::create_table()
}

/// Begins to follow the stream `flow` of the descriptor `fd`. If the stream was `found` in use, the
/// kernel is asked which directions have had bytes already.
pub(super) fn begin_following(fd: c_int, flow: u32, found: bool) {
    followed_flows::begin_flow(flow, || match found {
        true => {
            let (sent, received) = raw::is_fresh_stream(fd);
            [!sent, !received]
        }
        false => [false; 2],
    });
}

/// Locks the direction of a transfer, and notes the transfer's call. `None` if another thread has
/// locked the direction, or another flow has replaced this one.
#[inline(always)]
fn take_direction(
    followed: &'static FollowedFlow,
    moved: &StreamTransfer,
) -> Option<TakenDirection> {
    let is_sent = moved.direction == Direction::Send;
    let mut taken = followed.take_direction(moved.flow, is_sent)?;
    let (begin, end) = match is_sent {
        true => (moved.ticks, moved.ticks.wrapping_add(moved.duration)),
        false => (moved.ticks.wrapping_sub(moved.duration), moved.ticks),
    };
    let conversation = taken.conversation();
    let turns = conversation.begins_turn(u8::from(is_sent));
    taken.direction_state().note_call(begin, end, turns, conversation);
    Some(taken)
}

/// Writes the snippets of a transfer to the log.
///
/// # Safety
/// The buffers are readable as far as the transfer has bytes.
// The called functions have frames of their own, which replace the caller's (tail calls).
#[inline(never)]
pub(super) unsafe fn keep_snippets(moved: &WatchedTransfer) {
    let Some(followed) = followed_flows::followed_flow(moved.transfer.flow) else { return };
    let conversation = followed.conversation();
    if conversation.is_encrypted() {
        // SAFETY: as the caller guarantees.
        return unsafe { keep_encrypted(moved, followed) };
    }
    let Some(mut taken) = take_direction(followed, &moved.transfer) else { return };
    // SAFETY: as the caller guarantees.
    let first = unsafe { moved.buffers.first_slice(moved.transfer.bytes as usize) };
    // SAFETY: as the caller guarantees.
    unsafe {
        match taken.direction_state().form_of(first, 0, conversation) {
            TransferForm::Words => keep_words(moved, taken, first),
            TransferForm::Head => keep_head(moved, taken, first),
            TransferForm::Redis => keep_redis(moved, taken, first),
            TransferForm::LeftOut => leave_out_body(moved, taken, first),
            TransferForm::Frames => keep_frames(moved, taken, first),
            TransferForm::Any => keep_any(moved, taken, 0),
        }
    }
}

/// Handles a transfer on an encrypted flow: writes its snippets until plain text of the flow was
/// seen, and notes the transfer for the TLS function that the thread is within.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(never)]
unsafe fn keep_encrypted(moved: &WatchedTransfer, followed: &'static FollowedFlow) {
    let conversation = followed.conversation();
    // SAFETY: as the caller guarantees.
    unsafe {
        if !conversation.has_plain_text()
            && let Some(taken) = take_direction(followed, &moved.transfer)
        {
            walk_rest(moved, taken, 0);
        }
        plain::note_encrypted(conversation, &moved.transfer, moved.buffers);
    }
}

/// Writes the first bytes of a turn to the log.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(never)]
unsafe fn keep_words(moved: &WatchedTransfer, mut taken: TakenDirection, first: &[u8]) {
    let run = taken.direction_state().pass_words(first, 0);
    keep_start(moved, &taken, &run, first);
    // SAFETY: as the caller guarantees.
    unsafe { continue_walk(moved, taken, first.len()) }
}

/// Writes the kept part of a message of Redis to the log.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(never)]
unsafe fn keep_redis(moved: &WatchedTransfer, mut taken: TakenDirection, first: &[u8]) {
    let conversation = taken.conversation();
    let Some(run) = taken.direction_state().pass_redis(first, 0, conversation) else {
        // SAFETY: as the caller guarantees.
        return unsafe { keep_any(moved, taken, 0) };
    };
    keep_start(moved, &taken, &run, first);
    // SAFETY: as the caller guarantees.
    unsafe { continue_walk(moved, taken, first.len()) }
}

/// Writes the kept frames of HTTP/2 to the log.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(never)]
unsafe fn keep_frames(moved: &WatchedTransfer, mut taken: TakenDirection, first: &[u8]) {
    let keeps = recording_options().keeps_snippets(SnippetClass::Http2 as u8);
    let count = taken.direction_state().pass_frames(first, |run, bytes| {
        let kept = bytes.get(..run.length).unwrap_or(bytes);
        if keeps
            && !moved.writer.write_snippet(
                &snippet_header(moved, &run),
                iter::once(kept),
                moved.now,
            )
        {
            keep_slow(moved, &run, bytes, slice::from_ref(&(0..run.length)));
        }
    });
    // SAFETY: as the caller guarantees.
    unsafe { continue_walk(moved, taken, count) }
}

/// Writes a run at the beginning of a transfer to the log, with secrets blanked.
#[inline(always)]
fn keep_start(moved: &WatchedTransfer, taken: &TakenDirection, run: &SnippetRun, first: &[u8]) {
    if run.length == 0 || !recording_options().keeps_snippets(SnippetClass::Other as u8) {
        return;
    }
    let sent = first.get(..run.length).unwrap_or(first);
    // SAFETY: the direction is locked, and nothing else uses its turn meanwhile.
    let turn = unsafe { &mut *taken.turn_start() };
    let kept =
        turn.blank_bytes(sent, run.continues, taken.conversation(), taken.direction_number());
    if !moved.writer.write_snippet(&snippet_header(moved, run), iter::once(kept), moved.now) {
        keep_slow(moved, run, kept, slice::from_ref(&(0..run.length)));
    }
}

/// Writes the kept lines of a head of HTTP/1 to the log.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(never)]
unsafe fn keep_head(moved: &WatchedTransfer, mut taken: TakenDirection, first: &[u8]) {
    let mut pieces = KeptRanges::NONE;
    let conversation = taken.conversation();
    let passed = taken.direction_state().pass_head(first, 0, conversation, &mut pieces);
    let Some((count, run)) = passed else {
        // SAFETY: as the caller guarantees.
        return unsafe { keep_any(moved, taken, 0) };
    };
    if recording_options().keeps_snippets(SnippetClass::Http1 as u8) {
        let each = pieces.ranges().iter().filter_map(|piece| first.get(piece.clone()));
        if !moved.writer.write_snippet(&snippet_header(moved, &run), each, moved.now) {
            keep_slow(moved, &run, first, pieces.ranges());
        }
    }
    // SAFETY: as the caller guarantees.
    unsafe { continue_walk(moved, taken, count) }
}

/// Advances past bytes that are left out.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(always)]
unsafe fn leave_out_body(moved: &WatchedTransfer, mut taken: TakenDirection, first: &[u8]) {
    let count = taken.direction_state().pass_left_out(first);
    // SAFETY: as the caller guarantees.
    unsafe { continue_walk(moved, taken, count) }
}

/// Walks over the transfer's bytes after the first `count` ones, if there are more.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(always)]
unsafe fn continue_walk(moved: &WatchedTransfer, taken: TakenDirection, count: usize) {
    if count as u64 != moved.transfer.bytes {
        // SAFETY: as the caller guarantees.
        unsafe { keep_any(moved, taken, count) };
    }
}

/// Record header of a run of bytes of the transfer.
#[inline(always)]
fn snippet_header(moved: &WatchedTransfer, run: &SnippetRun) -> SnippetHeader {
    let StreamTransfer { direction, flow, ticks, .. } = moved.transfer;
    SnippetHeader {
        direction,
        class: run.class as u8,
        flow,
        ticks,
        offset: run.offset as u32,
        length: run.length as u32,
        continues: run.continues,
        cut: run.cut,
        datagram: false,
        plain: false,
    }
}

/// Writes a run to the log by the slow path, since it does not fit into the thread's chunk or into
/// one record. The run consists of the ranges `pieces` of `first`.
#[cold]
#[inline(never)]
fn keep_slow(moved: &WatchedTransfer, run: &SnippetRun, first: &[u8], pieces: &[Range<usize>]) {
    let StreamTransfer { direction, flow, ticks, .. } = moved.transfer;
    SnippetWriter::new(moved.writer, direction, flow, ticks, moved.now)
        .put_ranges(*run, first, pieces);
}

/// Writes the snippets of the bytes after the first `count` ones to the log, by the slow path,
/// which handles all forms.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(never)]
unsafe fn keep_any(moved: &WatchedTransfer, taken: TakenDirection, count: usize) {
    let conversation = taken.conversation();
    // SAFETY: as the caller guarantees.
    unsafe {
        walk_rest(moved, taken, count);
        if conversation.is_encrypted() {
            plain::note_encrypted(conversation, &moved.transfer, moved.buffers);
        }
    }
}

/// Walks over the transfer's bytes after the first `count` ones, and writes their snippets.
///
/// # Safety
/// As for [`keep_snippets`].
#[inline(never)]
unsafe fn walk_rest(moved: &WatchedTransfer, mut taken: TakenDirection, count: usize) {
    let WatchedTransfer {
        writer,
        transfer: StreamTransfer { direction, flow, ticks, bytes, .. },
        ..
    } = *moved;
    let sink = SnippetWriter::new(writer, direction, flow, ticks, moved.now);
    // SAFETY: the direction is locked as long as the sink is used.
    let mut sink = sink.with_blanking(unsafe { taken.turn_blanking() });
    let conversation = taken.conversation();
    let (mut at, mut passed) = (0, count);
    // SAFETY: as the caller guarantees.
    let each = unsafe { moved.buffers.filled_slices(bytes as usize) };
    each.for_each(|bytes| {
        let rest = bytes.get(passed..).unwrap_or(&[]);
        sink.buffered_start = taken.direction_state().unfinished_position();
        taken.direction_state().walk_transfer(rest, at + passed, conversation, &mut sink);
        at += bytes.len();
        passed = 0;
        taken
            .direction_state()
            .note_unfinished_position(at, |offset| TransferPosition::new(ticks, offset));
    });
}

/// Advances past a transfer whose bytes never were in the program's memory, as with `sendfile`.
pub(super) fn pass_transfer(moved: &StreamTransfer) {
    if let Some(mut taken) =
        followed_flows::followed_flow(moved.flow).and_then(|of| take_direction(of, moved))
    {
        let conversation = taken.conversation();
        taken.direction_state().pass_bytes(moved.bytes, conversation);
    }
}

/// Writes the first bytes of a datagram to the log, in a stack frame of its own.
///
/// # Safety
/// The buffers are readable up to the end of the datagram, or up to their own end.
#[inline(never)]
pub(super) unsafe fn keep_datagram(
    writer: RecordWriter,
    moved: &StreamTransfer,
    buffers: CallBuffers,
    now: u64,
) {
    if !recording_options().keeps_any_snippets() {
        return;
    }
    let StreamTransfer { direction, flow, ticks, bytes, .. } = *moved;
    // SAFETY: as the caller guarantees.
    let available: usize = unsafe { buffers.filled_slices(bytes as usize) }.map(<[u8]>::len).sum();
    let length = available.min(MAX_KEPT_TURN_BYTES);
    let mut sink = SnippetWriter::new(writer, direction, flow, ticks, now).for_datagram();
    let (class, cut) = (SnippetClass::Other, length < bytes as usize);
    let run = SnippetRun { class, offset: 0, has_buffered: false, length, continues: false, cut };
    // SAFETY: the first `length` bytes are readable, as the caller guarantees.
    let first = unsafe { buffers.first_slice(length) };
    let first = first.get(..length).unwrap_or(first);
    let Some(question) = DatagramQuestion::parse(first) else {
        // The protocol has no datagrams that are identified by their bytes.
        return sink.put_ranges(run, &turns::BLANKS, slice::from_ref(&(0..length)));
    };
    sink.begin_run(run);
    let mut kept = 0;
    for piece in question.spans() {
        match piece {
            DatagramSpan::Bytes(bytes) => sink.put_bytes(bytes),
            DatagramSpan::Blank(count) => sink.put_blanks(count),
        }
        kept += piece.byte_count();
    }
    sink.put_blanks(length - kept);
}
