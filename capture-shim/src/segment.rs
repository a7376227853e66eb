//! The log's parts: where each chunk lies in the file, and mapping a part when its first chunk is needed.
//!
//! A part is given its room on the disk before it is mapped, because a store into a mapped hole of a full disk is
//! a SIGBUS in the host program. Parts begin small, since most processes log little, and double up to
//! [`LARGEST`]. Several threads may need the same part at once; each maps it for itself and all but the first to
//! publish its mapping take theirs back, so no thread ever waits for another.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, lost};

use crate::options::options;
use crate::raw;
use crate::state::State;

/// The size of the first part: the header and one chunk, which is all that most processes of a script need.
pub(crate) const FIRST: usize = HEADER_BYTES + CHUNK_BYTES;
/// The size that later parts have.
const LARGEST: usize = 4 * 1024 * 1024;
/// How many parts a log may have: about 8 GiB.
pub(crate) const SEGMENTS: usize = 2048;
/// The size that a log cannot exceed.
pub(crate) const MOST: usize = (SEGMENTS - DOUBLING) * LARGEST;

/// How many parts there are before the first of size [`LARGEST`] that begins at a multiple of it.
const DOUBLING: usize = (LARGEST / FIRST).trailing_zeros() as usize + 1;
const _: () = assert!(HEADER_BYTES == CHUNK_BYTES && FIRST.is_power_of_two());

/// A part's number, its offset in the file and its length.
struct Segment {
    index: usize,
    offset: usize,
    length: usize,
}

/// The part that holds the byte at `offset`.
fn locate(offset: usize) -> Segment {
    if offset < FIRST {
        Segment { index: 0, offset: 0, length: FIRST }
    } else if offset < LARGEST {
        // The part that begins at 2^n is as long as all before it.
        let n = offset.ilog2();
        Segment { index: 1 + (n - FIRST.ilog2()) as usize, offset: 1 << n, length: 1 << n }
    } else {
        let begin = offset & !(LARGEST - 1);
        Segment { index: DOUBLING + begin / LARGEST - 1, offset: begin, length: LARGEST }
    }
}

/// The memory of chunk `number`, or the cause ([`lost`]) for which there is none.
pub(crate) fn chunk(state: &State, number: u32) -> Result<*mut u8, usize> {
    let offset = HEADER_BYTES + number as usize * CHUNK_BYTES;
    let mut segment = locate(offset);
    let most = options().max_bytes as usize;
    if offset + CHUNK_BYTES > most {
        return Err(lost::LIMIT);
    }
    segment.length = segment.length.min(most - segment.offset);
    let place = state.segments.get(segment.index).ok_or(lost::LIMIT)?;
    let mut base = place.load(Acquire);
    if base.is_null() {
        base = map(state, &segment)?;
        if let Err(first) = place.compare_exchange(ptr::null_mut(), base, AcqRel, Acquire) {
            // SAFETY: the mapping was just made and nobody has seen it.
            unsafe { raw::unmap(base, segment.length) };
            base = first;
        }
    }
    Ok(base.wrapping_add(offset - segment.offset))
}

fn map(state: &State, segment: &Segment) -> Result<*mut u8, usize> {
    if raw::is_sealed() {
        return Err(lost::REFUSED);
    }
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let file = raw::open(state.path(), flags, 0).map_err(|_| lost::REFUSED)?;
    map_file(&file, segment.offset, segment.length)
}

/// Gives a part of the file room and maps it.
pub(crate) fn map_file(file: &raw::Descriptor, offset: usize, length: usize) -> Result<*mut u8, usize> {
    // Beyond the limit the kernel would answer with a deadly SIGXFSZ.
    if (offset + length) as u64 > raw::file_size_limit() {
        return Err(lost::NO_SPACE);
    }
    match -file.allocate(offset, length) as i32 {
        0 => {}
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => return Err(lost::NO_SPACE),
        _ => return Err(lost::REFUSED),
    }
    let memory = file.map(offset, length).ok_or(lost::REFUSED)?;
    // A child has a log of its own and must not write into this one.
    // SAFETY: the mapping is new.
    unsafe { raw::advise(memory, length, libc::MADV_DONTFORK) };
    Ok(memory)
}

/// Maps the parts up to the first that is not doubled, for a process that will not be able to later.
pub(crate) fn reserve(state: &State) {
    let mut offset = FIRST;
    while offset < LARGEST && chunk(state, ((offset - HEADER_BYTES) / CHUNK_BYTES) as u32).is_ok() {
        offset *= 2;
    }
}

/// Stops the log's growth for `cause`: a disk that is full once would be asked again at every call.
pub(crate) fn stop(state: &State, cause: usize) {
    state.stopped.store(cause as u32 + 1, Relaxed);
}
