//! State of each thread: its place in the log, and the proof that the place is its own.
//!
//! The memory is a part of the thread's slot if the library was injected. Otherwise it is
//! initial-exec thread-local storage made by hand, because the general kind goes through
//! `__tls_get_addr`, which may call `malloc`, and because `#[thread_local]` is not stable. There is
//! no destructor: a thread's end requires no action.
//!
//! `fork` copies this memory while it wipes the process's state, and a `vfork` child shares it with
//! its parent; [`ThreadLogState::generation`] distinguishes such copies, see `log/writer.rs`.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use super::{DatagramPeers, RecentSockets};
use crate::tuning::MAX_RETIRED;

/// State of one thread. All fields begin as zeros. Only the thread itself and its signal handlers
/// use them, so the atomics are for the handlers and cost nothing.
#[repr(C, align(64))]
pub(crate) struct ThreadLogState {
    /// Generation of the process when the thread was attached to the log, or 0 if it must be
    /// checked anew.
    pub(crate) generation: AtomicU64,
    /// Address of the next record; a multiple of the chunk's size if the chunk is full, or 0 if
    /// there is none.
    pub(crate) cursor: AtomicUsize,
    /// Ticks of the latest anchor in the thread's chunk.
    pub(crate) anchor: AtomicU64,
    /// Ticks of the latest transfer or anchor in the thread's chunk; 0 while it is undetermined.
    pub(crate) latest: AtomicU64,
    /// Number of the context that the thread runs, see `runtimes/contexts.rs`; 0 for none. Next to
    /// the fields that each record reads anyway.
    pub(crate) context: AtomicU32,
    /// Number of the context recorded for the records in the thread's chunk; 0 for none.
    pub(crate) recorded_context: AtomicU32,
    /// Id of the thread when it was attached.
    pub(crate) tid: AtomicU32,
    /// Number of ticks from the latest anchor up to which records may be written.
    pub(crate) reach: AtomicU32,
    /// Id of the thread that started this one, until it is in the log; 0 for none or unknown.
    pub(crate) creator: AtomicU32,
    /// Whether the thread has begun to end, see `log/partial_chunks.rs`, and whether it has SIGBUS
    /// blocked, from the program's point of view, see `log/guard.rs`: a bit each. The other bits
    /// are the descriptor that the thread prints to, see `hooks/stdio.rs`, plus one; 0 for none.
    marks: AtomicU32,
    /// Mapping that a `vfork` child has left in this thread's memory, see [`super::inherit`]; null
    /// for none.
    pub(crate) child_mapping: AtomicPtr<u8>,
    /// Full chunks that must not be reused yet because an interrupted record is still to be written
    /// into them, see `log/recycle.rs`; 0 for none.
    pub(crate) retired: [AtomicUsize; MAX_RETIRED],
    /// Mark of the TLS library's function that the thread is within, see
    /// `flows/message_snippets/plain.rs`; 0 for none.
    pub(crate) session: AtomicUsize,
    /// Address in the stack where the function of `session` was called.
    pub(crate) session_frame: AtomicUsize,
    /// Value of [`ThreadLogState::generation`] when the thread was attached to the log. It stays
    /// while `generation` is 0 for a `vfork`.
    pub(crate) attached: AtomicU64,
    /// Number of records of woken contexts since the last other record.
    pub(crate) in_a_row: AtomicU32,
    /// Position in the thread's chunk after the last of the records that `in_a_row` counts.
    pub(crate) after_last_ready: AtomicU32,
    /// Ticks at the birth of the process, if the thread is the first of a `fork` child and the
    /// birth is not complete, see [`super::child_birth`]; 0 otherwise.
    pub(crate) birth: AtomicU64,
    /// Id of the process that was born at `birth`.
    pub(crate) born_as: AtomicU32,
    /// Facts about sockets that the thread has just learned.
    pub(crate) recent: RecentSockets,
    /// Peers to which the thread's latest datagrams were sent.
    pub(crate) sent_to: DatagramPeers,
    /// Peers from which the thread's latest datagrams were received.
    pub(crate) received_from: DatagramPeers,
    /// Time in ticks of the latest transfer that a context acts on in place of the thread, see
    /// `runtimes/python/hooks.rs`; 0 for none.
    #[cfg(not(feature = "injected"))]
    pub(crate) claimed: AtomicU64,
    /// Execution context of the fiber that the thread ran last, and the thread of Ruby that ran it,
    /// see `runtimes/ruby/events.rs`; 0 for none.
    #[cfg(not(feature = "injected"))]
    pub(crate) fiber: AtomicUsize,
    #[cfg(not(feature = "injected"))]
    pub(crate) fiber_thread: AtomicUsize,
}

