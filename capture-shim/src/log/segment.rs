//! Segments of the log: where each chunk is in the file, and mapping a segment when its first chunk
//! is needed.
//!
//! A segment is allocated on the disk before it is mapped, because a store into a mapped hole on a
//! full disk is a SIGBUS in the host program. Segments begin small, since most processes log
//! little, and double up to [`SEGMENT_BYTES`]. Several threads may need the same segment at the
//! same time. Each thread maps it for itself, and all threads but the first to publish its mapping
//! unmap theirs again, so no thread ever waits for another.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use socket_log::layout::{CHUNK_BYTES, FileHeader, HEADER_BYTES, lost};

use super::{causes, keep, log_reserve, pages};
#[cfg(feature = "injected")]
use crate::platform::mapped_memory;
use crate::platform::raw;
use crate::state::ProcessState;
use crate::state::options::recording_options;
use crate::tuning::{
    ALLOCATION_PIECE_BYTES, ALLOCATION_TRIES, MAX_SEGMENTS, READY_BYTES, SEGMENT_BYTES,
};

/// Length of the first segment: the header and one chunk, which is enough for most processes of a
/// script.
pub(crate) const FIRST_SEGMENT_BYTES: usize = HEADER_BYTES + CHUNK_BYTES;

/// Largest size of a log, in bytes.
pub(crate) const MAX_LOG_BYTES: usize = (MAX_SEGMENTS - DOUBLING_SEGMENTS) * SEGMENT_BYTES;

/// Number of segments before the first segment of [`SEGMENT_BYTES`] that begins at a multiple of
/// this size.
const DOUBLING_SEGMENTS: usize =
    (SEGMENT_BYTES / FIRST_SEGMENT_BYTES).trailing_zeros() as usize + 1;

const _: () = assert!(HEADER_BYTES == CHUNK_BYTES && FIRST_SEGMENT_BYTES.is_power_of_two());

/// Segment of the log's file.
struct LogSegment {
    /// Number of the segment.
    index: usize,
    /// Offset of the segment in the file, in bytes.
    offset: usize,
    /// Length of the segment, in bytes.
    length: usize,
}

/// Segment that holds the byte at `offset`.
fn segment_of(offset: usize) -> LogSegment {
    if offset < FIRST_SEGMENT_BYTES {
        LogSegment { index: 0, offset: 0, length: FIRST_SEGMENT_BYTES }
    } else if offset < SEGMENT_BYTES {
        // The segment that begins at 2^n is as long as all before it.
        let n = offset.ilog2();
        LogSegment {
            index: 1 + (n - FIRST_SEGMENT_BYTES.ilog2()) as usize,
            offset: 1 << n,
            length: 1 << n,
        }
    } else {
        let begin = offset & !(SEGMENT_BYTES - 1);
        LogSegment {
            index: DOUBLING_SEGMENTS + begin / SEGMENT_BYTES - 1,
            offset: begin,
            length: SEGMENT_BYTES,
        }
    }
}

/// Takes the next chunk of the file, and returns its memory, or the cause ([`lost`]) for which
/// there is none.
pub(crate) fn next_chunk(state: &ProcessState, header: &FileHeader) -> Result<*mut u8, usize> {
    loop {
        // The number is taken once there is memory for the chunk: a number that was returned might
        // be another thread's as well.
        let number = header.chunks.load(Relaxed);
        let memory = chunk_memory(state, number).inspect_err(|cause| {
            if !causes::is_temporary(*cause) {
                causes::stop_growth(state, *cause);
            }
        })?;
        if header.chunks.compare_exchange(number, number + 1, AcqRel, Relaxed).is_ok() {
            touch_ahead(state, number, memory);
            return Ok(memory);
        }
    }
}

/// Has the kernel prepare the pages of the next chunks, [`READY_BYTES`] at a time. `number` and
/// `memory` are of the chunk that was just taken.
fn touch_ahead(state: &ProcessState, number: u32, memory: *mut u8) {
    let offset = HEADER_BYTES + number as usize * CHUNK_BYTES;
    if offset.is_multiple_of(READY_BYTES) && state.reserve.load(Acquire).is_null() {
        let segment = segment_of(offset);
        let end = (segment.offset + segment.length).min(recording_options().max_bytes as usize);
        pages::make_ready(memory, READY_BYTES.min(end.saturating_sub(offset)));
    }
}

/// Memory of chunk `number`, or the cause ([`lost`]) for which there is none.
pub(crate) fn chunk_memory(state: &ProcessState, number: u32) -> Result<*mut u8, usize> {
    let offset = HEADER_BYTES + number as usize * CHUNK_BYTES;
    if !state.reserve.load(Acquire).is_null() {
        return causes::try_with_backoff(state, || {
            log_reserve::reserved_chunk(state, offset).unwrap_or(Err(lost::REFUSED))
        });
    }
    let mut segment = segment_of(offset);
    let limit = recording_options().max_bytes as usize;
    if offset + CHUNK_BYTES > limit {
        return Err(lost::LIMIT);
    }
    segment.length = segment.length.min(limit - segment.offset);
    let place = state.segments.get(segment.index).ok_or(lost::LIMIT)?;
    let mut base = place.load(Acquire);
    if base.is_null() {
        base = causes::try_with_backoff(state, || map_segment(state, &segment))?;
        if let Err(first) = place.compare_exchange(ptr::null_mut(), base, AcqRel, Acquire) {
            // SAFETY: the mapping was just made and was never published.
            unsafe { raw::unmap_memory(base, segment.length) };
            base = first;
        }
    }
    Ok(base.wrapping_add(offset - segment.offset))
}

