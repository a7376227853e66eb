//! Time: ticks for the records, and anchors that tie ticks to the clocks.
//!
//! A tick is a step of the processor's cycle counter, halved until it is about a nanosecond, but
//! only if the kernel itself keeps its time by that counter. Otherwise it is a nanosecond of
//! `CLOCK_MONOTONIC`, which the vDSO returns without a system call but at twice the cost. The
//! counter's rate need not be known: readers determine it between two anchors, and correct it at
//! every further one.

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};

use socket_log::layout::{ANCHOR_REACH, Anchor, tick};

use super::{InitOnce, raw, test_clock};
use crate::c_library::objects::LoadedObject;
use crate::tuning::FIRST_ANCHOR_REACH;

/// Number of bits by which the cycle counter is shifted to make ticks, plus one; 0 if ticks are
/// nanoseconds of `CLOCK_MONOTONIC`. Chosen by the constructor and kept by all children, so that a
/// child's ticks never mix two clocks.
#[unsafe(link_section = ".data.often_read")]
static COUNTER_SHIFT: AtomicU32 = AtomicU32::new(0);

/// Choice of the ticks (`SOCKCAP_CLOCK`).
pub(crate) enum TickChoice {
    /// Cycles if the kernel trusts their counter, otherwise nanoseconds.
    Trusted,
    /// Nanoseconds (`monotonic`).
    Monotonic,
    /// Cycles whenever their counter is steady (`cycles`): for tests, since the counter may be out
    /// of step between processors.
    Cycles,
}

/// Description of the ticks for the header: their clock, and the number of bits by which it is
/// shifted.
pub(crate) fn tick_description() -> (u32, u32) {
    match COUNTER_SHIFT.load(Relaxed) {
        0 if !test_clock::is_on() => (tick::MONOTONIC, 0),
        // Ticks are true nanoseconds, but the test clock is shifted: readers determine the rate of
        // ticks on the shifted clock as they do for cycles.
        0 => (tick::CYCLES, 0),
        shifted => (tick::CYCLES, shifted - 1),
    }
}

/// Current time, in ticks.
#[inline(always)]
pub(crate) fn current_ticks() -> u64 {
    match COUNTER_SHIFT.load(Relaxed) {
        0 => monotonic_ticks(),
        shifted => counter::read_counter() >> (shifted - 1),
    }
}

/// Current time on machines without a counter that the kernel trusts. It is a separate function,
/// since each hook contains a reading of the clock.
#[cold]
#[inline(never)]
fn monotonic_ticks() -> u64 {
    clock_nanoseconds(libc::CLOCK_MONOTONIC) as u64
}

/// Current time in ticks, which must be made from the cycle counter ([`counts_cycles`]).
#[cfg(feature = "injected")]
#[inline(always)]
pub(crate) fn ticks_by_counter() -> u64 {
    ticks_of_counter(counter::read_counter())
}

/// Whether ticks are made from the cycle counter, by [`ticks_of_counter`].
#[cfg(feature = "injected")]
pub(crate) fn counts_cycles() -> bool {
    COUNTER_SHIFT.load(Relaxed) != 0
}

/// Ticks of a `value` of the cycle counter; `value` itself if `COUNTER_SHIFT` is 0, where ticks are
/// not made from the counter.
#[cfg(feature = "injected")]
#[inline(always)]
pub(crate) fn ticks_of_counter(value: u64) -> u64 {
    value >> COUNTER_SHIFT.load(Relaxed).saturating_sub(1)
}

/// Maximum distance, in ticks, of a record from the last anchor before it, if that anchor is at
/// `ticks` in a log that began at `start` (in ticks).
///
/// Cycles are converted into time at the rate between anchors, so the distance to the last anchor
/// never exceeds the time from the log's first anchor to the last. Thus the last record's time is
/// as accurate as the reading of the anchors, also in a process that is killed.
#[inline]
pub(crate) fn anchor_reach(start: u64, ticks: u64) -> u32 {
    match COUNTER_SHIFT.load(Relaxed) {
        // The rate of a shifted test clock is determined between anchors, like the rate of cycles.
        0 if !test_clock::is_on() => ANCHOR_REACH as u32,
        _ => ticks.saturating_sub(start).clamp(FIRST_ANCHOR_REACH, ANCHOR_REACH) as u32,
    }
}

/// All clocks at one moment, when `CLOCK_REALTIME` is read; the other two are read before and after
/// it. The tightest of four tries is used, since a thread can be interrupted in between.
///
/// It has a stack frame of its own: its callers create parts of the log, which need more of it.
#[inline(never)]
pub(crate) fn read_anchor() -> Anchor {
    let mut best = try_anchor();
    for _ in 0..3 {
        let next = try_anchor();
        if next.1 < best.1 {
            best = next;
        }
    }
    test_clock::shift_anchor(best.0)
}

/// Anchor from which [`anchor_at`] determines the rate of ticks.
static FIRST_ANCHOR: InitOnce<Anchor> =
    InitOnce::new(Anchor { ticks: 0, monotonic: 0, realtime: 0 });

/// Keeps the anchor at the start of the program, for its children.
///
/// # Safety
/// Only the constructor calls this, before the program has a second thread.
pub(crate) unsafe fn keep_first_anchor(anchor: Anchor) {
    // SAFETY: as the caller guarantees.
    unsafe { FIRST_ANCHOR.set(anchor) };
}

