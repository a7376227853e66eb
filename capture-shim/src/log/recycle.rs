//! Flight recorder: a log that has reached its limit continues in place of its oldest chunk.
//!
//! Chunks that their threads no longer use are in a queue, in the order in which they were filled.
//! A thread that needs a chunk takes the oldest one. The records in this chunk of flows that are
//! still open (their numbers, ends and descriptors) are carried over into the chunk that the thread
//! will write; everything else in the oldest chunk is overwritten.
//!
//! The reader sees a consistent log at any moment, also after SIGKILL, because a chunk passes
//! through a state in which it belongs to no thread: its magic number is set to "free" before its
//! old records are zeroed, and to "chunk" only when the new records can be read. Carried records
//! are in their new chunk before the old one is zeroed: some chunks are kept empty for this.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use carried_records::{CarriedRecords, ChunkScratch, record_length};
use socket_log::layout::{
    Anchor, CHUNK_BYTES, CHUNK_FREE, CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, FileHeader,
    HEADER_BYTES, kind, lost,
};

use super::commit::open_chunk;
use super::{causes, segment};
use crate::state::options::recording_options;
use crate::state::{self, ChunkQueue, ProcessState};
use crate::tuning::{
    MAX_CHUNKS_TRIED, MAX_RETIRED, MAX_SCRATCHES, RECORDS_BETWEEN_SEARCHES, SPARE_CHUNKS,
};

mod carried_records;

/// Places of the queue: 36 bits of the chunk's page, 0 once it was taken; above them the ticket
/// with which it was inserted.
static QUEUE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Number of bits of a chunk's page (its address, divided by the size of a chunk) in a place.
const PAGE_BITS: u32 = 36;

/// Mask of the page in a place.
const PAGE_MASK: u64 = (1 << PAGE_BITS) - 1;

/// Scratch memories, one for each bit of `ChunkQueue::busy`.
static SCRATCH: AtomicPtr<ChunkScratch> = AtomicPtr::new(ptr::null_mut());

/// Scratch memory that its owner uses exclusively, as long as this lives.
struct OwnScratch<'state> {
    queue: &'state ChunkQueue,
    index: u32,
}

impl<'state> OwnScratch<'state> {
    /// Takes a scratch memory that is not in use; `None` if all are.
    fn try_take(queue: &'state ChunkQueue) -> Option<OwnScratch<'state>> {
        loop {
            let busy = queue.busy.load(Relaxed);
            let index = busy.trailing_ones();
            if index as usize >= MAX_SCRATCHES {
                return None;
            }
            if queue.busy.compare_exchange(busy, busy | 1 << index, AcqRel, Relaxed).is_ok() {
                return Some(OwnScratch { queue, index });
            }
        }
    }

    /// The memory; `None` before it is mapped.
    fn scratch(&mut self) -> Option<&mut ChunkScratch> {
        let first = SCRATCH.load(Relaxed);
        // SAFETY: null, or [`MAX_SCRATCHES`]; this one has no other owner, and any bytes are valid.
        (!first.is_null()).then(|| unsafe { &mut *first.add(self.index as usize) })
    }
}

impl Drop for OwnScratch<'_> {
    fn drop(&mut self) {
        self.queue.busy.fetch_and(!(1 << self.index), AcqRel);
    }
}

/// Maximum number of chunks of the log.
fn chunk_capacity() -> usize {
    ((recording_options().max_bytes as usize).min(segment::MAX_LOG_BYTES) - HEADER_BYTES)
        / CHUNK_BYTES
}

/// Number of places of the queue: twice the maximum number of chunks in it, so that a place is not
/// used again while its former chunk is still being taken.
fn place_count() -> usize {
    (2 * chunk_capacity()).next_power_of_two()
}

/// Maps the queue, if it is needed. Returns false if memory is lacking.
pub(crate) fn create_queue() -> bool {
    if recording_options().keeps_newest {
        let Some(memory) = state::private_to_process(place_count() * size_of::<AtomicU64>()) else {
            return false;
        };
        let Some(scratch) = state::private_to_process(MAX_SCRATCHES * size_of::<ChunkScratch>())
        else {
            return false;
        };
        QUEUE.store(memory.cast(), Relaxed);
        SCRATCH.store(scratch.cast(), Relaxed);
    }
    true
}

