//! Commits chunks and records: stores the first word last, which makes the chunk or record visible
//! to readers.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};

use socket_log::encode::{self, DATAGRAM_WORDS};
use socket_log::layout::{Anchor, CHUNK_MAGIC, ChunkHeader};

/// Fills in a chunk: the fields of its header, the first `words` of its records, and last the magic
/// number, which makes the chunk valid for readers.
pub(crate) fn open_chunk(chunk: *mut ChunkHeader, tid: u32, anchor: &Anchor, words: &[u32]) {
    // SAFETY: the chunk is the caller's own, its memory stays mapped, and the words fit into it.
    unsafe {
        (&raw mut (*chunk).tid).write(tid);
        (&raw mut (*chunk).anchor).write(*anchor);
        let body: *mut u32 = chunk.add(1).cast();
        body.copy_from_nonoverlapping(words.as_ptr(), words.len());
        (*chunk).magic.store(CHUNK_MAGIC, Release);
    }
}

/// Stores a record at its reserved place, its first word last.
///
/// # Safety
/// `words` yields `length` words, and `length` words at `place` are reserved for them.
#[inline(always)]
pub(super) unsafe fn commit_record(
    place: *mut u32,
    length: usize,
    mut words: impl Iterator<Item = u32>,
) {
    let Some(first) = words.next() else { return };
    // SAFETY: the place is valid, aligned and the caller's own; readers are other processes.
    unsafe {
        let tag = AtomicU32::from_ptr(place);
        tag.store(encode::reservation_word(length), Relaxed);
        // Neither the compiler nor (by the release below) the machine moves the tag after the body.
        core::sync::atomic::fence(Release);
        for (index, word) in words.enumerate() {
            place.add(1 + index).write(word);
        }
        tag.store(first, Release);
    }
}

/// Stores a datagram's fixed words and its peer's name, as [`commit_record`] does. Names of the
/// usual lengths are copied by a few instructions.
///
/// # Safety
/// `length` words are reserved at `place`: those of `head` and of `peer`, padded to whole words.
#[inline(always)]
pub(super) unsafe fn commit_datagram(
    place: *mut u32,
    length: usize,
    head: &[u32; DATAGRAM_WORDS],
    peer: &[u8],
) {
    const INET: usize = size_of::<libc::sockaddr_in>();
    const INET6: usize = size_of::<libc::sockaddr_in6>();
    let [first, rest @ ..] = head;
    // SAFETY: the place is valid, aligned and the caller's own; readers are other processes.
    unsafe {
        let tag = AtomicU32::from_ptr(place);
        tag.store(encode::reservation_word(length), Relaxed);
        core::sync::atomic::fence(Release);
        place.add(1).copy_from_nonoverlapping(rest.as_ptr(), rest.len());
        let name = place.add(DATAGRAM_WORDS);
        match peer.len() {
            0 => {}
            INET => name.cast::<u8>().copy_from_nonoverlapping(peer.as_ptr(), INET),
            INET6 => name.cast::<u8>().copy_from_nonoverlapping(peer.as_ptr(), INET6),
            _ => {
                for (index, word) in encode::padded_words(peer).enumerate() {
                    name.add(index).write(word);
                }
            }
        }
        tag.store(*first, Release);
    }
}
