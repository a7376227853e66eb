//! Memory: mappings are made, allocated, advised and removed; memory of the program is tested for
//! being readable.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use super::call::{PAGE, system_call};

/// Maps `length` bytes of memory, or of the file `fd` from `offset` on. The error is the kernel's
/// negative number.
pub(super) fn map_memory(
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: usize,
) -> Result<*mut u8, isize> {
    // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
    let result = unsafe {
        system_call(
            libc::SYS_mmap,
            [0, length, protection as usize, flags as usize, fd as isize as usize, offset],
        )
    };
    // Errors are the last page of the address space.
    if (-4095..0).contains(&result) { Err(result) } else { Ok(result as *mut u8) }
}

/// Protection for reading and writing.
pub(super) const USABLE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Maps private memory that begins as zeros and takes space only where it is touched.
pub(crate) fn map_anonymous(length: usize) -> Option<*mut u8> {
    map_memory(length, USABLE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0)
        .ok()
}

/// Maps memory that begins as zeros and that a process shares with its children.
pub(crate) fn map_shared(length: usize) -> Option<*mut u8> {
    map_memory(length, USABLE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0).ok()
}

const MADV_POPULATE_WRITE: usize = 23;

/// Allocates the pages of a shared mapping of a file on the disk. The kernel also does so at the
/// first store into each page, but then a lack of space is a signal and not an error.
///
/// # Safety
/// The mapping is the caller's own.
pub(crate) unsafe fn populate_pages(address: *mut u8, length: usize) -> isize {
    // SAFETY: changes nothing that a store would not.
    unsafe {
        system_call(libc::SYS_madvise, [address as usize, length, MADV_POPULATE_WRITE, 0, 0, 0])
    }
}

/// Whether the kernel supports [`populate_pages`], as Linux does since 5.14.
pub(crate) fn can_populate() -> bool {
    // SAFETY: no page.
    unsafe { populate_pages(ptr::without_provenance_mut(PAGE), 0) == 0 }
}

/// Arguments of [`populate_pages`], for evaluating a filter.
pub(crate) fn populate_arguments() -> [usize; 6] {
    [PAGE, PAGE, MADV_POPULATE_WRITE, 0, 0, 0]
}

/// Arguments of the two system calls that make a new log, to open and to map it, for evaluating a
/// filter.
pub(crate) fn new_log_arguments() -> [[usize; 6]; 2] {
    let flags = libc::O_RDWR
        | libc::O_APPEND
        | libc::O_CREAT
        | libc::O_EXCL
        | libc::O_CLOEXEC
        | libc::O_NOFOLLOW;
    let create = [libc::AT_FDCWD as usize, PAGE, flags as usize, 0o640, 0, 0];
    [create, [0, PAGE, USABLE as usize, libc::MAP_SHARED as usize, 3, 0]]
}

/// Whether the program's memory of `count` values from `first` on can be read. All pages are tested
/// in one call, if the kernel supports it (Linux 5.14).
pub(crate) fn are_readable<T>(first: *const T, count: usize) -> bool {
    const MADV_POPULATE_READ: usize = 22;
    let last = first.wrapping_add(count.saturating_sub(1));
    let begin = first.addr() & !(PAGE - 1);
    let length = last.wrapping_add(1).addr().wrapping_sub(begin);
    let arguments = [begin, length, MADV_POPULATE_READ, 0, 0, 0];
    // SAFETY: changes nothing that a load would not.
    if length > PAGE && unsafe { system_call(libc::SYS_madvise, arguments) } == 0 {
        return true;
    }
    let mut pages = (begin..=last.addr()).step_by(PAGE);
    pages.all(|page| is_readable(ptr::with_exposed_provenance::<u8>(page)))
        && is_readable(first)
        && is_readable(last)
}

