//! The process's own state, in memory that the kernel hands to a child as zeros.
//!
//! `pthread_atfork` sees only `fork`; `MADV_WIPEONFORK` works for every way of making a process
//! with a copy of the memory. A child that reads a zero generation knows that it has no log yet.
//! What stays the same in a child (paths, names) is in [`crate::environment`] instead.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use socket_log::layout::{Anchor, FileHeader};

use super::Queue;
use crate::platform::raw;
use crate::platform::text::{PATH, Text};
use crate::tuning::{MAX_LEAVINGS, MAX_SEGMENTS};

/// One process's state. All of it begins as zeros, in a process that uses no socket to its end.
#[repr(C)]
pub(crate) struct State {
    /// Names this process and its log: the ticks at its start. 0: not started.
    pub(crate) generation: AtomicU64,
    /// The thread that starts the log, or has.
    pub(crate) starting: AtomicU32,
    /// Set where a thread was about to make a `vfork` child while there was no log, see
    /// [`crate::log`].
    pub(crate) has_vforked: AtomicU32,
    /// Set while the log is one that was made ahead and has nothing in it, not even a header.
    pub(crate) unused: AtomicU32,
    /// Where this process's children count themselves, see [`crate::family`]; null before there are
    /// any.
    pub(crate) without_log: AtomicPtr<AtomicU64>,
    /// How many threads have had a chunk.
    pub(crate) writers: AtomicU32,
    /// When the process began. Written before it has a second thread; zeros where its beginning was
    /// not seen.
    pub(crate) birth: UnsafeCell<Anchor>,
    /// Flows numbered so far.
    pub(crate) flows: AtomicU32,
    /// Why the log grows no further: a cause of [`socket_log::layout::lost`] plus one; 0 while it
    /// grows.
    pub(crate) stopped: AtomicU32,
    /// How many times the log is not to be grown before that is tried again, and for what cause;
    /// see [`crate::segment`].
    pub(crate) pause: AtomicU64,
    /// One more than the largest descriptor with an entry in the table.
    pub(crate) descriptors: AtomicU32,
    /// The log's header, mapped; null without a log.
    pub(crate) header: AtomicPtr<FileHeader>,
    /// The log's parts, mapped, each when it is first needed.
    pub(crate) segments: [AtomicPtr<u8>; MAX_SEGMENTS],
    /// The whole log as it was mapped ahead, see [`crate::reserve`]; null without that.
    pub(crate) reserve: AtomicPtr<u8>,
    /// How long that is.
    pub(crate) reserve_length: AtomicUsize,
    /// How much of it, from its beginning, has room on the disk.
    pub(crate) reserve_ready: AtomicUsize,
    /// Messages that were not logged because the log could not be begun yet, see [`crate::start`].
    pub(crate) missed: AtomicU64,
    /// The chunks that can be used again, where the log keeps the newest.
    pub(crate) queue: Queue,
    /// What threads that ended left of their chunks.
    pub(crate) leavings: [AtomicUsize; MAX_LEAVINGS],
    /// The log's path. Written by the thread that starts the log, before the generation.
    pub(crate) path: UnsafeCell<Text<PATH>>,
}

impl State {
    /// Whether the process's log was made ahead, for a time when none can be made, and nothing is
    /// in it.
    pub(crate) fn is_unused(&self) -> bool {
        self.unused.load(Ordering::Relaxed) != 0
    }

    /// The log's path.
    pub(crate) fn path(&self) -> &CStr {
        // SAFETY: asked by those who have seen the generation, and nobody writes it any more then.
        unsafe { &*self.path.get() }.as_c_str()
    }
}

static STATE: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

/// Whether children find the state wiped; where the kernel cannot do that, the hook of `fork` does.
static WIPED: AtomicU32 = AtomicU32::new(0);

/// The state, once [`create`] has run.
#[inline(always)]
pub(crate) fn current() -> Option<&'static State> {
    let state = STATE.load(Ordering::Acquire);
    // SAFETY: null or a mapping that is never removed and whose zeros are valid.
    unsafe { state.as_ref() }
}

/// Maps the state; false when there is no memory.
pub(crate) fn create() -> bool {
    let Some(memory) = private_to_process(size_of::<State>()) else { return false };
    STATE.store(memory.cast(), Ordering::Release);
    true
}

/// Maps zeroed memory that a child finds zeroed again.
pub(crate) fn private_to_process(length: usize) -> Option<*mut u8> {
    let memory = raw::map_anonymous(length)?;
    // SAFETY: the mapping is new; that a child loses it is the purpose.
    let wiped = unsafe { raw::advise(memory, length, libc::MADV_WIPEONFORK) };
    WIPED.store(u32::from(wiped), Ordering::Relaxed);
    Some(memory)
}

/// Whether the kernel wipes the state in a child.
pub(crate) fn is_wiped_on_fork() -> bool {
    WIPED.load(Ordering::Relaxed) != 0
}
