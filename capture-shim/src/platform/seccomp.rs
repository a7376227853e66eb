//! Copies of the program's seccomp filters, so that the library makes no system call that they
//! forbid: one could be the program's end.
//!
//! Every filter that the program installs passes a hook, which keeps a copy. From then on each
//! system call of the library is held against all copies before it is made. A child inherits the
//! filters and, since the copies lie in plain memory, the copies. A filter that was installed
//! before the program began, or past libc, is not known.

use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};

use libc::{sock_filter, sock_fprog};

use super::filter::{self, SystemCall};
use super::permitted::{self, COUNT, EVERYTHING, KEPT, permits};
use super::raw;

/// Copy of a filter, made before the filter is in force.
pub(crate) struct FilterCopy(Option<(*mut sock_filter, usize)>);

impl FilterCopy {
    /// Whether a system call succeeds as far as the program's filters say, this one included.
    pub(crate) fn will_permit(&self, number: core::ffi::c_long, arguments: &[usize; 6]) -> bool {
        let Some((first, length)) = self.0 else { return false };
        let call = SystemCall::new(number as usize, arguments);
        // SAFETY: a copy of that many instructions, which is never removed.
        let filter = unsafe { core::slice::from_raw_parts(first, length) };
        let action =
            filter::run(filter, &call).map(|answer| answer & libc::SECCOMP_RET_ACTION_FULL);
        matches!(action, Some(libc::SECCOMP_RET_ALLOW | libc::SECCOMP_RET_LOG))
            && (!permitted::is_active() || permits(number as usize, arguments))
    }
}

/// Copies the filter that the program hands to the kernel. There is no copy where the kernel will
/// refuse it or it is no filter; should the kernel take it nevertheless, nothing is permitted.
///
/// # Safety
/// `program` is null, or what the program gives as its `sock_fprog`, which may be wrong.
pub(crate) unsafe fn copy(program: *const sock_fprog) -> FilterCopy {
    if program.is_null() || !raw::is_readable(program) {
        return FilterCopy(None);
    }
    // SAFETY: just found readable.
    let (from, length) = unsafe { ((*program).filter, usize::from((*program).len)) };
    let last = from.wrapping_add(length.saturating_sub(1));
    let pages = (from.addr()..=last.addr()).step_by(raw::PAGE);
    if length == 0 || length > filter::LONGEST || !raw::is_readable(last) {
        return FilterCopy(None);
    }
    for page in pages {
        if !raw::is_readable(ptr::with_exposed_provenance::<u8>(page)) {
            return FilterCopy(None);
        }
    }
    let Some(memory) = raw::map_anonymous(length * size_of::<sock_filter>()) else {
        return FilterCopy(None);
    };
    let to: *mut sock_filter = memory.cast();
    // SAFETY: both are as long as that, and the mapping is new.
    unsafe { to.copy_from_nonoverlapping(from, length) };
    FilterCopy(Some((to, length)))
}

/// Keeps the copy of a filter that is now in force.
pub(crate) fn enforce(copy: FilterCopy) {
    let index = COUNT.load(Relaxed);
    match (copy.0, KEPT.get(index as usize)) {
        (Some((first, length)), Some(kept)) => {
            kept.length.store(length, Relaxed);
            kept.first.store(first, Release);
            // Two threads at once would overwrite each other's place.
            if COUNT.compare_exchange(index, index + 1, Release, Relaxed).is_err() {
                seal();
            }
        }
        _ => seal(),
    }
}

/// Permits nothing from now on.
pub(crate) fn seal() {
    COUNT.store(EVERYTHING, Release);
}
