//! Table of the flows whose bytes are walked over for snippets: the state of each flow, by its
//! number.
//!
//! A direction is walked over by one thread at a time. A second thread, or a signal handler, does
//! not wait: it sets a flag, and the next walk begins in an unknown position.

use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use super::conversation::FlowConversation;
use super::direction::DirectionState;
use super::snippet_writer::TurnBlanking;
use super::turns::TurnStart;
use crate::state;
use crate::state::options::recording_options;
use crate::tuning::FLOWS_WITH_HEADS;

/// Flow in the table. All fields may be zeros. The fields that a message uses are in two cache
/// lines: the first one, and the first one of its direction.
#[repr(C, align(64))]
pub(super) struct FollowedFlow {
    /// Number of the flow; 0 for none.
    flow: AtomicU32,
    /// Locks of the sent and of the received direction.
    guards: [WalkLock; 2],
    conversation: FlowConversation,
    directions: [UnsafeCell<DirectionState>; 2],
    turns: [UnsafeCell<TurnStart>; 2],
}

const _: () = assert!(offset_of!(FollowedFlow, directions) == 64);

/// Lock of a direction.
#[repr(C)]
struct WalkLock {
    /// Whether a thread holds the lock.
    is_taken: AtomicBool,
    /// Whether another thread or a signal handler wanted the lock meanwhile.
    is_disturbed: AtomicBool,
}

// SAFETY: a direction is used only by the thread that holds its lock.
unsafe impl Sync for FollowedFlow {}

/// All flows; null if snippets are not kept.
static FLOWS: AtomicPtr<FollowedFlow> = AtomicPtr::new(ptr::null_mut());

/// Maps the table, if it is needed. Returns false if memory is lacking.
pub(super) fn create_table() -> bool {
    if recording_options().keeps_any_snippets() {
        let Some(memory) = state::private_to_process(FLOWS_WITH_HEADS * size_of::<FollowedFlow>())
        else {
            return false;
        };
        FLOWS.store(memory.cast(), Relaxed);
    }
    true
}

/// Place of `flow` in the table, which another flow may have; `None` if snippets are not kept.
#[inline(always)]
fn flow_place(flow: u32) -> Option<&'static FollowedFlow> {
    let all = FLOWS.load(Relaxed);
    // SAFETY: null, or [`FLOWS_WITH_HEADS`] places, which stay mapped and in which zeros are valid.
    (!all.is_null()).then(|| unsafe { &*all.add(flow as usize % FLOWS_WITH_HEADS) })
}

/// State of `flow`; `None` if another flow has its place, or snippets are not kept.
#[inline(always)]
pub(super) fn followed_flow(flow: u32) -> Option<&'static FollowedFlow> {
    flow_place(flow).filter(|followed| followed.flow.load(Relaxed) == flow)
}

/// Direction that the calling thread walks over, until this is dropped. It fits into two registers.
pub(super) struct TakenDirection {
    followed: &'static FollowedFlow,
    is_received: bool,
}

impl FollowedFlow {
    /// Facts shared by both directions.
    #[inline(always)]
    pub(super) fn conversation(&self) -> &FlowConversation {
        &self.conversation
    }

    /// Locks the sent or the received direction of `flow`. `None` if another thread holds it, or
    /// another flow has the place by now.
    #[inline(always)]
    pub(super) fn take_direction(
        &'static self,
        flow: u32,
        is_sent: bool,
    ) -> Option<TakenDirection> {
        let taken = self.take_any(is_sent)?;
        (self.flow.load(Relaxed) == flow).then_some(taken)
    }

    /// Locks the sent or the received direction of any flow that has the place.
    #[inline(always)]
    fn take_any(&'static self, is_sent: bool) -> Option<TakenDirection> {
        let [of_sent, of_received] = &self.guards;
        let guard = if is_sent { of_sent } else { of_received };
        if guard.is_taken.swap(true, Acquire) {
            guard.is_disturbed.store(true, Relaxed);
            return None;
        }
        let mut taken = TakenDirection { followed: self, is_received: !is_sent };
        if guard.is_disturbed.load(Relaxed) {
            taken.lose_track();
        }
        Some(taken)
    }
}

impl TakenDirection {
    /// Facts shared by both directions.
    #[inline(always)]
    pub(super) fn conversation(&self) -> &'static FlowConversation {
        &self.followed.conversation
    }

    /// State of the direction.
    #[inline(always)]
    pub(super) fn direction_state(&mut self) -> &mut DirectionState {
        let [sent, received] = &self.followed.directions;
        // SAFETY: locked, so nothing else uses it.
        unsafe { &mut *(if self.is_received { received } else { sent }).get() }
    }

    /// Number of the direction: 0 if received, 1 if sent.
    #[inline(always)]
    pub(super) fn direction_number(&self) -> u8 {
        u8::from(!self.is_received)
    }

    /// Beginning of the direction's turn.
    #[inline(always)]
    pub(super) fn turn_start(&self) -> *mut TurnStart {
        let [sent, received] = &self.followed.turns;
        if self.is_received { received.get() } else { sent.get() }
    }

    /// Blanking of the direction's turns.
    ///
    /// # Safety
    /// Only one [`TurnBlanking`] is used at a time, and only before `self` is dropped.
    pub(super) unsafe fn turn_blanking(&self) -> TurnBlanking {
        // SAFETY: as the caller guarantees.
        let turn = unsafe { &mut *self.turn_start() };
        TurnBlanking { turn, conversation: self.conversation(), direction: self.direction_number() }
    }

    #[inline(always)]
    fn walk_lock(&self) -> &'static WalkLock {
        let [of_sent, of_received] = &self.followed.guards;
        if self.is_received { of_received } else { of_sent }
    }

    /// Discards the state of the direction, since a disturbing thread's bytes are missing.
    #[cold]
    #[inline(never)]
    fn lose_track(&mut self) {
        self.walk_lock().is_disturbed.store(false, Relaxed);
        let conversation = self.conversation();
        self.direction_state().lose_track(conversation);
    }
}

impl Drop for TakenDirection {
    #[inline(always)]
    fn drop(&mut self) {
        self.walk_lock().is_taken.store(false, Release);
    }
}

/// Locks a direction of `flow`: the sent or the received bytes. `None` if another thread holds it,
/// or another flow has its place.
pub(super) fn take_direction(flow: u32, is_sent: bool) -> Option<TakenDirection> {
    flow_place(flow)?.take_direction(flow, is_sent)
}

/// Begins to follow `flow`, in place of an earlier flow. If a thread is walking over the earlier
/// flow at this moment, that flow stays. `missed_bytes` returns for the sent and for the received
/// direction whether bytes have passed already.
pub(super) fn begin_flow(flow: u32, missed_bytes: impl FnOnce() -> [bool; 2]) {
    let Some(followed) = flow_place(flow) else { return };
    let Some(mut sent) = followed.take_any(true) else { return };
    let Some(mut received) = followed.take_any(false) else { return };
    let [missed_sent, missed_received] = missed_bytes();
    followed.conversation.clear();
    sent.direction_state().begin_walk(missed_sent);
    received.direction_state().begin_walk(missed_received);
    followed.flow.store(flow, Relaxed);
}
