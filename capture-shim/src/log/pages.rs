//! Pages of the log: how the kernel is asked to provide them.
//!
//! All requests in progress wait while a thread waits for pages. So no wait may be longer than a
//! request: pages are prepared a few at a time, and the kernel does not read ahead. At the first
//! store into a segment it would read ahead, for 1.5 ms with 4 MiB
//! (docs/decisions/0124-pages-of-the-log-come-a-few-at-once.md).

use crate::platform::raw;

/// Advises the kernel on the use of a new mapping of the log.
pub(crate) fn advise_mapping(memory: *mut u8, length: usize) {
    // A child has a log of its own and must not write into this one.
    for advice in [libc::MADV_DONTFORK, libc::MADV_RANDOM] {
        // SAFETY: the mapping is new, and neither changes what is in memory.
        unsafe { raw::advise_mapping(memory, length, advice) };
    }
}

/// Has the kernel prepare a part of a mapping of the log for writing. If the kernel cannot, it
/// provides the pages later, one by one.
pub(crate) fn make_ready(memory: *mut u8, length: usize) {
    // SAFETY: neither changes what is in memory, and nothing is stored.
    unsafe {
        // The pages are read from the file together. The next call alone would read them one by
        // one.
        raw::advise_mapping(memory, length, libc::MADV_WILLNEED);
        raw::populate_pages(memory, length);
    }
}
