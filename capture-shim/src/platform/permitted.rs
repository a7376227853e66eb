//! System calls that the program's seccomp filters still permit.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

use libc::sock_filter;

use super::filter::{self, SystemCall};
use crate::tuning::MAX_FILTERS;

/// KeptFilter copy of a filter.
pub(super) struct KeptFilter {
    pub(super) first: AtomicPtr<sock_filter>,
    pub(super) length: AtomicUsize,
}

/// Kept copies of the program's filters.
pub(super) static KEPT: [KeptFilter; MAX_FILTERS] =
    [const { KeptFilter { first: AtomicPtr::new(ptr::null_mut()), length: AtomicUsize::new(0) } };
        MAX_FILTERS];

/// Number of kept filters; [`EVERYTHING`] where no system call is permitted.
pub(super) static COUNT: AtomicU32 = AtomicU32::new(0);
pub(super) const EVERYTHING: u32 = u32::MAX;

/// Whether the program has given up any system calls.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    COUNT.load(Relaxed) != 0
}

/// Whether a filter lets a system call pass or fail with an error, which harms nobody.
fn harms_nobody(filter: &[sock_filter], call: &SystemCall) -> bool {
    let action = filter::run(filter, call).map(|answer| answer & libc::SECCOMP_RET_ACTION_FULL);
    matches!(
        action,
        Some(libc::SECCOMP_RET_ALLOW | libc::SECCOMP_RET_LOG | libc::SECCOMP_RET_ERRNO)
    )
}

/// Whether all filters let a system call pass or fail with an error.
#[cold]
pub(crate) fn permits(number: usize, arguments: &[usize; 6]) -> bool {
    let count = COUNT.load(Acquire);
    let call = SystemCall::new(number, arguments);
    count != EVERYTHING
        && KEPT.iter().take(count as usize).all(|kept| {
            let (first, length) = (kept.first.load(Acquire), kept.length.load(Relaxed));
            // SAFETY: a copy of that many instructions, which is never removed.
            let filter = unsafe { core::slice::from_raw_parts(first, length) };
            harms_nobody(filter, &call)
        })
}
