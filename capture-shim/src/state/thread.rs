//! What each thread keeps: its place in the log, and what proves that place to be its own.
//!
//! The memory is initial-exec thread-local storage made by hand, because the general kind goes
//! through `__tls_get_addr`, which may call `malloc`, and because `#[thread_local]` is not stable.
//! There is no destructor: a thread's end leaves nothing to do.
//!
//! `fork` copies this memory while it wipes the process's state, and a `vfork` child shares it with
//! its parent; [`Thread::generation`] is what tells such copies apart, see [`crate::log`].

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use super::Peers;
use crate::tuning::MAX_RETIRED;

/// One thread's part. All of it begins as zeros. Only the thread itself and its signal handlers use
/// it, so the atomics are for the handlers and cost nothing.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// The process's generation when the thread was attached to the log, or 0 when it must be
    /// looked at anew.
    pub(crate) generation: AtomicU64,
    /// Where the next record goes; a multiple of the chunk's size when there is no room (or no
    /// chunk).
    pub(crate) cursor: AtomicUsize,
    /// The ticks of the latest anchor in the thread's chunk.
    pub(crate) anchor: AtomicU64,
    /// The ticks of the latest transfer or anchor in the thread's chunk; 0 while that is not
    /// settled.
    pub(crate) latest: AtomicU64,
    /// As [`Thread::generation`], but kept while that one is set aside for a `vfork`.
    pub(crate) attached: AtomicU64,
    /// The thread's id when it was attached.
    pub(crate) tid: AtomicU32,
    /// How many ticks from the latest anchor on the next one is due.
    pub(crate) reach: AtomicU32,
    /// The thread that started it, until the log has that; 0 for none or not known.
    pub(crate) creator: AtomicU32,
    /// Whether the thread has begun to end, see [`crate::ended`].
    pub(crate) ended: AtomicU32,
    /// What a `vfork` child has left in this thread's memory, see [`crate::environment`]; null for
    /// nothing.
    pub(crate) left: AtomicPtr<u8>,
    /// Full chunks that are kept from being used again while an interrupted record is still to be
    /// written into them, see [`crate::recycle::retire`]; 0 for none.
    pub(crate) retired: [AtomicUsize; MAX_RETIRED],
    /// Whom its latest datagrams went to.
    pub(crate) sent_to: Peers,
    /// Whom they came from.
    pub(crate) received_from: Peers,
}

const _: () = assert!(size_of::<Thread>() == 512);

core::arch::global_asm!(
    ".pushsection .tbss.sockcap_thread,\"awT\",@nobits",
    ".globl sockcap_thread",
    ".hidden sockcap_thread",
    ".type sockcap_thread, @object",
    ".size sockcap_thread, 512",
    ".balign 64",
    "sockcap_thread:",
    ".zero 512",
    ".popsection",
);

/// The calling thread's part.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn current() -> &'static Thread {
    let address: usize;
    // SAFETY: reads the thread pointer and the offset that the dynamic linker filled in; the
    // storage is zeroed, aligned and lives as long as the thread.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + sockcap_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) address,
            options(pure, readonly, nostack),
        );
        &*(address as *const Thread)
    }
}

/// The calling thread's part.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn current() -> &'static Thread {
    let address: usize;
    // SAFETY: as on x86-64.
    unsafe {
        core::arch::asm!(
            "adrp {0}, :gottprel:sockcap_thread",
            "ldr {0}, [{0}, :gottprel_lo12:sockcap_thread]",
            "mrs {1}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) address,
            out(reg) _,
            options(pure, readonly, nostack),
        );
        &*(address as *const Thread)
    }
}
