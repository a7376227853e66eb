//! Plain text of TLS libraries: what their functions read and write, as heads of the flow that it
//! is encrypted on.
//!
//! While a thread is within such a function, it has a mark with the session. Transfers that the
//! thread makes meanwhile tell the session's flow and the times of its records. A mark that stays,
//! because the program jumped out of the function, does no harm: only the next such function asks
//! what was noted.

use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::Direction;

use super::conversation::Conversation;
use super::records::{Moment, Records};
use super::sessions::{self, Known};
use super::table;
use super::written::Written;
use crate::flows::Buffers;
use crate::log::{self, Transfer};
use crate::platform::clock;
use crate::state::options::options;
use crate::state::thread::{self, Thread};

/// Function of a TLS library that the calling thread is within.
pub(crate) struct Within {
    thread: &'static Thread,
    session: usize,
    direction: Direction,
    /// Mark that the thread had before: another session, whose bytes this one's are.
    before: [usize; 2],
}

/// Marks that the thread is within a function that moves plain text of `session` in that direction.
/// `None` where heads are not kept, and where one function of a session calls another.
#[inline(always)]
pub(crate) fn enter(session: *const c_void, direction: Direction) -> Option<Within> {
    if options().keeps_any_heads() { mark(session.addr(), direction) } else { None }
}

/// Whether plain text is looked at.
#[inline(always)]
pub(crate) fn is_wanted() -> bool {
    options().keeps_any_heads()
}

#[inline(never)]
fn mark(session: usize, direction: Direction) -> Option<Within> {
    let thread = thread::current();
    let before = [&thread.session, &thread.session_frame].map(|place| place.load(Relaxed));
    // The stack grows down.
    let frame = (&raw const before).addr();
    let is_inner = before == [marked(session, direction), before[1]] && frame < before[1];
    if session == 0 || session & 1 != 0 || is_inner || !sessions::begin(session) {
        return None;
    }
    thread.session.store(marked(session, direction), Relaxed);
    thread.session_frame.store(frame, Relaxed);
    Some(Within { thread, session, direction, before })
}

/// Mark of a session, whose address is even, and of a direction.
fn marked(session: usize, direction: Direction) -> usize {
    session | usize::from(direction == Direction::Send)
}

impl Within {
    /// Takes the mark away, and keeps the heads in the `bytes` bytes of plain text that lie in
    /// `parts`, each a place and its largest length, where the program asked for at most `most`.
    ///
    /// # Safety
    /// The parts are null or readable as far as that.
    #[inline(never)]
    pub(crate) unsafe fn leave(
        self,
        parts: impl Iterator<Item = (*const u8, usize)>,
        bytes: usize,
        most: usize,
    ) {
        let Within { thread, session, direction, before: [mark, frame] } = self;
        thread.session.store(mark, Relaxed);
        thread.session_frame.store(frame, Relaxed);
        if bytes == 0 {
            return;
        }
        let given = sessions::with(session, |known| {
            let records = match direction {
                Direction::Receive => &mut known.received,
                Direction::Send => &mut known.sent,
            };
            let origin = records.give(bytes, most);
            if direction == Direction::Send {
                records.forget();
            }
            (known.flow, origin)
        });
        let Some((flow, origin)) = given.filter(|(flow, _)| *flow != 0) else { return };
        let Some(mut taken) = table::take(flow, direction == Direction::Send) else { return };
        let conversation = taken.conversation();
        if !conversation.is_plain_of(session) {
            return;
        }
        taken.direction().become_plain();
        let Some(origin) = origin else {
            return taken.direction().pass(bytes as u64, conversation);
        };
        let Moment { begin, end } = origin.moment();
        let turns = conversation.turns(u8::from(direction == Direction::Send));
        taken.direction().call(begin, end, turns, conversation);
        if let Some(writer) = log::existing() {
            let sink = Written::of_plain(writer, direction, flow, origin, clock::now());
            // SAFETY: the direction is taken as long as the sink is used.
            let mut sink = sink.blanking(unsafe { taken.blanking() });
            let mut at = 0;
            for (start, length) in parts {
                let length = length.min(bytes - at);
                if start.is_null() || length == 0 {
                    continue;
                }
                // SAFETY: as the caller says.
                let text = unsafe { core::slice::from_raw_parts(start, length) };
                sink.held = taken.direction().held();
                taken.direction().walk(text, at, conversation, &mut sink);
                at += length;
                taken.direction().note_held(at, |offset| origin.held_at(direction, offset));
            }
        }
    }
}

/// Forgets a session that ends.
pub(crate) fn forget(session: *const c_void) {
    if options().keeps_any_heads() {
        sessions::forget(session.addr());
    }
}

/// Notes an encrypted transfer for the session that the thread is within, if it is within one.
///
/// # Safety
/// The buffers are readable as far as the transfer has bytes.
pub(super) unsafe fn note(conversation: &Conversation, moved: &Transfer, buffers: Buffers) {
    let mark = thread::current().session.load(Relaxed);
    let session = mark & !1;
    if mark == 0 || !conversation.may_be_plain_of(session) {
        return;
    }
    let is_writing = mark & 1 != 0;
    sessions::with(session, |known| {
        if known.flow != moved.flow {
            *known = Known { flow: moved.flow, received: Records::NOTHING, sent: Records::NOTHING };
        }
        let Transfer { ticks, duration, .. } = *moved;
        match (moved.direction, is_writing) {
            (Direction::Receive, _) => {
                let moment = Moment { begin: ticks.wrapping_sub(duration), end: ticks };
                // SAFETY: as the caller says.
                let mut each = unsafe { buffers.filled(moved.bytes as usize) };
                each.by_ref().for_each(|bytes| known.received.received(moment, bytes));
                // What was sent before was a handshake's.
                if is_writing {
                    known.sent.forget();
                }
            }
            (Direction::Send, true) => {
                known.sent.sent(Moment { begin: ticks, end: ticks.wrapping_add(duration) });
            }
            (Direction::Send, false) => {}
        }
    });
}
