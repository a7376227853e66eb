//! Heads of messages: the bytes that name them (`SOCKCAP_PROTOCOLS`). That is a request's line and
//! a few lines of its header, frames of HTTP/2 that are no data, and of anything else the first
//! bytes of what one end says; never a body.
//!
//! Of a connection that a TLS library encrypts, the heads are those of the plain text that the
//! library is given and gives; the bytes and times stay those of the socket.
//!
//! What is kept is decided by what the bytes are, never by ports. Each direction of a flow is
//! walked over behind its calls, in the program's own buffers; how far a head or a body goes is
//! remembered from one transfer to the next. What the bytes mean is found out later, from the log.

mod behind;
mod conversation;
mod direction;
mod fields;
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
mod table;
mod turns;
mod usual;
mod written;

use core::ffi::c_int;
use core::ops::Range;
use core::{iter, slice};

use snippets::{DatagramQuestion, Kept};
use socket_log::encode::{Direction, Head};

use self::direction::HeldAt;
use self::form::Form;
use self::pieces::Pieces;
use self::sink::{Class, Run, Sink};
use self::table::{Followed, Taken};
use self::written::Written;
use super::{Buffers, Moved};
use crate::log::{Transfer, Writer};
use crate::platform::raw;
use crate::state::options::options;
use crate::tuning::MAX_KEPT_TURN_BYTES;

/// Maps the memory for what is known of flows, where that is needed. False without memory.
pub(super) fn create() -> bool {
    table::create() && sessions::create()
}

/// Begins to follow a stream, which may have been `found` in use.
pub(super) fn begin(fd: c_int, flow: u32, found: bool) {
    table::begin(flow, || match found {
        true => {
            let (sent, received) = raw::is_fresh_stream(fd);
            [!sent, !received]
        }
        false => [false; 2],
    });
}

/// Takes the direction of a transfer, and notes its call.
#[inline(always)]
fn take(followed: &'static Followed, moved: &Transfer) -> Option<Taken> {
    let is_sent = moved.direction == Direction::Send;
    let mut taken = followed.take(moved.flow, is_sent)?;
    let (begin, end) = match is_sent {
        true => (moved.ticks, moved.ticks.wrapping_add(moved.duration)),
        false => (moved.ticks.wrapping_sub(moved.duration), moved.ticks),
    };
    let conversation = taken.conversation();
    let turns = conversation.turns(u8::from(is_sent));
    taken.direction().call(begin, end, turns, conversation);
    Some(taken)
}

/// Keeps the heads in a transfer.
///
/// # Safety
/// The buffers are readable as far as the transfer has bytes.
// The ways that it leads to have frames of their own, and take the place of the caller's.
#[inline(never)]
pub(super) unsafe fn moved(moved: &Moved) {
    let Some(followed) = table::followed(moved.transfer.flow) else { return };
    let conversation = followed.conversation();
    if conversation.is_encrypted() {
        // SAFETY: as the caller says.
        return unsafe { moved_encrypted(moved, followed) };
    }
    let Some(mut taken) = take(followed, &moved.transfer) else { return };
    // SAFETY: as the caller says.
    let first = unsafe { moved.buffers.first(moved.transfer.bytes as usize) };
    // SAFETY: as the caller says.
    unsafe {
        match taken.direction().form(first, 0, conversation) {
            Form::Words => keep_words(moved, taken, first),
            Form::Head => keep_head(moved, taken, first),
            Form::Redis => keep_redis(moved, taken, first),
            Form::LeftOut => left_out(moved, taken, first),
            Form::Frames => keep_frames(moved, taken, first),
            Form::Any => any(moved, taken, 0),
        }
    }
}

/// Keeps the heads in an encrypted transfer.
///
/// # Safety
/// As [`moved`].
#[inline(never)]
unsafe fn moved_encrypted(moved: &Moved, followed: &'static Followed) {
    let conversation = followed.conversation();
    // SAFETY: as the caller says.
    unsafe {
        if !conversation.is_plain()
            && let Some(taken) = take(followed, &moved.transfer)
        {
            walk(moved, taken, 0);
        }
        plain::note(conversation, &moved.transfer, moved.buffers);
    }
}

