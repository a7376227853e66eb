//! Preallocated logs for children that will not be able to make their own: for a process that gives
//! up the required system calls, and can still fork.
//!
//! Each preallocated log is a file next to the process's log, mapped so that children inherit it. A
//! child takes the next log by a counter in memory that all descendants share; so does the process
//! itself if it has no log by then. The files take no space on the disk before they are used (256
//! KiB if a child cannot allocate any then) and have the extension `.spare`. Readers skip unused
//! files.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

use socket_log::layout::{FileHeader, HEADER_BYTES};

use super::{keep, log_reserve, new_file, segment};
use crate::platform::raw::{self, OwnDescriptor};
use crate::platform::text::{BoundedText, PATH};
use crate::state::ProcessState;
use crate::tuning::{SPARE_LOG_BYTES, SPARE_LOG_BYTES_LIMITED, SPARE_LOG_ROOM_BYTES, SPARE_LOGS};

/// Preallocated logs that a process and its descendants share.
#[repr(C)]
struct PreallocatedPool {
    /// Number of logs that were taken, or requested.
    taken: AtomicU32,
    /// Number of logs.
    count: u32,
    slots: [PreallocatedLog; SPARE_LOGS],
    /// Buffer in which paths are made.
    path: BoundedText<PATH>,
}

/// Preallocated log.
#[repr(C)]
pub(crate) struct PreallocatedLog {
    /// Mapping of the log.
    pub(crate) memory: *mut u8,
    /// Length of the mapping, in bytes.
    length: usize,
    /// Number of bytes, from the beginning on, that are allocated on the disk.
    ready: AtomicUsize,
}

impl PreallocatedLog {
    /// Allocates the log's first `bytes` bytes, unless they are allocated. Returns whether they are
    /// allocated then.
    fn give_room(&self, bytes: usize) -> bool {
        let bytes = bytes.min(self.length);
        let has_room = self.ready.load(Relaxed) >= bytes
            // SAFETY: within the mapping, which is never removed.
            || unsafe { raw::populate_pages(self.memory, bytes) } == 0;
        if has_room {
            self.ready.fetch_max(bytes, Relaxed);
        }
        has_room
    }
}

/// Pool of this process and of its ancestors. A child that can make its log by its path does not
/// use it.
static POOL: AtomicPtr<PreallocatedPool> = AtomicPtr::new(ptr::null_mut());

/// Number of logs preallocated so far, by this process and its ancestors. It is part of their
/// names.
static LOGS_MADE: AtomicU32 = AtomicU32::new(0);

/// Preallocates `count` logs, unless more than half as many are unused. If `needs_space`, children
/// will not be able to allocate any space, so each log gets some now.
pub(crate) fn preallocate_logs(state: &ProcessState, needs_space: bool, count: usize) {
    let old = POOL.load(Acquire);
    // SAFETY: null or a pool, which is never removed.
    if let Some(pool) = unsafe { old.as_ref() } {
        let taken = pool.taken.load(Relaxed).min(pool.count) as usize;
        let left = pool.slots.get(taken..pool.count as usize).unwrap_or(&[]);
        if left.len() * 2 > count {
            if needs_space {
                left.iter().for_each(|slot| _ = slot.give_room(SPARE_LOG_ROOM_BYTES));
            }
            return;
        }
    }
    let (Some(length), Ok(home)) = (mapped_length(), keep::open_host_directory()) else { return };
    let Some(memory) = raw::map_shared(size_of::<PreallocatedPool>()) else { return };
    #[cfg(feature = "injected")]
    crate::platform::mapped_memory::note_mapping(memory, size_of::<PreallocatedPool>());
    let pool: *mut PreallocatedPool = memory.cast();
    // SAFETY: the mapping is new, and its zeros are a valid pool without logs.
    let fields = unsafe { &mut *pool };
    for slot in fields.slots.iter_mut().take(count) {
        fields.path = BoundedText::new();
        new_file::set_path(&mut fields.path, state, b"-");
        fields.path.push_number(LOGS_MADE.fetch_add(1, Relaxed).into()).push(b".spare");
        if !fields.path.is_whole() {
            break;
        }
        let Ok(file) = new_file::create_in(&home, &fields.path) else { break };
        let room = if needs_space { SPARE_LOG_ROOM_BYTES } else { 0 };
        match map(&fields.path, &file, length, room) {
            Some(log) => *slot = log,
            None => break,
        }
        fields.count += 1;
    }
    if fields.count > 0 {
        POOL.store(pool, Release);
    }
}

