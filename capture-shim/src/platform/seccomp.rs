//! Copies of the program's seccomp filters, so that the library makes no system call that the
//! filters forbid: such a call could kill the program.
//!
//! Every filter that the program installs passes a hook, which keeps a copy. From then on each
//! system call of the library is checked against all copies before it is made. A child inherits the
//! filters and, since the copies are in plain memory, the copies. A filter that was installed
//! before the program began, or past libc, is not known.

use core::sync::atomic::Ordering::{Relaxed, Release};

use libc::{sock_filter, sock_fprog};

use super::filter::{self, SystemCall};
use super::permitted_syscalls::{self, ALL_FORBIDDEN, COUNT, FILTERS, permits_call};
use super::raw;

/// Copy of a filter, made before the filter is active.
pub(crate) struct FilterCopy(Option<(*mut sock_filter, usize)>);

impl FilterCopy {
    /// No filter: almost no system call is permitted.
    pub(crate) const NONE: FilterCopy = FilterCopy(None);

    /// Whether this filter and the program's active filters let a system call be made.
    pub(crate) fn will_permit(&self, number: core::ffi::c_long, arguments: &[usize; 6]) -> bool {
        let Some((first, length)) = self.0 else { return false };
        let call = SystemCall::new(number as usize, arguments);
        // SAFETY: a copy of that many instructions, which is never removed.
        let filter = unsafe { core::slice::from_raw_parts(first, length) };
        let action =
            filter::run_filter(filter, &call).map(|answer| answer & libc::SECCOMP_RET_ACTION_FULL);
        matches!(action, Some(libc::SECCOMP_RET_ALLOW | libc::SECCOMP_RET_LOG))
            && (!permitted_syscalls::is_active() || permits_call(number as usize, arguments))
    }
}

/// Copies the filter that the program passes to the kernel; `None` if the kernel will refuse it,
/// because of its length or because it cannot be read.
///
/// # Safety
/// `program` is null, or the program's `sock_fprog`, which may be invalid.
pub(crate) unsafe fn copy_filter(program: *const sock_fprog) -> Option<FilterCopy> {
    if program.is_null() || !raw::is_readable(program) {
        return None;
    }
    // SAFETY: just found readable.
    let (from, length) = unsafe { ((*program).filter, usize::from((*program).len)) };
    if length == 0 || length > filter::MAX_INSTRUCTIONS {
        return None;
    }
    if !raw::are_readable(from, length) {
        return None;
    }
    let Some(memory) = raw::map_anonymous(length * size_of::<sock_filter>()) else {
        return Some(FilterCopy::NONE);
    };
    let to: *mut sock_filter = memory.cast();
    // SAFETY: both are as long as that, and the mapping is new.
    unsafe { to.copy_from_nonoverlapping(from, length) };
    Some(FilterCopy(Some((to, length))))
}

/// Frees the copy of a filter that the kernel has refused.
pub(crate) fn discard(copy: FilterCopy) {
    if let Some((first, length)) = copy.0 {
        // SAFETY: the mapping of `copy`, which was never published.
        unsafe { raw::unmap_memory(first.cast(), length * size_of::<sock_filter>()) };
    }
}

/// Keeps the copy of a filter that is now active.
pub(crate) fn enforce_filter(copy: FilterCopy) {
    let index = COUNT.load(Relaxed);
    match (copy.0, FILTERS.get(index as usize)) {
        (Some((first, length)), Some(kept)) => {
            kept.length.store(length, Relaxed);
            kept.first.store(first, Release);
            // Another thread has installed a filter at the same time, and one of the two copies
            // has overwritten the other.
            if COUNT.compare_exchange(index, index + 1, Release, Relaxed).is_err() {
                permit_nothing();
            }
        }
        _ => permit_nothing(),
    }
}

/// Permits nothing from now on.
pub(crate) fn permit_nothing() {
    COUNT.store(ALL_FORBIDDEN, Release);
}
