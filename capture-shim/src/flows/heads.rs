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

mod conversation;
mod direction;
mod fields;
mod hpack;
mod http1;
mod http2;
mod lines;
mod newlines;
mod opening;
mod pieces;
pub(crate) mod plain;
mod records;
mod redis;
mod sessions;
mod sink;
mod table;
mod written;

use core::ffi::c_int;

use socket_log::encode::Direction;

use self::direction::HeldAt;
use self::sink::{Class, Run, Sink};
use self::table::Taken;
use self::written::Written;
use super::Buffers;
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
fn take(moved: &Transfer) -> Option<Taken> {
    let is_sent = moved.direction == Direction::Send;
    let mut taken = table::take(moved.flow, is_sent)?;
    let (begin, end) = match is_sent {
        true => (moved.ticks, moved.ticks.wrapping_add(moved.duration)),
        false => (moved.ticks.wrapping_sub(moved.duration), moved.ticks),
    };
    let conversation = taken.conversation;
    let turns = conversation.turns(u8::from(is_sent));
    taken.direction().call(begin, end, turns, conversation);
    Some(taken)
}

/// Keeps the heads in a transfer whose bytes lie in `buffers`.
///
/// # Safety
/// The buffers are readable as far as the transfer has bytes.
// Its own frame: what is written before it needs much of the stack, too.
#[inline(never)]
pub(super) unsafe fn moved(writer: Writer, moved: &Transfer, buffers: Buffers, now: u64) {
    let Some(conversation) = table::conversation(moved.flow) else { return };
    if !conversation.is_plain() {
        // SAFETY: as the caller says.
        unsafe { walk(writer, moved, buffers, now) };
    }
    if conversation.is_encrypted() {
        // SAFETY: as the caller says.
        unsafe { plain::note(conversation, moved, buffers) };
    }
}

/// Walks over a transfer, and keeps the heads in it.
///
/// # Safety
/// As [`moved`].
unsafe fn walk(writer: Writer, moved: &Transfer, buffers: Buffers, now: u64) {
    let Some(mut taken) = take(moved) else { return };
    let mut sink = Written::new(writer, moved.direction, moved.flow, moved.ticks, now);
    let conversation = taken.conversation;
    let mut at = 0;
    // SAFETY: as the caller says.
    let each = unsafe { buffers.filled(moved.bytes as usize) };
    each.for_each(|bytes| {
        sink.held = taken.direction().held();
        taken.direction().walk(bytes, at, conversation, &mut sink);
        at += bytes.len();
        taken.direction().note_held(at, |offset| HeldAt::new(moved.ticks, offset));
    });
}

/// Passes a transfer whose bytes the program never held.
pub(super) fn passed(moved: &Transfer) {
    if let Some(mut taken) = take(moved) {
        let conversation = taken.conversation;
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
    sink.begin(Run { class, offset: 0, held: false, length, continues: false, cut });
    // SAFETY: as above.
    unsafe { buffers.filled(length) }.for_each(|bytes| sink.put(bytes));
}
