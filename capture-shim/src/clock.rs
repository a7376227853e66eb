//! The time: ticks for the records, and anchors that tie ticks to the clocks.
//!
//! Ticks are nanoseconds of `CLOCK_MONOTONIC`, which the vDSO gives without a system call.

use socket_log::layout::{Anchor, tick};

/// What the header says of the ticks.
pub(crate) const TICK_CLOCK: u32 = tick::MONOTONIC;

/// Now, in ticks.
#[inline(always)]
pub(crate) fn now() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC) as u64
}

/// All clocks at one moment.
pub(crate) fn anchor() -> Anchor {
    let monotonic = nanoseconds(libc::CLOCK_MONOTONIC);
    Anchor { ticks: monotonic as u64, monotonic, realtime: nanoseconds(libc::CLOCK_REALTIME) }
}

#[inline(always)]
fn nanoseconds(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: libc fills the struct. It was bound when the library was loaded, and both clocks always exist, so
    // `errno` stays as it is.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
