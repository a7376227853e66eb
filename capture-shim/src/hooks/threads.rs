//! Threads: records which thread created each.
//!
//! Only the new thread knows its own id, and only the creator is certain to be the creator. So the
//! creator leaves its id in a small table of slots, from which the new thread fetches it with its
//! real start function. The new thread logs the creator's id only once it logs something else, so a
//! thread that has nothing to do with sockets takes no space in the log.
//!
//! A thread begins with its creator's signal mask, so a fact about it that only the creator knows
//! is passed in the same way: whether the program has SIGBUS blocked (`log/guard.rs`).

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use crate::c_library::{linker, types};
use crate::log::{self, LogStanding, guard};
use crate::platform::identity;
use crate::state::{child_birth, thread};
use crate::tuning::MAX_NEW_THREADS;

/// Slot of a new thread that has not begun yet.
struct NewThreadSlot {
    /// Id of the thread that creates it; 0 while the slot is free.
    creator: AtomicU32,
    /// The program's start function, and its argument.
    entry: AtomicPtr<c_void>,
    argument: AtomicPtr<c_void>,
    /// Whether the thread begins with SIGBUS blocked, from the program's point of view.
    is_blocked: AtomicBool,
}

/// Slots of threads that have not begun yet.
static NEW_THREADS: [NewThreadSlot; MAX_NEW_THREADS] = [const {
    NewThreadSlot {
        creator: AtomicU32::new(0),
        entry: AtomicPtr::new(core::ptr::null_mut()),
        argument: AtomicPtr::new(core::ptr::null_mut()),
        is_blocked: AtomicBool::new(false),
    }
}; MAX_NEW_THREADS];

/// # Safety
/// As for `pthread_create`.
pub(crate) unsafe fn pthread_create(
    real: types::pthread_create,
    thread: *mut c_void,
    attributes: *const c_void,
    entry: *mut c_void,
    argument: *mut c_void,
) -> c_int {
    child_birth::complete_birth();
    let own = match log::log_standing() {
        LogStanding::Writes(writer) => Some(writer.tid()),
        // The thread may use a socket later, and then its id matters as the creator's.
        LogStanding::NoLogYet(_) => Some(identity::thread_id()),
        LogStanding::Excluded => None,
    };
    let Some(slot) = own.and_then(claim_slot) else {
        // SAFETY: the program's own call.
        return unsafe { real(thread, attributes, entry, argument) };
    };
    // SAFETY: the program's own attributes.
    let is_blocked = guard::is_on() && guard::is_blocked() && !unsafe { has_own_mask(attributes) };
    slot.is_blocked.store(is_blocked, Relaxed);
    slot.entry.store(entry, Relaxed);
    slot.argument.store(argument, Release);
    let begin = begin as *mut c_void;
    // SAFETY: the program's own call; the new thread continues to the program's own function.
    let result =
        unsafe { real(thread, attributes, begin, core::ptr::from_ref(slot).cast_mut().cast()) };
    if result != 0 {
        slot.creator.store(0, Release); // No thread will fetch it.
    }
    result
}

/// Whether the attributes of a new thread have a signal mask, with which it begins instead of its
/// creator's.
///
/// # Safety
/// `attributes` is null or points to attributes of a thread.
unsafe fn has_own_mask(attributes: *const c_void) -> bool {
    let Some(get) = linker::pthread_attr_getsigmask_np() else { return false };
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: as the caller guarantees; libc writes the mask if there is one.
    !attributes.is_null() && unsafe { get(attributes, mask.as_mut_ptr()) } == 0
}

/// Frees all slots in a child, which has none of the threads that would fetch them.
pub(crate) fn forget_starting() {
    // A page that is not written is not copied.
    for slot in NEW_THREADS.iter().filter(|slot| slot.creator.load(Relaxed) != 0) {
        slot.creator.store(0, Relaxed);
    }
}

/// Claims a free slot for the thread `creator`.
fn claim_slot(creator: u32) -> Option<&'static NewThreadSlot> {
    NEW_THREADS.iter().find(|slot| {
        slot.creator.load(Relaxed) == 0
            && slot.creator.compare_exchange(0, creator, AcqRel, Relaxed).is_ok()
    })
}

/// Start of the program's thread: its function and argument.
#[repr(C)]
struct ThreadStart {
    entry: *mut c_void,
    argument: *mut c_void,
}

/// Takes the facts that its creator left for the new thread, which calls this first, and frees the
/// slot. Returns the program's start function and its argument.
unsafe extern "C" fn take_slot(slot: &NewThreadSlot) -> ThreadStart {
    let argument = slot.argument.load(Acquire);
    let entry = slot.entry.load(Relaxed);
    let is_blocked = slot.is_blocked.load(Relaxed);
    let creator = slot.creator.swap(0, AcqRel);
    thread::current_thread().creator.store(creator, Relaxed);
    if is_blocked {
        guard::inherit_blocked();
    }
    ThreadStart { entry, argument }
}

/// First function of a new thread. It jumps to the program's own start function, so that no frame
/// of the library is on the thread's stack.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    core::arch::naked_asm!(
        "sub rsp, 8",
        "call {take_slot}",
        "add rsp, 8",
        "mov rdi, rdx",
        "jmp rax",
        take_slot = sym take_slot,
    )
}

/// First function of a new thread. It jumps to the program's own start function, so that no frame
/// of the library is on the thread's stack.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {take_slot}",
        "ldp x29, x30, [sp], #16",
        "mov x16, x0",
        "mov x0, x1",
        "br x16",
        take_slot = sym take_slot,
    )
}

/// Leaves the rest of the calling thread's chunk of the log to other threads, since the thread
/// ends.
#[cfg(feature = "injected")]
pub(crate) fn thread_ends() {
    crate::log::partial_chunks::thread_ends();
}
