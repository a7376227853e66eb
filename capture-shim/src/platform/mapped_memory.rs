//! Memory that the library has mapped and keeps, in an image that it is injected into. A recorder
//! that removes the library from a running process reads the list, and unmaps its entries.
//!
//! The list contains mappings that the library never unmaps by itself, and that never become the
//! program's. A child has the list, too, and the same mappings, with their content or without.
//! Mappings that a child does not have are added to the list only when the library ends.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use super::raw;
use crate::tuning::MAX_MAPPED;

/// Range of memory: its address and its length in bytes. Not written yet while the length is 0.
#[repr(C)]
struct MappedRange {
    start: AtomicUsize,
    length: AtomicUsize,
}

/// The list, which the injector finds by this name.
#[unsafe(no_mangle)]
static sockcap_mapped: MappedList =
    MappedList { ranges: AtomicPtr::new(ptr::null_mut()), count: AtomicUsize::new(0) };

#[repr(C)]
struct MappedList {
    /// Array of [`MAX_MAPPED`] ranges; null before the first.
    ranges: AtomicPtr<MappedRange>,
    count: AtomicUsize,
}

/// Adds a mapping to the list. The first call is while only one thread of the process uses the
/// library.
pub(crate) fn note_mapping(memory: *mut u8, length: usize) {
    let mut ranges = sockcap_mapped.ranges.load(Acquire);
    if ranges.is_null() {
        let bytes = MAX_MAPPED * size_of::<MappedRange>();
        let Some(own) = raw::map_anonymous(bytes) else { return };
        ranges = own.cast();
        sockcap_mapped.ranges.store(ranges, Release);
        write_range(ranges, own, bytes);
    }
    write_range(ranges, memory, length);
}

/// Appends a range to the list at `ranges`, unless the list is full.
fn write_range(ranges: *mut MappedRange, memory: *mut u8, length: usize) {
    let place = sockcap_mapped.count.load(Relaxed);
    if place >= MAX_MAPPED {
        return;
    }
    let place = sockcap_mapped.count.fetch_add(1, AcqRel);
    if place < MAX_MAPPED {
        // SAFETY: within the list, with valid zeros, and this place has no other owner.
        let range = unsafe { &*ranges.add(place) };
        range.start.store(memory.expose_provenance(), Relaxed);
        range.length.store(length, Release);
    }
}