const _: () = assert!(size_of::<ThreadLogState>() == 704);

/// Bit of [`ThreadLogState::marks`]: the thread has begun to end.
const ENDED: u32 = 1;

/// Bit of [`ThreadLogState::marks`]: the thread has SIGBUS blocked, from the program's point of
/// view.
const BLOCKED: u32 = 2;

/// Number of the bits above, before the descriptor.
const MARK_BITS: u32 = 2;

impl ThreadLogState {
    /// Sets or clears a bit of the marks.
    fn set_mark(&self, mark: u32, is_set: bool) {
        let others = self.marks.load(Relaxed) & !mark;
        self.marks.store(others | if is_set { mark } else { 0 }, Relaxed);
    }

    /// Whether the thread has begun to end.
    pub(crate) fn has_ended(&self) -> bool {
        self.marks.load(Relaxed) & ENDED != 0
    }

    /// Sets whether the thread has begun to end.
    pub(crate) fn set_ended(&self, has_ended: bool) {
        self.set_mark(ENDED, has_ended);
    }

    /// Whether the thread has SIGBUS blocked, from the program's point of view.
    pub(crate) fn has_blocked(&self) -> bool {
        self.marks.load(Relaxed) & BLOCKED != 0
    }

    /// Whether the thread is within a function that prints to the descriptor `fd`.
    pub(crate) fn prints_to(&self, fd: c_int) -> bool {
        self.marks.load(Relaxed) >> MARK_BITS == (fd as u32).wrapping_add(1)
    }

    /// Notes the descriptor to which the thread prints from now on, or none. A function that is
    /// left by `siglongjmp` does not remove its note, so the descriptor is noted and not only that
    /// the thread prints: writes to other descriptors are still seen.
    pub(crate) fn set_printing(&self, to: Option<c_int>) {
        let marks = self.marks.load(Relaxed) & ((1 << MARK_BITS) - 1);
        let to = to.map_or(0, |fd| (fd as u32).wrapping_add(1));
        self.marks.store(marks | to << MARK_BITS, Relaxed);
    }

    /// Sets whether the thread has SIGBUS blocked, from the program's point of view.
    pub(crate) fn set_blocked(&self, has_blocked: bool) {
        self.set_mark(BLOCKED, has_blocked);
    }
}

#[cfg(not(feature = "injected"))]
core::arch::global_asm!(
    ".pushsection .tbss.sockcap_thread,\"awT\",@nobits",
    ".globl sockcap_thread",
    ".hidden sockcap_thread",
    ".type sockcap_thread, @object",
    ".size sockcap_thread, 704",
    ".balign 64",
    "sockcap_thread:",
    ".zero 704",
    ".popsection",
);

/// Offset of the state within the thread's slot, in bytes.
#[cfg(feature = "injected")]
pub(super) const OFFSET_IN_SLOT: usize = 192;

/// State of the calling thread.
#[cfg(feature = "injected")]
#[inline(always)]
pub(crate) fn current_thread() -> &'static ThreadLogState {
    let address: usize;
    // SAFETY: hooks run only if GS points to a slot, which is never unmapped.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr gs:[0]",
            out(reg) address,
            options(pure, readonly, nostack),
        );
        &*core::ptr::with_exposed_provenance(address + OFFSET_IN_SLOT)
    }
}

/// State of the calling thread.
#[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
#[inline(always)]
pub(crate) fn current_thread() -> &'static ThreadLogState {
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
        &*(address as *const ThreadLogState)
    }
}

/// State of the calling thread.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn current_thread() -> &'static ThreadLogState {
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
        &*(address as *const ThreadLogState)
    }
}
