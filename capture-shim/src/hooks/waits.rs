//! Waits for descriptors (`poll`, `select`, `epoll_wait`): how long each takes, if the user
//! requests it (`SOCKCAP_WAITS`). Otherwise each wait costs one check of this option.

use core::ffi::{c_int, c_long, c_ulong};

use libc::{epoll_event, fd_set, pollfd, sigset_t, size_t, timespec, timeval};
use socket_log::encode::{self, WaitCall};

use crate::c_library::types;
use crate::log;
use crate::platform::{clock, raw};
use crate::state::options::recording_options;

/// Makes the program's call, and logs it if waits are recorded and the call may wait. `blocks`
/// returns whether its timeout is not zero.
#[inline(always)]
fn log_wait(call: WaitCall, blocks: impl FnOnce() -> bool, wait: impl FnOnce() -> c_int) -> c_int {
    if !recording_options().waits {
        return wait();
    }
    log_wait_if_blocking(call, blocks(), wait)
}

/// Makes the program's call, and logs it if it `blocks`.
#[cold]
#[inline(never)]
fn log_wait_if_blocking(call: WaitCall, blocks: bool, wait: impl FnOnce() -> c_int) -> c_int {
    let begin = clock::current_ticks();
    let result = wait();
    if blocks && let Some(writer) = log::existing_writer() {
        let end = clock::current_ticks();
        writer.record(&encode::wait_record(end, call, result, end.saturating_sub(begin)), end);
    }
    result
}

/// Whether a timeout is more than zero; a null pointer means no timeout.
///
/// An invalid pointer counts as no timeout, since the kernel will refuse it.
fn is_nonzero_timeout(timeout: *const timespec) -> bool {
    // SAFETY: null, or found readable.
    unsafe { read_pointer(timeout) }.is_none_or(|time| time.tv_sec != 0 || time.tv_nsec != 0)
}

/// Whether a timeout of `select` is more than zero; a null pointer means no timeout.
fn is_nonzero_timeval(timeout: *const timeval) -> bool {
    // SAFETY: null, or found readable.
    unsafe { read_pointer(timeout) }.is_none_or(|time| time.tv_sec != 0 || time.tv_usec != 0)
}

/// Value at a pointer of the program, if it can be read.
///
/// # Safety
/// No other thread changes the value while the reference is used.
unsafe fn read_pointer<'call, T>(pointer: *const T) -> Option<&'call T> {
    // SAFETY: just found readable; of plain numbers, so that any bytes are valid.
    if pointer.is_null() || !raw::is_readable(pointer) { None } else { unsafe { pointer.as_ref() } }
}

/// Makes a wait that the program requests by the number of its system call. `words` are the
/// arguments.
#[inline(always)]
pub(crate) fn by_number(
    number: c_long,
    words: [c_long; 6],
    wait: impl FnOnce() -> c_long,
) -> c_long {
    if !recording_options().waits {
        return wait();
    }
    let [_, _, third, fourth, fifth, _] = words;
    let address = |word: c_long| core::ptr::with_exposed_provenance::<timespec>(word as usize);
    let (call, blocks) = match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => (WaitCall::Poll, third as c_int != 0),
        libc::SYS_ppoll => (WaitCall::Poll, is_nonzero_timeout(address(third))),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => (WaitCall::Select, is_nonzero_timeval(address(fifth).cast())),
        libc::SYS_pselect6 => (WaitCall::Select, is_nonzero_timeout(address(fifth))),
        libc::SYS_epoll_pwait2 => (WaitCall::Epoll, is_nonzero_timeout(address(fourth))),
        _ => (WaitCall::Epoll, fourth as c_int != 0),
    };
    let mut result = 0;
    log_wait_if_blocking(call, blocks, || {
        result = wait();
        result as c_int
    });
    result
}

/// Makes a wait of the family of `epoll_wait` on `epoll`, for which the kernel reports `events`,
/// and logs it.
///
/// # Safety
/// `wait` is the program's own call, with these arguments.
#[inline(always)]
unsafe fn log_epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    blocks: impl FnOnce() -> bool,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let result = log_wait(WaitCall::Epoll, blocks, wait);
    #[cfg(feature = "resources")]
    // SAFETY: the kernel has just reported that many.
    unsafe {
        super::epolls::log_ready_eventfds(epoll, events, result);
    }
    #[cfg(not(feature = "resources"))]
    let _ = (epoll, events);
    result
}

/// # Safety
/// As for `poll`.
#[inline(always)]
pub(crate) unsafe fn poll(
    real: types::poll,
    fds: *mut pollfd,
    count: c_ulong,
    timeout: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    log_wait(WaitCall::Poll, || timeout != 0, move || unsafe { real(fds, count, timeout) })
}

/// # Safety
/// As for `poll`, with the array's true size, which libc checks.
pub(crate) unsafe fn poll_chk(
    real: types::__poll_chk,
    fds: *mut pollfd,
    count: c_ulong,
    timeout: c_int,
    room: size_t,
) -> c_int {
    // SAFETY: the program's own call.
    log_wait(WaitCall::Poll, || timeout != 0, move || unsafe { real(fds, count, timeout, room) })
}

/// # Safety
/// As for `ppoll`.
pub(crate) unsafe fn ppoll(
    real: types::ppoll,
    fds: *mut pollfd,
    count: c_ulong,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own call and timeout.
    unsafe {
        log_wait(
            WaitCall::Poll,
            || is_nonzero_timeout(timeout),
            move || real(fds, count, timeout, mask),
        )
    }
}

/// # Safety
/// As for `ppoll`, with the array's true size, which libc checks.
pub(crate) unsafe fn ppoll_chk(
    real: types::__ppoll_chk,
    fds: *mut pollfd,
    count: c_ulong,
    timeout: *const timespec,
    mask: *const sigset_t,
    room: size_t,
) -> c_int {
    // SAFETY: the program's own call and timeout.
    unsafe {
        log_wait(
            WaitCall::Poll,
            || is_nonzero_timeout(timeout),
            move || real(fds, count, timeout, mask, room),
        )
    }
}

/// # Safety
/// As for `select`.
pub(crate) unsafe fn select(
    real: types::select,
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    // Evaluated before the call, which may change the timeout.
    let blocks = || is_nonzero_timeval(timeout);
    // SAFETY: the program's own call.
    log_wait(WaitCall::Select, blocks, move || unsafe { real(count, read, write, except, timeout) })
}

/// # Safety
/// As for `pselect`.
pub(crate) unsafe fn pselect(
    real: types::pselect,
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own call and timeout.
    unsafe {
        log_wait(
            WaitCall::Select,
            || is_nonzero_timeout(timeout),
            move || real(count, read, write, except, timeout, mask),
        )
    }
}

/// # Safety
/// As for `epoll_wait`.
#[inline(always)]
pub(crate) unsafe fn epoll_wait(
    real: types::epoll_wait,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let wait = move || real(epoll, events, most, timeout);
        log_epoll_wait(epoll, events, || timeout != 0, wait)
    }
}

/// # Safety
/// As for `epoll_pwait`.
pub(crate) unsafe fn epoll_pwait(
    real: types::epoll_pwait,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let wait = move || real(epoll, events, most, timeout, mask);
        log_epoll_wait(epoll, events, || timeout != 0, wait)
    }
}

/// # Safety
/// As for `epoll_pwait2`.
pub(crate) unsafe fn epoll_pwait2(
    real: types::epoll_pwait2,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the program's own call and timeout.
    unsafe {
        let wait = move || real(epoll, events, most, timeout, mask);
        log_epoll_wait(epoll, events, || is_nonzero_timeout(timeout), wait)
    }
}