/// Keeps words of a turn.
///
/// # Safety
/// As [`moved`].
#[inline(never)]
unsafe fn keep_words(moved: &Moved, mut taken: Taken, first: &[u8]) {
    let run = taken.direction().pass_words(first, 0);
    keep_beginning(moved, &taken, &run, first);
    // SAFETY: as the caller says.
    unsafe { go_on(moved, taken, first.len()) }
}

/// Keeps a message of Redis.
///
/// # Safety
/// As [`moved`].
#[inline(never)]
unsafe fn keep_redis(moved: &Moved, mut taken: Taken, first: &[u8]) {
    let conversation = taken.conversation();
    let Some(run) = taken.direction().pass_redis(first, 0, conversation) else {
        // SAFETY: as the caller says.
        return unsafe { any(moved, taken, 0) };
    };
    keep_beginning(moved, &taken, &run, first);
    // SAFETY: as the caller says.
    unsafe { go_on(moved, taken, first.len()) }
}

/// Keeps frames of HTTP/2.
///
/// # Safety
/// As [`moved`].
#[inline(never)]
unsafe fn keep_frames(moved: &Moved, mut taken: Taken, first: &[u8]) {
    let keeps = options().keeps_heads(Class::Http2 as u8);
    let count = taken.direction().pass_frames(first, |run, bytes| {
        let kept = bytes.get(..run.length).unwrap_or(bytes);
        if keeps && !moved.writer.head(&facts(moved, &run), iter::once(kept), moved.now) {
            keep_with_care(moved, &run, bytes, slice::from_ref(&(0..run.length)));
        }
    });
    // SAFETY: as the caller says.
    unsafe { go_on(moved, taken, count) }
}

/// Keeps a run of the beginning of a transfer.
#[inline(always)]
fn keep_beginning(moved: &Moved, taken: &Taken, run: &Run, first: &[u8]) {
    if run.length == 0 || !options().keeps_heads(Class::Other as u8) {
        return;
    }
    let said = first.get(..run.length).unwrap_or(first);
    // SAFETY: the direction is taken, and nothing else uses its turn meanwhile.
    let turn = unsafe { &mut *taken.turn() };
    let kept = turn.blank(said, run.continues, taken.conversation(), taken.number());
    if !moved.writer.head(&facts(moved, run), iter::once(kept), moved.now) {
        keep_with_care(moved, run, kept, slice::from_ref(&(0..run.length)));
    }
}

/// Keeps a head of HTTP/1.
///
/// # Safety
/// As [`moved`].
#[inline(never)]
unsafe fn keep_head(moved: &Moved, mut taken: Taken, first: &[u8]) {
    let mut pieces = Pieces::NONE;
    let conversation = taken.conversation();
    let passed = taken.direction().pass_head(first, 0, conversation, &mut pieces);
    let Some((count, run)) = passed else {
        // SAFETY: as the caller says.
        return unsafe { any(moved, taken, 0) };
    };
    if options().keeps_heads(Class::Http1 as u8) {
        let each = pieces.ranges().iter().filter_map(|piece| first.get(piece.clone()));
        if !moved.writer.head(&facts(moved, &run), each, moved.now) {
            keep_with_care(moved, &run, first, pieces.ranges());
        }
    }
    // SAFETY: as the caller says.
    unsafe { go_on(moved, taken, count) }
}

/// Passes what is left out.
///
/// # Safety
/// As [`moved`].
#[inline(always)]
unsafe fn left_out(moved: &Moved, mut taken: Taken, first: &[u8]) {
    let count = taken.direction().leave_out(first);
    // SAFETY: as the caller says.
    unsafe { go_on(moved, taken, count) }
}

/// Goes on behind the first `count` bytes, if there are more.
///
/// # Safety
/// As [`moved`].
#[inline(always)]
unsafe fn go_on(moved: &Moved, taken: Taken, count: usize) {
    if count as u64 != moved.transfer.bytes {
        // SAFETY: as the caller says.
        unsafe { any(moved, taken, count) };
    }
}

