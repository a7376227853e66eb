//! Contexts of queued sends: at the end of each turn (one iteration of the event loop), the loop
//! sends what contexts have written, by descriptor. A send without an entry belongs to the context
//! that the thread runs.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::tuning::QUEUED_DESCRIPTORS;

/// Turn and number of the writer's context, for each descriptor; number 0 for none.
static WRITERS: [AtomicU64; QUEUED_DESCRIPTORS] = [const { AtomicU64::new(0) }; QUEUED_DESCRIPTORS];

/// Number of the turn in which sends are queued. Writers of earlier turns count no more: their
/// transports were closed before the end of the turn.
static TURN: AtomicU32 = AtomicU32::new(0);

/// Notes that a new turn begins to queue sends.
pub(super) fn begin_turn() {
    TURN.fetch_add(1, Relaxed);
}

/// Notes that the context of this number has written to a descriptor. If another context has
/// written to it in the same turn, the message belongs to both, and none is named.
pub(super) fn note_writer(descriptor: c_int, number: u32, is_queued: bool) {
    let Some(entry) = entry_of(descriptor) else { return };
    let own = pack(TURN.load(Relaxed), number);
    let is_shared = is_queued && entry.load(Relaxed) != own;
    entry.store(if is_shared { 0 } else { own }, Relaxed);
}

/// Number of the context that has written what is about to be sent on a descriptor; `None` if that
/// is not known, or the number was taken before.
pub(super) fn take_writer(descriptor: c_int) -> Option<u32> {
    let entry = entry_of(descriptor)?;
    let taken = entry.load(Relaxed);
    if taken == 0 {
        return None;
    }
    entry.store(0, Relaxed);
    let number = taken as u32;
    (taken == pack(TURN.load(Relaxed), number) && number != 0).then_some(number)
}

fn entry_of(descriptor: c_int) -> Option<&'static AtomicU64> {
    WRITERS.get(usize::try_from(descriptor).ok()?)
}

fn pack(turn: u32, number: u32) -> u64 {
    u64::from(turn) << 32 | u64::from(number)
}