/// Makes one preallocated log with `room` allocated bytes at `path`, and passes its file to `note`.
/// `None` if this fails.
pub(crate) fn create_preallocated(
    path: &BoundedText<PATH>,
    room: usize,
    note: impl FnOnce(&OwnDescriptor),
) -> Option<PreallocatedLog> {
    let length = mapped_length().filter(|_| path.is_whole())?;
    let file = new_file::create_log_file(path).ok()?;
    note(&file);
    map(path, &file, length, room)
}

/// Length of a preallocated log's mapping, in bytes; `None` if the process may make no file.
fn mapped_length() -> Option<usize> {
    let reach = if raw::has_boundless_space() { SPARE_LOG_BYTES } else { SPARE_LOG_BYTES_LIMITED };
    log_reserve::largest_length(reach)
}

/// Allocates `room` bytes for the new file `path` and maps it; removes the file if this fails.
fn map(
    path: &BoundedText<PATH>,
    file: &OwnDescriptor,
    length: usize,
    room: usize,
) -> Option<PreallocatedLog> {
    let ready = room.min(length);
    let has_room = ready == 0 || file.allocate(0, ready) == 0;
    let memory =
        if has_room && file.resize(length) == 0 { file.map_sparse(length).ok() } else { None };
    let Some(memory) = memory else {
        keep::unlink_file(path.as_c_str());
        return None;
    };
    Some(PreallocatedLog { memory, length, ready: AtomicUsize::new(ready) })
}

/// Makes a preallocated log this process's own log, with the mapping as its reserve.
pub(crate) fn adopt_as_own(state: &ProcessState, slot: &PreallocatedLog) {
    log_reserve::publish_reserve(state, slot.memory, slot.length, slot.ready.load(Relaxed));
    // The process's own children must not write into the log. They may have its first page, which
    // does no harm.
    let (chunks, length) = (slot.memory.wrapping_add(HEADER_BYTES), slot.length - HEADER_BYTES);
    // SAFETY: the mapping belongs to this process from now on, and its children do not use it.
    unsafe { raw::advise_mapping(chunks, length, libc::MADV_DONTFORK) };
}

/// Counts this process, which has found no preallocated log, in the header of a preallocated log
/// that another process has taken: all processes share the first page of each.
pub(crate) fn count_missing() {
    // SAFETY: null, or a pool that was inherited, which is never removed.
    if let Some(pool) = unsafe { POOL.load(Acquire).as_ref() }
        && let Some(first) = pool.slots.first()
        // A store into an unallocated page may be a SIGBUS.
        && first.ready.load(Relaxed) >= segment::FIRST_SEGMENT_BYTES
    {
        let header: *mut FileHeader = first.memory.cast();
        // SAFETY: mapped in every process that has the pool; zeros are valid.
        unsafe { &(*header).without_log }.fetch_add(1, Relaxed);
    }
}

/// Takes a preallocated log for this process, and returns its header; `None` if there is none left.
pub(crate) fn take_preallocated(state: &ProcessState) -> Option<*mut FileHeader> {
    let pool = POOL.load(Acquire);
    // SAFETY: null, or a pool that was inherited, which is never removed.
    let pool = unsafe { pool.as_ref()? };
    if pool.taken.load(Relaxed) >= pool.count {
        return None;
    }
    let slot = pool.slots.get(pool.taken.fetch_add(1, AcqRel) as usize)?;
    if slot.memory.is_null() || !slot.give_room(segment::FIRST_SEGMENT_BYTES) {
        return None;
    }
    adopt_as_own(state, slot);
    const { assert!(segment::FIRST_SEGMENT_BYTES >= size_of::<FileHeader>()) };
    Some(slot.memory.cast())
}
