//! Table of the flows whose heads are followed: what is known of each, by its number.
//!
//! A direction is walked over by one thread at a time. One that comes in between, or a signal
//! handler, does not wait: it says that it was there, and what is known of the direction counts as
//! lost.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use super::conversation::Conversation;
use super::direction::Direction;
use crate::state;
use crate::state::options::options;
use crate::tuning::FLOWS_WITH_HEADS;

/// Flow in the table. All of it may be zeros.
#[repr(C, align(64))]
struct Followed {
    /// Number of the flow; 0 for none.
    flow: AtomicU32,
    conversation: Conversation,
    sent: Guarded,
    received: Guarded,
}

/// Direction, and who walks over it.
#[repr(C)]
struct Guarded {
    /// Whether somebody does.
    is_taken: AtomicBool,
    /// Whether others wanted to meanwhile.
    is_disturbed: AtomicBool,
    direction: UnsafeCell<Direction>,
}

// SAFETY: the direction is used only by who has taken it.
unsafe impl Sync for Guarded {}

/// All flows; null where heads are not kept.
static FLOWS: AtomicPtr<Followed> = AtomicPtr::new(ptr::null_mut());

/// Maps the table, where it is needed. False without memory.
pub(super) fn create() -> bool {
    if options().keeps_any_heads() {
        let Some(memory) = state::private_to_process(FLOWS_WITH_HEADS * size_of::<Followed>())
        else {
            return false;
        };
        FLOWS.store(memory.cast(), Relaxed);
    }
    true
}

/// Place of `flow`, which may be another flow's; `None` where heads are not kept.
fn place(flow: u32) -> Option<&'static Followed> {
    let all = FLOWS.load(Relaxed);
    // SAFETY: null, or [`FLOWS_WITH_HEADS`] places, whose zeros are valid and which stay mapped.
    (!all.is_null()).then(|| unsafe { &*all.add(flow as usize % FLOWS_WITH_HEADS) })
}

/// Facts of `flow` that both directions tell; `None` where another flow has its place, or heads are
/// not kept.
pub(super) fn conversation(flow: u32) -> Option<&'static Conversation> {
    let followed = place(flow)?;
    (followed.flow.load(Relaxed) == flow).then_some(&followed.conversation)
}

/// Direction that the calling thread walks over, until this is dropped.
pub(super) struct Taken {
    guarded: &'static Guarded,
    /// Facts of both directions.
    pub(super) conversation: &'static Conversation,
}

impl Guarded {
    fn take(&'static self, conversation: &'static Conversation) -> Option<Taken> {
        if self.is_taken.swap(true, Acquire) {
            self.is_disturbed.store(true, Relaxed);
            return None;
        }
        let mut taken = Taken { guarded: self, conversation };
        if self.is_disturbed.load(Relaxed) {
            self.is_disturbed.store(false, Relaxed);
            taken.direction().lose(conversation);
        }
        Some(taken)
    }
}

impl Taken {
    /// The direction.
    pub(super) fn direction(&mut self) -> &mut Direction {
        // SAFETY: taken, so nobody else uses it.
        unsafe { &mut *self.guarded.direction.get() }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.guarded.is_taken.store(false, Release);
    }
}

/// Takes a direction of `flow`: what is sent, or what is received. `None` where somebody else walks
/// over it, or another flow has its place.
pub(super) fn take(flow: u32, is_sent: bool) -> Option<Taken> {
    let followed = place(flow)?;
    let guarded = if is_sent { &followed.sent } else { &followed.received };
    let taken = guarded.take(&followed.conversation)?;
    (followed.flow.load(Relaxed) == flow).then_some(taken)
}

/// Begins to follow `flow`, in the place of another that has been there. Where that one is walked
/// over at this moment, it stays. The flow's directions were `joined` after their first bytes.
pub(super) fn begin(flow: u32, joined: impl FnOnce() -> [bool; 2]) {
    let Some(followed) = place(flow) else { return };
    let conversation = &followed.conversation;
    let Some(mut sent) = followed.sent.take(conversation) else { return };
    let Some(mut received) = followed.received.take(conversation) else { return };
    let [is_sent_joined, is_received_joined] = joined();
    conversation.clear();
    sent.direction().begin(is_sent_joined);
    received.direction().begin(is_received_joined);
    followed.flow.store(flow, Relaxed);
}
