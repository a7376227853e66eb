//! State of the process, in memory that the kernel passes to a child as zeros.
//!
//! `pthread_atfork` sees only `fork`; `MADV_WIPEONFORK` works for every way of making a process
//! with a copy of the memory. A child that reads a zero generation knows that it has no log yet.
//! State that is the same in a child (paths, names) is in [`super::settings`] instead.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use socket_log::layout::{Anchor, FileHeader};

use super::ChunkQueue;
use crate::platform::raw;
use crate::platform::text::{BoundedText, PATH};
use crate::tuning::{MAX_PARTIAL_CHUNKS, MAX_SEGMENTS};

/// State of one process. All fields begin as zeros, and stay zeros in a process that uses no
/// socket.
#[repr(C)]
pub(crate) struct ProcessState {
    /// Generation of the process and its log: the ticks at the log's start; 0 before the start.
    pub(crate) generation: AtomicU64,
    /// Id of the thread that starts the log, or has started it.
    pub(crate) starting: AtomicU32,
    /// Flag of a process in which a thread was about to make a `vfork` child while there was no
    /// log, see `log/writer.rs`.
    pub(crate) has_vforked: AtomicU32,
    /// Flag of the process in which the program began, until it ends. Its children do not have it.
    pub(crate) began_program: AtomicU32,
    /// Flag of a log that was made ahead and is empty, even without a header.
    pub(crate) unused: AtomicU32,
    /// Count of children without a log, which they share, see `log/children_without_log.rs`; null
    /// before there are children.
    pub(crate) without_log: AtomicPtr<AtomicU64>,
    /// Number of threads that have had a chunk.
    pub(crate) writers: AtomicU32,
    /// Start time of the process; zeros if the start was not seen. Written before the process has a
    /// second thread.
    pub(crate) birth: UnsafeCell<Anchor>,
    /// Number of flows so far.
    pub(crate) flows: AtomicU32,
    /// Cause for which the log grows no further, of [`socket_log::layout::lost`], plus one; 0 while
    /// it grows.
    pub(crate) stopped: AtomicU32,
    /// Pause after a failed attempt to extend the log: how many records are dropped before the next
    /// attempt, and the cause, see `log/causes.rs`.
    pub(crate) pause: AtomicU64,
    /// Largest descriptor with an entry in the table, plus one.
    pub(crate) descriptors: AtomicU32,
    /// Header of the log, mapped; null without a log.
    pub(crate) header: AtomicPtr<FileHeader>,
    /// Segments of the log, each mapped when it is first needed.
    pub(crate) segments: [AtomicPtr<u8>; MAX_SEGMENTS],
    /// Reserve: the mapping of the whole log that was made ahead, see `log/log_reserve.rs`; null
    /// without one.
    pub(crate) reserve: AtomicPtr<u8>,
    /// Length of the reserve, in bytes.
    pub(crate) reserve_length: AtomicUsize,
    /// Length of the part of the reserve, from its beginning, that is allocated on the disk, in
    /// bytes.
    pub(crate) reserve_ready: AtomicUsize,
    /// Number of messages that were not logged because the log could not be started yet.
    pub(crate) missed: AtomicU64,
    /// Chunks that can be reused, if the log keeps the newest.
    pub(crate) queue: ChunkQueue,
    /// Cursors of partial chunks of ended threads.
    pub(crate) partial_chunks: [AtomicUsize; MAX_PARTIAL_CHUNKS],
    /// Device and inode of the log, written with its path; zeros if they are not known.
    pub(crate) identity: [AtomicU64; 2],
    /// Path of the log, which the thread that starts the log writes before the generation.
    pub(crate) path: UnsafeCell<BoundedText<PATH>>,
    /// Flag of a process in which a stdio stream of libc has moved bytes of a socket: libc may
    /// write more bytes when the process ends.
    pub(crate) has_buffered: AtomicU32,
}

impl ProcessState {
    /// Whether the process's log was made ahead, for a time when none can be made, and is empty.
    pub(crate) fn is_unused(&self) -> bool {
        self.unused.load(Ordering::Relaxed) != 0
    }

    /// Path of the log.
    pub(crate) fn log_path(&self) -> &CStr {
        // SAFETY: called by threads that have seen the generation, and nothing writes it any more
        // then.
        unsafe { &*self.path.get() }.as_c_str()
    }
}

/// State of this process; null before it is mapped.
#[unsafe(link_section = ".data.often_read")]
static STATE: AtomicPtr<ProcessState> = AtomicPtr::new(ptr::null_mut());

/// Words by which the recorder that has injected the library switches its hooks off from outside,
/// if the recorder cannot remove the library: if it may not stop the process, or another process
/// traces it. Without the state nothing is logged, so no hook needs an additional check for this.
#[cfg(feature = "injected")]
#[repr(C)]
struct HookSwitch {
    /// Place of the pointer to the state.
    state: &'static AtomicPtr<ProcessState>,
    /// The pointer, saved while hooks are switched off.
    saved: AtomicPtr<ProcessState>,
    /// Offset of the pointer to the log's header in the state.
    header: usize,
    /// Offset of the process's progress in the header.
    progress: usize,
    /// Value that the progress gets.
    switched_off: u64,
}

/// The switch, which the injector finds by this name.
#[cfg(feature = "injected")]
#[unsafe(no_mangle)]
static sockcap_switch: HookSwitch = HookSwitch {
    state: &STATE,
    saved: AtomicPtr::new(ptr::null_mut()),
    header: core::mem::offset_of!(ProcessState, header),
    progress: core::mem::offset_of!(FileHeader, state),
    switched_off: socket_log::layout::state::LEFT as u64,
};

/// Restores the pointer to the state after the recorder has switched hooks off. No thread of the
/// program runs meanwhile.
#[cfg(feature = "injected")]
pub(crate) fn restore_state() {
    let kept = sockcap_switch.saved.swap(ptr::null_mut(), Ordering::Relaxed);
    if !kept.is_null() {
        let _ = STATE.compare_exchange(ptr::null_mut(), kept, Ordering::Release, Ordering::Relaxed);
    }
}

/// Whether the kernel wipes the state in children (1). If not, the hook of `fork` wipes it.
static WIPED: AtomicU32 = AtomicU32::new(0);

/// State of the process, once [`create_state`] has run.
#[inline(always)]
pub(crate) fn current_state() -> Option<&'static ProcessState> {
    let state = STATE.load(Ordering::Acquire);
    // SAFETY: null or a mapping that is never removed, in which zeros are valid.
    unsafe { state.as_ref() }
}

/// Maps the state. Returns false if memory is lacking.
pub(crate) fn create_state() -> bool {
    let Some(memory) = private_to_process(size_of::<ProcessState>()) else { return false };
    STATE.store(memory.cast(), Ordering::Release);
    true
}

/// Maps zeroed memory that a child finds zeroed again. It is never unmapped by the library.
pub(crate) fn private_to_process(length: usize) -> Option<*mut u8> {
    let memory = raw::map_anonymous(length)?;
    // SAFETY: the mapping is new; that a child loses it is intended.
    let wiped = unsafe { raw::advise_mapping(memory, length, libc::MADV_WIPEONFORK) };
    WIPED.store(u32::from(wiped), Ordering::Relaxed);
    #[cfg(feature = "injected")]
    crate::platform::mapped_memory::note_mapping(memory, length);
    Some(memory)
}

/// Whether the kernel wipes the state in a child.
pub(crate) fn is_wiped_on_fork() -> bool {
    WIPED.load(Ordering::Relaxed) != 0
}