/// What the record of a run says, whose bytes came with the transfer.
#[inline(always)]
fn facts(moved: &Moved, run: &Run) -> Head {
    let Transfer { direction, flow, ticks, .. } = moved.transfer;
    Head {
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

/// Keeps a run that does not fit into the thread's chunk, or not into one record.
#[cold]
#[inline(never)]
fn keep_with_care(moved: &Moved, run: &Run, first: &[u8], pieces: &[Range<usize>]) {
    let Transfer { direction, flow, ticks, .. } = moved.transfer;
    Written::new(moved.writer, direction, flow, ticks, moved.now).pieces(*run, first, pieces);
}

/// Keeps the heads behind the first `count` bytes, by ways that know all forms of them.
///
/// # Safety
/// As [`moved`].
#[inline(never)]
unsafe fn any(moved: &Moved, taken: Taken, count: usize) {
    let conversation = taken.conversation();
    // SAFETY: as the caller says.
    unsafe {
        walk(moved, taken, count);
        if conversation.is_encrypted() {
            plain::note(conversation, &moved.transfer, moved.buffers);
        }
    }
}

/// Walks over what is behind the first `count` bytes.
///
/// # Safety
/// As [`moved`].
#[inline(never)]
unsafe fn walk(moved: &Moved, mut taken: Taken, count: usize) {
    let Moved { writer, transfer: Transfer { direction, flow, ticks, bytes, .. }, .. } = *moved;
    let sink = Written::new(writer, direction, flow, ticks, moved.now);
    // SAFETY: the direction is taken as long as the sink is used.
    let mut sink = sink.blanking(unsafe { taken.blanking() });
    let conversation = taken.conversation();
    let (mut at, mut passed) = (0, count);
    // SAFETY: as the caller says.
    let each = unsafe { moved.buffers.filled(bytes as usize) };
    each.for_each(|bytes| {
        let rest = bytes.get(passed..).unwrap_or(&[]);
        sink.held = taken.direction().held();
        taken.direction().walk(rest, at + passed, conversation, &mut sink);
        at += bytes.len();
        passed = 0;
        taken.direction().note_held(at, |offset| HeldAt::new(ticks, offset));
    });
}

/// Passes a transfer whose bytes the program never held.
pub(super) fn passed(moved: &Transfer) {
    if let Some(mut taken) = table::followed(moved.flow).and_then(|of| take(of, moved)) {
        let conversation = taken.conversation();
        taken.direction().pass(moved.bytes, conversation);
    }
}

/// Keeps the first bytes of a datagram.
///
/// # Safety
/// The buffers are readable as far as the datagram goes, or as far as they go.
pub(super) unsafe fn datagram(writer: Writer, moved: &Transfer, buffers: Buffers, now: u64) {
    if !options().keeps_any_heads() {
        return;
    }
    let Transfer { direction, flow, ticks, bytes, .. } = *moved;
    // SAFETY: as the caller says.
    let there: usize = unsafe { buffers.filled(bytes as usize) }.map(<[u8]>::len).sum();
    let length = there.min(MAX_KEPT_TURN_BYTES);
    let mut sink = Written::new(writer, direction, flow, ticks, now).of_datagram();
    let (class, cut) = (Class::Other, length < bytes as usize);
    let run = Run { class, offset: 0, held: false, length, continues: false, cut };
    // SAFETY: as above.
    let first = unsafe { buffers.first(length) };
    let first = first.get(..length).unwrap_or(first);
    let Some(question) = DatagramQuestion::of(first) else {
        // Of no protocol whose datagrams are named.
        return sink.pieces(run, &turns::BLANKS, slice::from_ref(&(0..length)));
    };
    sink.begin(run);
    let mut kept = 0;
    for piece in question.pieces() {
        match piece {
            Kept::Bytes(bytes) => sink.put(bytes),
            Kept::Blank(count) => sink.blank(count),
        }
        kept += piece.length();
    }
    sink.blank(length - kept);
}
