//! Slots: the state and the hook's stack of each thread. A thread gets its slot at its first hooked
//! system call, or when it first makes a goroutine ready.
//!
//! A thread is identified by its FS base, the address of its control block. A block is reused after
//! its thread has ended, and then its slot is, too. In a child with a copy of the memory, the slots
//! and their table are wiped.

use core::ffi::c_int;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

use crate::platform::{identity, mapped_memory, raw};
use crate::state::private_to_process;
use crate::state::slot::{NO_THREAD, Slot};

/// Number of stacks on which threads get their slots: a bit of a word each.
pub(super) const STACKS: usize = 64;

/// Binary logarithm of the length of one of these stacks in bytes. Memory is used only where it is
/// touched.
pub(super) const STACK_BITS: usize = 18;

/// Length of a slot with its stack, in bytes. Memory is used only where it is touched: usually two
/// pages.
const LENGTH: usize = 256 * 1024;

/// Maximum number of threads with a slot, which makes a table of a megabyte.
const MAX_THREADS: usize = 1 << 16;

/// Address of the stacks on which threads get their slots; 0 before the library has begun.
pub(super) static SHARED: AtomicUsize = AtomicUsize::new(0);
/// Number of times that one of these stacks was requested; the next one is this number modulo
/// [`STACKS`].
pub(super) static STACK_REQUESTS: AtomicU64 = AtomicU64::new(0);
/// Stacks with a thread on them, a bit each.
pub(super) static IN_USE: AtomicU64 = AtomicU64::new(0);
/// Number of system calls of threads that had no slot and could not get one.
#[unsafe(link_section = ".data.often_read")]
pub(super) static UNATTENDED: AtomicU64 = AtomicU64::new(0);

/// Slots by their owners; null before the library has begun.
static TABLE: AtomicPtr<SlotEntry> = AtomicPtr::new(ptr::null_mut());

/// Entry of the table. Free while its owner is 0.
struct SlotEntry {
    owner: AtomicUsize,
    slot: AtomicPtr<Slot>,
}

/// Slot of a thread that has none of its own yet: the GS base points to it at first.
#[unsafe(no_mangle)]
static sockcap_null_slot: Slot = {
    // SAFETY: zeros are a valid slot.
    unsafe { core::mem::zeroed() }
};

/// Bit of `AT_HWCAP2` by which the kernel states that programs may change their FS and GS bases.
const FSGSBASE: u64 = 1 << 1;

/// Prepares the stacks and the table. Returns 0, or `ENOTSUP` for a kernel that lets no program set
/// its GS base (before 5.9), or `ENOMEM`.
pub(super) fn begin_slots() -> c_int {
    // SAFETY: only reads a number.
    if unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE == 0 {
        return libc::ENOTSUP;
    }
    let shared = raw::map_anonymous(STACKS << STACK_BITS);
    let table = private_to_process(MAX_THREADS * size_of::<SlotEntry>());
    let (Some(shared), Some(table)) = (shared, table) else { return libc::ENOMEM };
    mapped_memory::note_mapping(shared, STACKS << STACK_BITS);
    SHARED.store(shared.addr(), Relaxed);
    TABLE.store(table.cast(), Release);
    let null = &raw const sockcap_null_slot;
    sockcap_null_slot.own.store(null.expose_provenance(), Relaxed);
    sockcap_null_slot.owner.store(NO_THREAD, Relaxed);
    set_gs_base(null);
    0
}

/// Sets the GS base of the calling thread.
fn set_gs_base(slot: *const Slot) {
    // SAFETY: the kernel allows the instruction, and nothing else uses GS.
    unsafe { core::arch::asm!("wrgsbase {0}", in(reg) slot.addr(), options(nostack)) };
}

/// Whether the calling thread's slot is wiped: `fork` made this copy of the process, and the thread
/// has made no hooked call since.
pub(super) fn is_wiped() -> bool {
    let own: usize;
    // SAFETY: the GS base points to a slot, in which the first word is never 0 while it is in use.
    unsafe {
        core::arch::asm!("mov {0}, gs:[{own}]", out(reg) own, own = const offset_of!(Slot, own),
            options(nostack, readonly));
    }
    own == 0
}

/// FS base of the calling thread.
fn own_fs_base() -> usize {
    let base: usize;
    // SAFETY: the kernel allows the instruction.
    unsafe { core::arch::asm!("rdfsbase {0}", out(reg) base, options(nostack, nomem)) };
    base
}

