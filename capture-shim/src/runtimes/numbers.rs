//! Numbers of contexts of Python and Ruby by their addresses. An address is used again after its
//! context was freed, so a context is numbered when it is made, or a fiber when it begins, and its
//! number ends with it.
//!
//! The table has a fixed size and no locks. A context for which there is no room has no number: its
//! records are of the thread.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use crate::platform::raw;
use crate::state::context_source::ContextStart;
use crate::tuning::{CONTEXT_PROBES, CONTEXT_TABLE_BITS};

/// Entry of the table.
pub(super) struct Entry {
    /// Address of the context; 0 if the entry is free, [`BUSY`] while it is changed.
    address: AtomicUsize,
    pub(super) number: AtomicU32,
    /// Id of the thread that the context acts for, see `python/hooks.rs`; 0 for none.
    pub(super) acts_for: AtomicU32,
    /// Thread id of the thread or context that started the context; 0 once its start is in the log,
    /// or if it is not known.
    starter: AtomicU32,
    _padding: AtomicU32,
    /// Time of the start, in ticks.
    ticks: AtomicU64,
}

/// Mark of an entry that a thread changes; no object has this address.
const BUSY: usize = 1;

/// Number of entries.
const ENTRIES: usize = 1 << CONTEXT_TABLE_BITS;

/// The table; null if the program has no runtime that uses it.
static TABLE: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

/// Number of the latest context.
static LATEST: AtomicU32 = AtomicU32::new(0);

/// Maps the table. Memory is taken as entries are used. Returns false if the kernel refuses.
pub(super) fn make_table() -> bool {
    if !TABLE.load(Acquire).is_null() {
        return true;
    }
    match raw::map_anonymous(ENTRIES * size_of::<Entry>()) {
        Some(memory) => TABLE.store(memory.cast(), Release),
        None => return false,
    }
    true
}

/// Entries at which a context may be.
fn entries(address: usize) -> impl Iterator<Item = &'static Entry> {
    let table = TABLE.load(Acquire);
    let hash = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let first = (hash >> (64 - CONTEXT_TABLE_BITS)) as usize;
    let probes = if table.is_null() { 0 } else { CONTEXT_PROBES };
    (0..probes).map(move |probe| {
        // SAFETY: within the table, which is never unmapped; zeros are entries.
        unsafe { &*table.add((first + probe) % ENTRIES) }
    })
}

/// Gives the new context at `address` the next number, if the table has room.
pub(super) fn insert(address: usize, start: ContextStart) {
    let free = entries(address)
        .find(|entry| entry.address.compare_exchange(0, BUSY, Acquire, Relaxed).is_ok());
    let Some(entry) = free else { return };
    let next = LATEST.fetch_add(1, Relaxed).wrapping_add(1);
    // The low 30 bits are the thread id of the context, and 0 is none.
    entry.number.store(next & ((1 << 30) - 1) | u32::from(next.trailing_zeros() >= 30), Relaxed);
    entry.acts_for.store(0, Relaxed);
    entry.starter.store(start.starter, Relaxed);
    entry.ticks.store(start.ticks, Relaxed);
    entry.address.store(address, Release);
}

/// Entry of the context at `address`, which exists.
#[inline]
pub(super) fn find(address: usize) -> Option<&'static Entry> {
    if address <= BUSY {
        return None;
    }
    entries(address).find(|entry| entry.address.load(Acquire) == address)
}

impl Entry {
    /// Start of the context; `None` if it is in the log already, or not known.
    pub(super) fn take_start(&self) -> Option<ContextStart> {
        let starter = self.starter.load(Relaxed);
        if starter == 0 {
            return None;
        }
        self.starter.store(0, Relaxed);
        Some(ContextStart { ticks: self.ticks.load(Relaxed), starter })
    }
}

/// Ends the number of the context at `address`, which is freed.
pub(super) fn remove(address: usize) {
    if let Some(entry) = find(address) {
        entry.address.store(0, Release);
    }
}