/// Place of a ticket in the queue.
fn queue_place(ticket: u64) -> Option<&'static AtomicU64> {
    let queue = QUEUE.load(Relaxed);
    // SAFETY: null, or that many places, which are never removed.
    (!queue.is_null()).then(|| unsafe { &*queue.add(ticket as usize & (place_count() - 1)) })
}

/// Value of a place: the ticket, and the page that was inserted with the ticket.
fn place_value(ticket: u64, page: u64) -> u64 {
    // No ticket is 0, so that an untouched place has none.
    ticket.wrapping_add(1) << PAGE_BITS | page & PAGE_MASK
}

/// Puts a chunk that its thread has filled, or left, into the queue. `address` is any address in
/// the chunk.
pub(crate) fn queue_chunk(state: &ProcessState, address: usize) {
    let page = (address / CHUNK_BYTES) as u64;
    if page != 0 {
        let ticket = state.queue.tail.fetch_add(1, AcqRel);
        if let Some(place) = queue_place(ticket) {
            place.store(place_value(ticket, page), Release);
        }
    }
}

/// Puts a chunk that its thread has filled, up to before `cursor`, into the queue, unless a record
/// in it is still to be written. Also queues the chunks in `retired` that are complete by now.
///
/// A record is still to be written if a signal handler fills chunks while the code that it
/// interrupted is about to write: the interrupted code has reserved words, and would write there
/// whatever the chunk is by then. So the chunk stays with the thread until it is complete. If there
/// are more of these chunks than a thread can keep (or one is never completed, because the handler
/// jumped out), the chunk is not reused, and the log has one chunk less.
pub(crate) fn retire_chunk(
    state: &ProcessState,
    retired: &[AtomicUsize; MAX_RETIRED],
    cursor: usize,
) {
    for kept in retired {
        let chunk = kept.load(Relaxed);
        // The chunk is removed first: either a handler that comes in between queues it, or this
        // code does, but not both.
        if is_complete(chunk)
            && chunk != 0
            && kept.compare_exchange(chunk, 0, AcqRel, Relaxed).is_ok()
        {
            queue_chunk(state, chunk);
        }
    }
    // The chunk is found by its last byte: the cursor of a full chunk is beyond it.
    let last = cursor - 1;
    if is_complete(last) {
        queue_chunk(state, last);
    } else {
        let _ = retired.iter().any(|kept| kept.compare_exchange(0, last, AcqRel, Relaxed).is_ok());
    }
}

/// Whether all records of a chunk are written, up to the byte `last`.
fn is_complete(last: usize) -> bool {
    let used = last % CHUNK_BYTES + 1;
    let chunk: *const u32 = ptr::with_exposed_provenance(last - last % CHUNK_BYTES);
    let mut at = CHUNK_HEADER_WORDS;
    while last != 0 && at < used / 4 {
        // SAFETY: within a chunk of the calling thread's, which stays mapped.
        let first = unsafe { AtomicU32::from_ptr(chunk.add(at).cast_mut()) }.load(Relaxed);
        if matches!(first as u8, 0 | kind::RESERVED) {
            return false;
        }
        at += record_length(first);
    }
    true
}

/// Takes the oldest chunk out of the queue, and returns its address; `None` if the queue is empty.
/// A chunk that is just being inserted is skipped.
fn take_oldest(state: &ProcessState) -> Option<*mut u32> {
    let queue = &state.queue;
    let mut ticket = queue.head.load(Acquire);
    // The tail is read anew each time: while this thread was paused, others may have emptied the
    // queue and filled more chunks.
    while ticket < queue.tail.load(Acquire) {
        let place = queue_place(ticket)?;
        let found = place.load(Acquire);
        let page = found & PAGE_MASK;
        if found == place_value(ticket, page) {
            let is_taken = page == 0;
            let taken = is_taken
                || place.compare_exchange(found, place_value(ticket, 0), AcqRel, Acquire).is_ok();
            if taken {
                // The head advances once, whichever thread is first.
                let _ = queue.head.compare_exchange(ticket, ticket + 1, AcqRel, Relaxed);
            }
            if taken && !is_taken {
                return Some(ptr::with_exposed_provenance_mut(page as usize * CHUNK_BYTES));
            }
        }
        ticket += 1;
    }
    None
}

