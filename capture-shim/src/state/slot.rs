//! Slot of a thread, in an image that the library is injected into: the thread's state, and the
//! stack that hooks run on.
//!
//! The image has no thread-local storage that the library could use. The base of the GS segment,
//! which neither libc nor Go's runtime uses, is the address of the thread's slot. A new thread
//! begins with the address of its creator's slot; [`Slot::owner`] distinguishes the two threads.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

use super::goroutine::Goroutine;
use super::thread::{OFFSET_IN_SLOT, ThreadLogState};
use crate::tuning::{MAX_READY, READY_AT_FIRST, READY_PER_CALL};

/// Memory of a thread. `exports/injected/entries.rs` uses the offsets of its fields.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Address of the slot itself.
    pub(crate) own: AtomicUsize,
    /// FS base of the thread that the slot belongs to. No thread has [`NO_THREAD`].
    pub(crate) owner: AtomicUsize,
    /// End of the slot's stack, at which its use begins.
    pub(crate) stack_end: AtomicUsize,
    /// Length of the slot's stack, in bytes.
    pub(crate) stack_length: AtomicUsize,
    /// Address below which the next hook's stack frame is placed: below all frames that wait for
    /// their system call.
    pub(crate) floor: AtomicUsize,
    /// Frame that waits for its system call, the newest first; null for none.
    pub(crate) waiting: AtomicPtr<u8>,
    /// Frame of the hook that runs.
    pub(crate) running: AtomicPtr<u8>,
    /// Lowest address of the alternate stack for signals.
    pub(crate) alternate: AtomicUsize,
    /// Length of the alternate stack for signals, in bytes; 0 for none.
    pub(crate) alternate_length: AtomicUsize,
    /// Stack pointer of the program at its `vfork`, or 0 outside of one.
    pub(crate) vfork_stack: AtomicUsize,
    /// Number of system calls that were made without a hook.
    pub(crate) skipped: AtomicU64,
    /// Number of the goroutine that the hook is for; 0 if it is not known, or for none.
    pub(crate) goroutine: AtomicU64,
    /// Number of the goroutine that started [`Slot::goroutine`]; 0 for none.
    pub(crate) creator: AtomicU64,
    /// Number of the goroutine recorded for the records in the thread's chunk; 0 for none.
    pub(crate) recorded_goroutine: AtomicU64,
    /// Number of records of woken goroutines that may still be written, see
    /// [`Slot::may_record_ready`].
    ready_left: AtomicU64,
    /// [`Slot::waiting`] at the program's `vfork`.
    pub(crate) vfork_waiting: AtomicPtr<u8>,
    /// [`Slot::floor`] at the program's `vfork`.
    pub(crate) vfork_floor: AtomicUsize,
    errno: UnsafeCell<c_int>,
    reserved: [AtomicU64; 6],
    /// State of the thread, as on other images.
    pub(crate) thread: ThreadLogState,
}

// SAFETY: only the slot's own thread uses it, and its `errno`.
unsafe impl Sync for Slot {}

/// Owner of the slot that belongs to no thread.
pub(crate) const NO_THREAD: usize = 1;

const _: () = assert!(core::mem::offset_of!(Slot, thread) == OFFSET_IN_SLOT);

impl Slot {
    /// Attributes further records to `goroutine`, or to the thread itself if its number is 0.
    #[inline(always)]
    pub(crate) fn set_goroutine(&self, goroutine: Goroutine) {
        self.goroutine.store(goroutine.number, Relaxed);
        self.creator.store(goroutine.creator, Relaxed);
    }

    /// Allows the first records of woken goroutines in a new thread: a goroutine that has read from
    /// a socket on another thread may continue on this one.
    pub(crate) fn allow_ready_at_first(&self) {
        self.ready_left.store(READY_AT_FIRST, Relaxed);
    }

    /// Allows some more records of woken goroutines, as the thread is at a system call.
    #[inline(always)]
    pub(crate) fn replenish_ready(&self) {
        let left = self.ready_left.load(Relaxed) + READY_PER_CALL;
        self.ready_left.store(left.min(MAX_READY), Relaxed);
    }

    /// Whether one more record of a woken goroutine may be written. In a program that mostly
    /// computes, most such records contribute nothing about messages.
    #[inline(always)]
    pub(crate) fn may_record_ready(&self) -> bool {
        self.ready_left.load(Relaxed) > 0
    }

    /// Decrements the number of records of woken goroutines that may still be written.
    #[inline(always)]
    pub(crate) fn count_ready(&self) {
        self.ready_left.store(self.ready_left.load(Relaxed).saturating_sub(1), Relaxed);
    }
}

/// Slot of the calling thread.
#[inline(always)]
pub(crate) fn current_slot() -> &'static Slot {
    let address: usize;
    // SAFETY: hooks run only if GS points to a slot, which is never unmapped.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr gs:[0]",
            out(reg) address,
            options(pure, readonly, nostack),
        );
        &*core::ptr::with_exposed_provenance::<Slot>(address)
    }
}

/// Address of the calling thread's `errno`, like libc's function of this name.
#[unsafe(no_mangle)]
extern "C" fn __errno_location() -> *mut c_int {
    current_slot().errno.get()
}