/// Memory and length of the log's mapping from `offset` of the file on; `None` if nothing is mapped
/// there. The segment before `offset` must be the last.
pub(crate) fn find_mapped_rest(state: &ProcessState, offset: usize) -> Option<(*mut u8, usize)> {
    let reserve = state.reserve.load(Acquire);
    let (memory, begin, length) = if reserve.is_null() {
        let segment = segment_of(offset - 1);
        let limit = recording_options().max_bytes as usize;
        let length = segment.length.min(limit.saturating_sub(segment.offset));
        (state.segments.get(segment.index)?.load(Acquire), segment.offset, length)
    } else {
        (reserve, 0, state.reserve_length.load(Relaxed))
    };
    let used = offset - begin;
    (!memory.is_null() && used < length).then(|| (memory.wrapping_add(used), length - used))
}

/// Whether `address` is in the log's memory.
pub(crate) fn has_address(state: &ProcessState, address: usize) -> bool {
    let is_in = |base: *mut u8, length: usize| {
        !base.is_null() && address.checked_sub(base.addr()).is_some_and(|offset| offset < length)
    };
    let limit = recording_options().max_bytes as usize;
    let segments = state.segments.iter().enumerate();
    is_in(state.reserve.load(Acquire), state.reserve_length.load(Relaxed))
        || segments.map(|(index, base)| (segment_offset(index), base.load(Acquire))).any(
            |(offset, base)| {
                is_in(base, segment_of(offset).length.min(limit.saturating_sub(offset)))
            },
        )
}

/// Offset of a segment in the file.
fn segment_offset(index: usize) -> usize {
    match index {
        0 => 0,
        _ if index < DOUBLING_SEGMENTS => FIRST_SEGMENT_BYTES << (index - 1),
        _ => (index + 1 - DOUBLING_SEGMENTS) * SEGMENT_BYTES,
    }
}

/// Lists the mapped parts of the log for a recorder that removes the library from the process. A
/// child has none of these parts.
#[cfg(feature = "injected")]
pub(crate) fn note_mapped(state: &ProcessState) {
    for (index, base) in state.segments.iter().enumerate() {
        let base = base.load(Acquire);
        if base.is_null() {
            continue;
        }
        let offset = segment_offset(index);
        let limit = (recording_options().max_bytes as usize).saturating_sub(offset);
        mapped_memory::note_mapping(base, segment_of(offset).length.min(limit));
    }
    let reserve = state.reserve.load(Acquire);
    if !reserve.is_null() {
        mapped_memory::note_mapping(reserve, state.reserve_length.load(Relaxed));
    }
}

/// Opens the log and maps a segment of it.
fn map_segment(state: &ProcessState, segment: &LogSegment) -> Result<*mut u8, usize> {
    let file = keep::open_log(state).map_err(causes::cause_of_error)?;
    map_file(&file, segment.offset, segment.length)
}

/// Allocates `length` bytes of the file from `offset` on, and maps them. The error is a cause of
/// [`lost`].
pub(crate) fn map_file(
    file: &raw::OwnDescriptor,
    offset: usize,
    length: usize,
) -> Result<*mut u8, usize> {
    // Beyond the limit the kernel would send a fatal SIGXFSZ.
    if (offset + length) as u64 > raw::file_size_limit() {
        return Err(lost::FILE_SIZE);
    }
    allocate_segment(file, offset, length)?;
    let memory = file.map(offset, length).map_err(causes::cause_of_error)?;
    pages::advise_mapping(memory, length);
    Ok(memory)
}

/// Allocates a segment of the file, in pieces if signals interrupt the allocation: the longer it
/// takes, the more likely they do.
fn allocate_segment(file: &raw::OwnDescriptor, offset: usize, length: usize) -> Result<(), usize> {
    let interrupted = -libc::EINTR as isize;
    let mut result = file.allocate(offset, length);
    if result == interrupted {
        for piece in (0..length).step_by(ALLOCATION_PIECE_BYTES) {
            for _ in 0..ALLOCATION_TRIES {
                result = file.allocate(offset + piece, ALLOCATION_PIECE_BYTES.min(length - piece));
                if result != interrupted {
                    break;
                }
            }
            if result != 0 {
                break;
            }
        }
    }
    if matches!(-result as i32, libc::EOPNOTSUPP | libc::ENOSYS) {
        result = file.extend(offset + length);
    }
    if result == 0 { Ok(()) } else { Err(causes::cause_of_error(result)) }
}
