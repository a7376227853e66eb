//! System calls that the program's seccomp filters still permit.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

use libc::sock_filter;

use super::filter::{self, SystemCall};
use crate::tuning::MAX_FILTERS;

/// Kept copy of a filter: the address and the number of its instructions.
pub(super) struct KeptFilter {
    pub(super) first: AtomicPtr<sock_filter>,
    pub(super) length: AtomicUsize,
}

/// Kept copies of the program's filters.
pub(super) static FILTERS: [KeptFilter; MAX_FILTERS] =
    [const { KeptFilter { first: AtomicPtr::new(ptr::null_mut()), length: AtomicUsize::new(0) } };
        MAX_FILTERS];

/// Number of kept filters; [`ALL_FORBIDDEN`] if no system call is permitted.
pub(super) static COUNT: AtomicU32 = AtomicU32::new(0);
pub(super) const ALL_FORBIDDEN: u32 = u32::MAX;

/// Whether the program has given up any system calls.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    COUNT.load(Relaxed) != 0
}

/// Actions of a filter that do no harm: the call is made, or fails with an error.
const HARMLESS: [u32; 3] =
    [libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_LOG, libc::SECCOMP_RET_ERRNO];

/// Actions of a filter by which the call is made.
const PASSING: [u32; 2] = [libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_LOG];

/// Whether all filters respond with one of these `actions` to a system call.
fn all_answer(actions: &[u32], number: usize, arguments: &[usize; 6]) -> bool {
    let count = COUNT.load(Acquire);
    let call = SystemCall::new(number, arguments);
    count != ALL_FORBIDDEN
        && FILTERS.iter().take(count as usize).all(|kept| {
            let (first, length) = (kept.first.load(Acquire), kept.length.load(Relaxed));
            // SAFETY: a copy of that many instructions, which is never removed.
            let filter = unsafe { core::slice::from_raw_parts(first, length) };
            let answer = filter::run_filter(filter, &call);
            answer.is_some_and(|answer| actions.contains(&(answer & libc::SECCOMP_RET_ACTION_FULL)))
        })
}

/// Whether all filters let a system call be made, or fail with an error: making it does no harm.
#[cold]
pub(crate) fn permits_call(number: usize, arguments: &[usize; 6]) -> bool {
    all_answer(&HARMLESS, number, arguments)
}

/// Whether all filters let a system call be made.
#[cold]
pub(crate) fn passes_call(number: core::ffi::c_long, arguments: &[usize; 6]) -> bool {
    all_answer(&PASSING, number as usize, arguments)
}