/// Gives the thread `tid` a chunk, with its header and the carried records. Returns the chunk's
/// address and the number of its words already in use, or the cause ([`lost`]) for which there is
/// no chunk.
#[cold]
#[inline(never)]
pub(crate) fn recycle_chunk(
    state: &ProcessState,
    header: &FileHeader,
    tid: u32,
    anchor: &Anchor,
) -> Result<(*mut u8, usize), usize> {
    if let Some(memory) = take_unused(state, header, SPARE_CHUNKS) {
        open_chunk(memory.cast(), tid, anchor, &[]);
        return Ok((memory, CHUNK_HEADER_WORDS));
    }
    let held_off = &state.queue.held_off;
    if held_off.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
        return Err(lost::LIMIT);
    }
    let mut own = OwnScratch::try_take(&state.queue).ok_or(lost::BUSY)?;
    let scratch = own.scratch().ok_or(lost::LIMIT)?;
    for _ in 0..MAX_CHUNKS_TRIED {
        let chunk = take_oldest(state).ok_or(lost::LIMIT)?;
        let mut carried = CarriedRecords::new(scratch);
        // SAFETY: a whole chunk, which this thread has taken out of the queue.
        let fits = carried.collect_live(unsafe { core::slice::from_raw_parts(chunk, CHUNK_WORDS) });
        if !fits {
            queue_chunk(state, chunk.expose_provenance());
            continue;
        }
        carried.push_anchor(anchor);
        let spare = take_empty(state).or_else(|| take_unused(state, header, 0));
        let memory = match spare {
            Some(memory) => {
                open_chunk(memory.cast(), tid, anchor, carried.as_slice());
                clear_chunk(chunk);
                keep_empty(state, chunk);
                memory
            }
            None => {
                clear_chunk(chunk);
                open_chunk(chunk.cast(), tid, anchor, carried.as_slice());
                chunk.cast()
            }
        };
        return Ok((memory, CHUNK_HEADER_WORDS + carried.as_slice().len()));
    }
    held_off.store(RECORDS_BETWEEN_SEARCHES, Relaxed);
    Err(lost::LIMIT)
}

/// Takes a chunk of the file that was never used; `None` if only `reserved` or fewer are left.
fn take_unused(state: &ProcessState, header: &FileHeader, reserved: usize) -> Option<*mut u8> {
    loop {
        let most =
            chunk_capacity().saturating_sub(reserved + state.queue.refused.load(Relaxed) as usize);
        let number = header.chunks.load(Relaxed);
        if number as usize >= most {
            return None;
        }
        match segment::chunk_memory(state, number) {
            // As in `segment::next_chunk`, the number is taken once there is memory for it.
            Ok(memory) => {
                if header.chunks.compare_exchange(number, number + 1, AcqRel, Relaxed).is_ok() {
                    return Some(memory);
                }
            }
            Err(cause) if causes::is_temporary(cause) => return None,
            Err(_) => {
                // The log has its final size. Numbers from here on are never assigned.
                state.queue.refused.store((chunk_capacity() - number as usize) as u32, Relaxed);
                return None;
            }
        }
    }
}

/// Takes a chunk out of the chunks that are kept empty, and returns its address.
fn take_empty(state: &ProcessState) -> Option<*mut u8> {
    let taken = state
        .queue
        .spares
        .iter()
        .map(|spare| spare.swap(0, AcqRel))
        .find(|address| *address != 0)?;
    Some(ptr::with_exposed_provenance_mut(taken as usize))
}

/// Keeps an empty chunk, or puts it into the queue if enough empty chunks are kept.
fn keep_empty(state: &ProcessState, chunk: *mut u32) {
    let address = chunk.expose_provenance();
    let kept = state
        .queue
        .spares
        .iter()
        .any(|spare| spare.compare_exchange(0, address as u64, AcqRel, Relaxed).is_ok());
    if !kept {
        queue_chunk(state, address);
    }
}

/// Releases the ownership of a chunk and clears it.
fn clear_chunk(chunk: *mut u32) {
    let header: *mut ChunkHeader = chunk.cast();
    // SAFETY: a whole chunk, which no other thread uses.
    unsafe {
        (*header).magic.store(CHUNK_FREE, Relaxed);
        // The fence: a reader that sees a zeroed record sees the magic too.
        core::sync::atomic::fence(Release);
        chunk.add(1).write_bytes(0, CHUNK_WORDS - 1);
    }
    core::sync::atomic::fence(Release);
}
