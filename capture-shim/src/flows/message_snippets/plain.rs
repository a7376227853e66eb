//! Plain text of TLS libraries: keeps what their functions read and write as snippets of the
//! encrypted flow.
//!
//! While a thread is within a function that reads or writes plain text, it is marked with the
//! session. Transfers of the thread meanwhile determine the session's flow and the times of its
//! records. A mark that stays, because the program jumped out of the function, does no harm: only
//! the next function of this kind uses the noted facts.

use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::Direction;

use super::conversation::FlowConversation;
use super::followed_flows;
use super::records::{CallTime, TlsRecords};
use super::sessions::{self, SessionState};
use super::snippet_writer::SnippetWriter;
use crate::flows::CallBuffers;
use crate::log::{self, StreamTransfer};
use crate::platform::clock;
use crate::state::options::recording_options;
use crate::state::thread::{self, ThreadLogState};

/// Function of a TLS library that the calling thread is within.
pub(crate) struct PlaintextScope {
    thread: &'static ThreadLogState,
    session: usize,
    direction: Direction,
    /// Mark of the thread before, and its frame: another session, which encrypts the bytes of this
    /// session again; zeros for none.
    outer: [usize; 2],
}

/// Marks that the thread is within a function that moves plain text of `session` in that direction.
/// Returns the scope to leave after the function; `None` if snippets are not kept, or if one
/// function of a session calls another.
#[inline(always)]
pub(crate) fn enter_scope(session: *const c_void, direction: Direction) -> Option<PlaintextScope> {
    if recording_options().keeps_any_snippets() {
        mark_thread(session.addr(), direction)
    } else {
        None
    }
}

/// Whether plain text is inspected, because snippets are kept.
#[inline(always)]
pub(crate) fn is_wanted() -> bool {
    recording_options().keeps_any_snippets()
}

#[inline(never)]
fn mark_thread(session: usize, direction: Direction) -> Option<PlaintextScope> {
    let thread = thread::current_thread();
    let outer = [&thread.session, &thread.session_frame].map(|place| place.load(Relaxed));
    // The stack grows down, so an inner function has a lower frame.
    let frame = (&raw const outer).addr();
    let is_inner = outer == [scope_mark(session, direction), outer[1]] && frame < outer[1];
    if session == 0 || session & 1 != 0 || is_inner || !sessions::begin_session(session) {
        return None;
    }
    thread.session.store(scope_mark(session, direction), Relaxed);
    thread.session_frame.store(frame, Relaxed);
    Some(PlaintextScope { thread, session, direction, outer })
}

/// Mark of a session and a direction: the session's address, which is even, and one bit.
fn scope_mark(session: usize, direction: Direction) -> usize {
    session | usize::from(direction == Direction::Send)
}

impl PlaintextScope {
    /// Removes the mark, and writes the snippets of the `bytes` bytes of plain text that the
    /// function moved. The text lies in `parts`, each with its address and maximum length. The
    /// program asked for at most `most` bytes.
    ///
    /// # Safety
    /// The parts are null or readable for their lengths.
    #[inline(never)]
    pub(crate) unsafe fn leave_scope(
        self,
        parts: impl Iterator<Item = (*const u8, usize)>,
        bytes: usize,
        most: usize,
    ) {
        let PlaintextScope { thread, session, direction, outer: [mark, frame] } = self;
        thread.session.store(mark, Relaxed);
        thread.session_frame.store(frame, Relaxed);
        if bytes == 0 {
            return;
        }
        let given = sessions::with_session(session, |known| {
            let records = match direction {
                Direction::Receive => &mut known.received,
                Direction::Send => &mut known.sent,
            };
            let origin = records.take_plaintext(bytes, most);
            if direction == Direction::Send {
                records.forget();
            }
            (known.flow, origin)
        });
        let Some((flow, origin)) = given.filter(|(flow, _)| *flow != 0) else { return };
        let Some(mut taken) = followed_flows::take_direction(flow, direction == Direction::Send)
        else {
            return;
        };
        let conversation = taken.conversation();
        if !conversation.assign_session(session) {
            return;
        }
        taken.direction_state().become_plain();
        let Some(origin) = origin else {
            return taken.direction_state().pass_bytes(bytes as u64, conversation);
        };
        let CallTime { begin, end } = origin.call_time();
        let turns = conversation.begins_turn(u8::from(direction == Direction::Send));
        taken.direction_state().note_call(begin, end, turns, conversation);
        if let Some(writer) = log::existing_writer() {
            let sink = SnippetWriter::for_plaintext(
                writer,
                direction,
                flow,
                origin,
                clock::current_ticks(),
            );
            // SAFETY: the direction is locked as long as the sink is used.
            let mut sink = sink.with_blanking(unsafe { taken.turn_blanking() });
            let mut at = 0;
            for (start, length) in parts {
                let length = length.min(bytes - at);
                if start.is_null() || length == 0 {
                    continue;
                }
                // SAFETY: as the caller guarantees.
                let text = unsafe { core::slice::from_raw_parts(start, length) };
                sink.buffered_start = taken.direction_state().unfinished_position();
                taken.direction_state().walk_transfer(text, at, conversation, &mut sink);
                at += length;
                taken.direction_state().note_unfinished_position(at, |offset| {
                    origin.transfer_position(direction, offset)
                });
            }
        }
    }
}

/// Removes the state of a session that ends.
pub(crate) fn forget(session: *const c_void) {
    if recording_options().keeps_any_snippets() {
        sessions::forget_session(session.addr());
    }
}

/// Notes an encrypted transfer for the session of the TLS function that the thread is within, if
/// there is one.
///
/// # Safety
/// The buffers are readable as far as the transfer has bytes.
pub(super) unsafe fn note_encrypted(
    conversation: &FlowConversation,
    moved: &StreamTransfer,
    buffers: CallBuffers,
) {
    let mark = thread::current_thread().session.load(Relaxed);
    let session = mark & !1;
    if mark == 0 || !conversation.accepts_session(session) {
        return;
    }
    let is_writing = mark & 1 != 0;
    sessions::with_session(session, |known| {
        if known.flow != moved.flow {
            *known = SessionState {
                flow: moved.flow,
                received: TlsRecords::NOTHING,
                sent: TlsRecords::NOTHING,
            };
        }
        let StreamTransfer { ticks, duration, .. } = *moved;
        match (moved.direction, is_writing) {
            (Direction::Receive, _) => {
                let call = CallTime { begin: ticks.wrapping_sub(duration), end: ticks };
                // SAFETY: as the caller guarantees.
                let mut each = unsafe { buffers.filled_slices(moved.bytes as usize) };
                each.by_ref().for_each(|bytes| known.received.note_received(call, bytes));
                // Earlier sends belonged to a handshake.
                if is_writing {
                    known.sent.forget();
                }
            }
            (Direction::Send, true) => {
                known.sent.note_sent(CallTime { begin: ticks, end: ticks.wrapping_add(duration) });
            }
            (Direction::Send, false) => {}
        }
    });
}