/// All clocks at an earlier moment since the program's start, which was noted in ticks only. It
/// lies between two anchors, so it is as accurate as these while the rate of ticks is constant. The
/// real time is that of the clock's present setting.
pub(crate) fn anchor_at(ticks: u64) -> Anchor {
    let (first, now) = (FIRST_ANCHOR.get(), read_anchor());
    let ticks = ticks.min(now.ticks);
    let all = now.ticks.saturating_sub(first.ticks).max(1);
    let elapsed = now.monotonic.saturating_sub(first.monotonic).max(0);
    let since = u128::from(now.ticks - ticks) * elapsed as u128 / u128::from(all);
    Anchor {
        ticks,
        monotonic: now.monotonic.saturating_sub(since as i64),
        realtime: now.realtime.saturating_sub(since as i64),
    }
}

/// All clocks once, and the time that it took to read them, in nanoseconds.
fn try_anchor() -> (Anchor, i64) {
    let before = clock_nanoseconds(libc::CLOCK_MONOTONIC);
    let first = counter::read_counter_in_order();
    let realtime = clock_nanoseconds(libc::CLOCK_REALTIME);
    let second = counter::read_counter_in_order();
    let after = clock_nanoseconds(libc::CLOCK_MONOTONIC);
    let monotonic = before + (after - before) / 2;
    let ticks = match COUNTER_SHIFT.load(Relaxed) {
        0 => monotonic as u64,
        shifted => (first + second.saturating_sub(first) / 2) >> (shifted - 1),
    };
    (Anchor { ticks, monotonic, realtime }, after - before)
}

/// Decides what a tick is. The decision takes as long as a rough measurement of the counter's rate,
/// about 20 us.
pub(crate) fn choose_ticks(choice: TickChoice) {
    find_kernel_function();
    let wanted = match choice {
        TickChoice::Monotonic => false,
        TickChoice::Cycles => counter::is_steady(),
        TickChoice::Trusted => is_counter_trusted() && counter::is_steady(),
    };
    if !wanted {
        return;
    }
    // 20 us give the rate to 1% or better, and a factor of two decides.
    let (begin, first) =
        (clock_nanoseconds(libc::CLOCK_MONOTONIC), counter::read_counter_in_order());
    let mut elapsed = 0;
    for _ in 0..100_000 {
        elapsed = clock_nanoseconds(libc::CLOCK_MONOTONIC) - begin;
        if elapsed > 20_000 {
            break;
        }
    }
    let cycles = counter::read_counter_in_order().saturating_sub(first);
    let mut shift = 0;
    // At most about 1.4 ticks a nanosecond: ANCHOR_REACH is then at least 0.7 s, and at most 1.5 s.
    while elapsed > 0 && (cycles >> shift) * 10 > elapsed as u64 * 14 && shift < 8 {
        shift += 1;
    }
    COUNTER_SHIFT.store(1 + shift, Relaxed);
}

/// Whether the kernel keeps its time by the cycle counter.
fn is_counter_trusted() -> bool {
    let path = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut name = [0; 16];
    let Ok(file) = raw::open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0) else { return false };
    let length = file.read(&mut name);
    name.get(..length) == Some(b"tsc\n")
}

/// The cycle counter of x86-64.
#[cfg(target_arch = "x86_64")]
mod counter {
    use core::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    /// Value of the counter. The processor may read it some instructions early.
    #[inline(always)]
    pub(super) fn read_counter() -> u64 {
        // SAFETY: every x86-64 processor has it, and Linux lets programs read it (a program that
        // forbade it, by PR_SET_TSC, gets the signal from the vDSO as well).
        unsafe { _rdtsc() }
    }

    /// Value of the counter when all preceding instructions have ended.
    pub(super) fn read_counter_in_order() -> u64 {
        // SAFETY: every x86-64 processor has the two instructions, see `read_counter`.
        unsafe {
            _mm_lfence();
            let value = _rdtsc();
            _mm_lfence();
            value
        }
    }

    /// Whether the counter runs at a constant rate in all processor states ("invariant TSC").
    pub(super) fn is_steady() -> bool {
        const ADVANCED_POWER: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        __cpuid(0x8000_0000).eax >= ADVANCED_POWER && __cpuid(ADVANCED_POWER).edx & INVARIANT != 0
    }
}

/// Absent counter of other processors, where the vDSO's clock is as cheap.
#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) fn read_counter() -> u64 {
        0
    }

    pub(super) fn read_counter_in_order() -> u64 {
        0
    }

    pub(super) fn is_steady() -> bool {
        false
    }
}

/// Type of the kernel's function in the vDSO.
type GetTime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// Kernel's function for the time in its own object (vDSO), which is mapped into every process;
/// null before it is searched for, and if it does not exist.
///
/// Libc's function of that name is never called: `faketime` and similar tools interpose it.
/// Besides, a program that has given up the system call can still use the vDSO.
static GET_TIME: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Finds the kernel's function for the time.
fn find_kernel_function() {
    const NAME: &CStr = if cfg!(target_arch = "aarch64") {
        c"__kernel_clock_gettime"
    } else {
        c"__vdso_clock_gettime"
    };
    // SAFETY: takes only a number.
    let object = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    if let Some(object) = LoadedObject::kernel_object(object) {
        GET_TIME.store(object.find_symbol(NAME), Relaxed);
    }
}

/// Time of a clock of the kernel, in nanoseconds; 0 if it is not available.
#[inline(always)]
fn clock_nanoseconds(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let function = GET_TIME.load(Relaxed);
    // SAFETY: the function's type as documented. The kernel fills the struct.
    let is_read = !function.is_null()
        && unsafe { transmute::<*mut c_void, GetTime>(function)(clock, &mut time) } == 0;
    if !is_read {
        time = raw::system_time(clock);
    }
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