/// Claims a slot for the calling thread, if it can have one.
///
/// Two threads never have the same owner, so each has its own entry; only a new entry must be
/// claimed atomically.
pub(super) extern "C" fn claim_slot() {
    let owner = own_fs_base();
    // Before a thread has a control block, nothing identifies it.
    if owner <= NO_THREAD {
        return;
    }
    let Some(entry) = find_entry(owner) else { return };
    let mut slot = entry.slot.load(Relaxed);
    if slot.is_null() {
        let Some(memory) = private_to_process(LENGTH) else { return };
        slot = memory.cast();
        entry.slot.store(slot, Release);
    } else if ptr::eq(slot, &raw const sockcap_null_slot) {
        return;
    }
    // SAFETY: mapped above or before; the slot of a thread that has ended, or of one that a `fork`
    // has not copied.
    unsafe { begin_slot(slot, owner) };
    set_gs_base(slot);
}

/// Assigns a slot to the calling thread, which has the FS base `owner`.
///
/// # Safety
/// The slot is mapped, and no other thread uses it.
unsafe fn begin_slot(slot: *mut Slot, owner: usize) {
    // SAFETY: as the caller guarantees; zeros are a valid slot.
    let new = unsafe {
        // Lost calls that the slot's previous thread could not report are reported by another
        // thread.
        UNATTENDED.fetch_add((*slot).skipped.load(Relaxed), Relaxed);
        slot.write_bytes(0, 1);
        &*slot
    };
    new.own.store(slot.expose_provenance(), Relaxed);
    let end = slot.addr() + LENGTH;
    new.stack_end.store(end, Relaxed);
    new.stack_length.store(LENGTH - size_of::<Slot>().next_multiple_of(4096), Relaxed);
    new.floor.store(end, Relaxed);
    new.allow_ready_at_first();
    // The alternate stack was set before the thread had its slot, or inherited by `fork`.
    if let Some(stack) = raw::alternate_stack() {
        new.alternate.store(stack.ss_sp.addr(), Relaxed);
        new.alternate_length.store(stack.ss_size, Relaxed);
    }
    new.owner.store(owner, Relaxed);
}

/// Reassigns the slot to the calling thread, if it belonged to another one that has ended.
///
/// A thread begins with its creator's GS base. If the creator has made no call since its own
/// beginning, its GS base is the one of its own creator, and so on. So a thread may begin with the
/// slot of an ended thread, and with the same control block. Everything in the slot then describes
/// the ended thread, above all where its signal stack is. Each thread of Go calls this function as
/// it begins.
pub(super) fn take_over(slot: &Slot) {
    let known = slot.thread.tid.load(Relaxed);
    // The child of a `vfork` runs on its parent's slot.
    if known == 0 || known == identity::thread_id() || slot.vfork_stack.load(Relaxed) != 0 {
        return;
    }
    let running = slot.running.load(Relaxed);
    // SAFETY: the slot that the GS base points to; its former thread is gone. The stack that this
    // hook runs on is not in the slot itself, and its frame does not wait yet.
    unsafe { begin_slot(ptr::from_ref(slot).cast_mut(), slot.owner.load(Relaxed)) };
    slot.running.store(running, Relaxed);
}

/// Leaves the calling thread without hooks for good, since another thread is about to have its FS
/// base, and so its slot. The calls of both threads are counted as lost.
pub(super) fn give_up(slot: &Slot) {
    let owner = slot.owner.swap(NO_THREAD, Relaxed);
    if let Some(entry) = find_entry(owner) {
        entry.slot.store((&raw const sockcap_null_slot).cast_mut(), Release);
    }
}

/// Returns the number of unhooked system calls that were not recorded yet, and resets the number.
pub(super) fn take_skipped() -> u64 {
    let table = TABLE.load(Acquire);
    let mut count = UNATTENDED.swap(0, Relaxed);
    if table.is_null() {
        return count;
    }
    for place in 0..MAX_THREADS {
        // SAFETY: within the table, in which zeros are free entries; a slot is never unmapped.
        unsafe {
            if let Some(slot) = (*table.add(place)).slot.load(Relaxed).as_ref() {
                count += slot.skipped.swap(0, Relaxed);
            }
        }
    }
    count
}

/// Entry of the table for an owner, made if there is none; `None` if the table is full.
fn find_entry(owner: usize) -> Option<&'static SlotEntry> {
    let table = TABLE.load(Acquire);
    // Control blocks are aligned to at least 64 bytes.
    let hash = (owner >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
    for step in 0..MAX_THREADS {
        let place = hash.wrapping_add(step) % MAX_THREADS;
        // SAFETY: within the table, in which zeros are free entries.
        let entry = unsafe { &*table.add(place) };
        match entry.owner.load(Relaxed) {
            present if present == owner => return Some(entry),
            0 if entry.owner.compare_exchange(0, owner, AcqRel, Relaxed).is_ok() => {
                return Some(entry);
            }
            _ => {}
        }
    }
    None
}
