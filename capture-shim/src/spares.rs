//! Logs made ahead for children that will not be able to make their own: of a process that changes its root
//! directory, its user or the system calls that it may use, and then forks.
//!
//! Each is a file of its own beside the process's log, mapped so that children inherit it. A child takes the next one
//! by its number in memory that all descendants share. The files take 8 KiB each on the disk (256 KiB where calls are
//! given up) and end with `.spare`; readers pass over those that nobody took.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use socket_log::layout::{FileHeader, HEADER_BYTES};

use crate::state::State;
use crate::text::{PATH, Text};
use crate::{raw, reserve, segment};

/// How many are made, for a process that can give a child more room whenever it is needed, and for one that cannot.
const MANY: usize = 64;
const FEW: usize = 16;
/// How many of those that are there are given more room later: by pages of their mappings, for which the kernel takes long.
const DEEPENED: usize = 4;
/// How much room each has from the beginning.
const LITTLE: usize = segment::FIRST;
const MUCH: usize = 256 * 1024;
/// How far each is mapped, and how far where the process's address space is limited.
const REACH: usize = 64 << 20;
const REACH_LIMITED: usize = 1 << 20;

/// The spare logs that a process and its descendants share.
#[repr(C)]
struct Pool {
    /// How many were taken, or asked for.
    taken: AtomicU32,
    /// How many there are.
    count: u32,
    slots: [Slot; MANY],
    /// What their headers say of the program. Not written into each file ahead: a first store into a page of a file is
    /// what takes time.
    about: FileHeader,
    /// Where paths are made.
    path: Text<PATH>,
}

/// One log.
#[repr(C)]
#[derive(Clone, Copy)]
struct Slot {
    memory: *mut u8,
    length: usize,
    ready: usize,
}

/// The pool of this process and of those that forked it; a child that can make its log by its path does not use it.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// How many were made so far, by this process and those that it comes from: part of their names.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Makes spare logs, unless there are enough. With `much` room each, where it may be all that they will ever have.
pub(crate) fn make(state: &State, header: &FileHeader, much: bool) {
    let old = POOL.load(Acquire);
    // SAFETY: null or a pool, which is never removed. Its logs change only here, before there are others to see it.
    if let Some(pool) = unsafe { old.as_mut() }
        && pool.taken.load(Relaxed) * 2 < pool.count
    {
        if much {
            deepen(pool);
        }
        return;
    }
    // A log that was a spare one itself has no path.
    if state.path().is_empty() {
        return;
    }
    let Some(memory) = raw::map_shared(size_of::<Pool>()) else { return };
    let pool: *mut Pool = memory.cast();
    // SAFETY: the mapping is new, and its zeros are a valid pool without logs.
    let fields = unsafe { &mut *pool };
    macro_rules! copy {
        ($($field:ident)*) => { $(fields.about.$field = header.$field;)* };
    }
    copy! { version header_bytes chunk_bytes tick_clock tick_shift boot_id host executable arguments }
    copy! { limit keeps_newest source namespace cgroup }
    let (count, room) = if much { (FEW, MUCH) } else { (MANY, LITTLE) };
    for slot in fields.slots.iter_mut().take(count) {
        let stem = state.path().to_bytes();
        fields.path = Text::new();
        fields.path.push(stem.strip_suffix(b".sclog").unwrap_or(stem)).push(b"-");
        fields.path.push_number(MADE.fetch_add(1, Relaxed).into()).push(b".spare");
        match make_one(&fields.path, room) {
            Some(made) => *slot = made,
            None => break,
        }
        fields.count += 1;
    }
    if fields.count > 0 {
        POOL.store(pool, Release);
    }
}

/// Gives the next ones as much room as those have that may never get any.
fn deepen(pool: &mut Pool) {
    let (taken, count) = (pool.taken.load(Relaxed) as usize, pool.count as usize);
    for slot in pool.slots.iter_mut().take(count).skip(taken).take(DEEPENED) {
        let wanted = MUCH.min(slot.length);
        let (from, length) = (slot.memory.wrapping_add(slot.ready), wanted.saturating_sub(slot.ready));
        // SAFETY: within the mapping.
        if length > 0 && unsafe { raw::populate(from, length) } == 0 {
            slot.ready = wanted;
        }
    }
}

/// Makes one spare log.
fn make_one(path: &Text<PATH>, room: usize) -> Option<Slot> {
    let reach = if raw::has_boundless_space() { REACH } else { REACH_LIMITED };
    let length = reserve::bounded(reach).filter(|_| path.is_whole())?;
    let room = room.min(length);
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let file = raw::open(path.as_c_str(), flags, 0o644).ok()?;
    let memory = if file.allocate(0, room) == 0 && file.resize(length) == 0 {
        file.map_sparse(length).ok()
    } else {
        None
    };
    let Some(memory) = memory else {
        raw::unlink(path.as_c_str());
        return None;
    };
    Some(Slot { memory, length, ready: room })
}

/// Takes a spare log for this process, whose reserve it becomes.
pub(crate) fn take(state: &State) -> Option<*mut FileHeader> {
    let pool = POOL.load(Acquire);
    // SAFETY: null, or a pool that was inherited, which is never removed.
    let pool = unsafe { pool.as_ref()? };
    if pool.taken.load(Relaxed) >= pool.count {
        return None;
    }
    let slot = pool.slots.get(pool.taken.fetch_add(1, AcqRel) as usize)?;
    if slot.memory.is_null() {
        return None;
    }
    reserve::publish(state, slot.memory, slot.length, slot.ready);
    // Its own children must not write into it. Its first page they may have: it does not matter.
    // SAFETY: this process's alone from now on.
    unsafe {
        raw::advise(slot.memory.wrapping_add(HEADER_BYTES), slot.length - HEADER_BYTES, libc::MADV_DONTFORK)
    };
    let header: *mut FileHeader = slot.memory.cast();
    const { assert!(segment::FIRST >= size_of::<FileHeader>()) };
    // SAFETY: the header has room, and is this process's alone from now on; its first word, which says that it can be
    // read, is still zero in both.
    unsafe { header.copy_from_nonoverlapping(&raw const pool.about, 1) };
    Some(header)
}