/// Gives advice about a mapping; true if the kernel accepted it.
///
/// # Safety
/// The mapping is the caller's own, and the advice loses nothing that is still needed.
pub(crate) unsafe fn advise_mapping(address: *mut u8, length: usize, advice: c_int) -> bool {
    // SAFETY: the caller is responsible for the mapping.
    unsafe {
        system_call(libc::SYS_madvise, [address as usize, length, advice as usize, 0, 0, 0]) == 0
    }
}

/// Replaces a mapping of the library by private memory, so that stores into it no longer reach its
/// file. Returns whether the kernel has done so.
pub(crate) fn replace_by_nothing(address: *mut u8, length: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let arguments = [address as usize, length, USABLE as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a mapping of the library's own, which stays one.
    unsafe { system_call(libc::SYS_mmap, arguments) == address as isize }
}

/// Changes the protection of pages of the program. Returns whether the kernel has done so.
///
/// # Safety
/// The protection permits all concurrent uses of the pages, before and after.
#[cfg(not(feature = "injected"))]
pub(crate) unsafe fn protect_pages(page: usize, length: usize, protection: c_int) -> bool {
    // SAFETY: the caller is responsible for the pages.
    unsafe { system_call(libc::SYS_mprotect, [page, length, protection as usize, 0, 0, 0]) == 0 }
}

/// Maps a page of private memory at `address`; `None` if something is mapped there.
#[cfg(all(not(feature = "injected"), target_arch = "x86_64"))]
pub(crate) fn map_page_at(address: usize) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let arguments = [address, PAGE, USABLE as usize, flags as usize, usize::MAX, 0];
    // SAFETY: no other mapping is replaced.
    let result = unsafe { system_call(libc::SYS_mmap, arguments) };
    if (-4095..0).contains(&result) {
        return None;
    }
    // A kernel that does not support the flag chooses an address of its own.
    if result as usize != address {
        // SAFETY: its address was never published.
        unsafe { unmap_memory(result as *mut u8, PAGE) };
        return None;
    }
    Some(ptr::with_exposed_provenance_mut(address))
}

/// Removes a mapping.
///
/// # Safety
/// Nothing uses the mapping any more.
pub(crate) unsafe fn unmap_memory(address: *mut u8, length: usize) {
    // SAFETY: the caller is responsible for the mapping.
    unsafe { system_call(libc::SYS_munmap, [address as usize, length, 0, 0, 0, 0]) };
}

/// Whether the program's memory at `address` can be read. An address that the program passes to the
/// kernel may be invalid, which is an error for the kernel to report and no reason to crash.
pub(crate) fn is_readable<T>(address: *const T) -> bool {
    /// Page that was last found readable. It is assumed to be readable still, or each datagram
    /// would cost a system call. A program that has unmapped the page since and passes it to the
    /// kernel is not detected.
    static LATEST: AtomicUsize = AtomicUsize::new(usize::MAX);
    const WORD: usize = 8;
    let own_frame = 0u8;
    let (first, last) = (address.addr(), address.addr().wrapping_add(size_of::<T>().max(1) - 1));
    let is_in = |page: usize| first / PAGE == page && last / PAGE == page;
    if first < PAGE {
        return false; // The page of null pointers, which the kernel may treat as absent.
    }
    if is_in(ptr::from_ref(&own_frame).addr() / PAGE) || is_in(LATEST.load(Relaxed)) {
        return true;
    }
    let can_read = |address: usize| {
        // The word lies wholly inside the page, so that its neighbour does not matter.
        let within = address.min((address | (PAGE - 1)) - (WORD - 1));
        // The kernel reads the signal set before it finds that `how` is invalid.
        // SAFETY: changes nothing, since the operation is invalid.
        let result =
            unsafe { system_call(libc::SYS_rt_sigprocmask, [usize::MAX, within, 0, WORD, 0, 0]) };
        result != -libc::EFAULT as isize
    };
    let readable = can_read(first) && (first / PAGE == last / PAGE || can_read(last));
    if readable {
        LATEST.store(last / PAGE, Relaxed);
    }
    readable
}
