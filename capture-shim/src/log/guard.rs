//! Guard against faults in the log's memory: the program survives if the kernel can no longer
//! provide a page of the log.
//!
//! A store into a mapped file causes SIGBUS if the file was cut meanwhile, if its file system
//! copies on write and has no space for the copy, or if its disk or server has failed. So from the
//! beginning of a log on, the library handles this signal. After a fault in the log's own memory,
//! private memory replaces the page; then the log grows no further, and unwritten records are
//! counted. All other faults go to the program's own action, which is stored here, and which the
//! program sees whenever it queries the action (`hooks/signals.rs`). [Decision
//! 0128](../../../docs/decisions/0128-a-guard-against-sigbus.md) has the reasons.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use libc::{SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SA_RESTART, SA_SIGINFO, SIGBUS, siginfo_t};
use socket_log::layout::lost;

use super::{causes, segment};
use crate::platform::raw::{self, PAGE, SignalAction};
use crate::state::{self, ProcessState, thread};

/// Program's own action on SIGBUS, with the fields of the kernel's `sigaction`.
struct ProgramAction {
    handler: AtomicUsize,
    flags: AtomicU64,
    restorer: AtomicUsize,
    mask: AtomicU64,
}

/// Program's own action. A child inherits it, and so it has the guard.
static PROGRAM: ProgramAction = ProgramAction {
    handler: AtomicUsize::new(libc::SIG_DFL),
    flags: AtomicU64::new(0),
    restorer: AtomicUsize::new(0),
    mask: AtomicU64::new(0),
};

/// Whether the guard is wanted: this process, or an ancestor, has had a log.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Signals during whose handlers the program has SIGBUS blocked, a bit each.
static MASKING: AtomicU64 = AtomicU64::new(0);

/// Largest number of a signal.
const MAX_SIGNAL: c_int = 64;

/// Bit of SIGBUS in a set of signals.
pub(crate) const SIGBUS_BIT: u64 = raw::signal_bit(SIGBUS);

/// Type of a handler.
type SignalHandler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Whether the guard is on: then the program's action is stored here.
#[inline]
pub(crate) fn is_on() -> bool {
    WANTED.load(Relaxed)
}

/// Begins to guard the log. In an injected image `sigaction` is not hooked, so the program could
/// save this handler and call it after the library is gone; such an image has no guard.
pub(crate) fn begin_guard() {
    if cfg!(feature = "injected") || WANTED.swap(true, Relaxed) {
        return;
    }
    install_guard();
    let masking = MASKING.load(Relaxed);
    (1..=MAX_SIGNAL)
        .filter(|signal| masking & raw::signal_bit(*signal) != 0)
        .for_each(unmask_in_handler);
}

/// Notes whether the program's handler of `signal` has SIGBUS blocked while it runs. Nearly all
/// programs have no such handler, and then nothing has to be checked when a log begins.
pub(crate) fn note_mask(signal: c_int, is_masking: bool) {
    if is_masking {
        MASKING.fetch_or(raw::signal_bit(signal), Relaxed);
    } else {
        MASKING.fetch_and(!raw::signal_bit(signal), Relaxed);
    }
}

/// Unblocks SIGBUS in the calling thread, so that its faults reach the guard: a fault while SIGBUS
/// is blocked ends the process. The thread's mark remembers that the program has SIGBUS blocked.
///
/// If the kernel reports SIGBUS as unblocked, the mark stays as it is: the guard may have unblocked
/// it before, in this thread, in the thread that has started this one, or in the parent's thread.
pub(crate) fn begin_thread() {
    if is_on() && raw::change_mask(libc::SIG_UNBLOCK, SIGBUS_BIT) & SIGBUS_BIT != 0 {
        thread::current_thread().set_blocked(true);
    }
}

/// Unblocks SIGBUS during the program's handler of `signal`, since the handler may log, and its
/// faults have to reach the guard.
pub(crate) fn unmask_in_handler(signal: c_int) {
    let is_handler =
        |action: &SignalAction| ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler);
    if is_masking(signal)
        && let Some(mut action) = raw::signal_action(signal).filter(is_handler)
    {
        action.mask &= !SIGBUS_BIT;
        // SAFETY: the program has set this handler itself; only the mask differs.
        unsafe { raw::set_action(signal, &action) };
    }
}

/// Whether the program has SIGBUS blocked while its handler of `signal` runs, from its own point of
/// view.
pub(crate) fn is_masking(signal: c_int) -> bool {
    (1..=MAX_SIGNAL).contains(&signal) && MASKING.load(Relaxed) & raw::signal_bit(signal) != 0
}

/// Notes that the program has blocked SIGBUS in the calling thread, or unblocked it. A blocked
/// SIGBUS is unblocked again, so that faults reach the guard.
pub(crate) fn note_blocked(is_blocked: bool) {
    thread::current_thread().set_blocked(is_blocked);
    if is_blocked {
        raw::change_mask(libc::SIG_UNBLOCK, SIGBUS_BIT);
    }
}

/// Whether the calling thread has blocked SIGBUS, from the program's point of view.
pub(crate) fn is_blocked() -> bool {
    thread::current_thread().has_blocked()
}

/// Notes that a new thread begins with the mask of a thread that has blocked SIGBUS.
pub(crate) fn inherit_blocked() {
    thread::current_thread().set_blocked(true);
}

/// Stores the current action as the program's own, and installs the guard instead. A program that
/// ignores the signal gets no guard, since the programs that it executes inherit the ignoring.
pub(crate) fn install_guard() {
    let default = SignalAction { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
    // SAFETY: `guarding_action` has `on_fault`, which has the type of a handler.
    let Some(found) = (unsafe { raw::replace_action(SIGBUS, &guarding_action(&default)) }) else {
        return;
    };
    if found.handler == own_handler() {
        // The handler was already installed, in the form that the program's own action requires.
        let program = program_action();
        if program.handler != libc::SIG_DFL {
            // SAFETY: `guarding_action` has `on_fault`, which has the type of a handler.
            unsafe { raw::set_action(SIGBUS, &guarding_action(&program)) };
        }
        return;
    }
    if found.handler == libc::SIG_IGN {
        // SAFETY: `SIG_IGN` runs no handler.
        unsafe { raw::set_action(SIGBUS, &found) };
        return;
    }
    PROGRAM.flags.store(found.flags, Relaxed);
    PROGRAM.mask.store(found.mask, Relaxed);
    PROGRAM.restorer.store(found.restorer, Relaxed);
    PROGRAM.handler.store(found.handler, Release);
    if found.handler != libc::SIG_DFL {
        // SAFETY: `guarding_action` has `on_fault`, which has the type of a handler.
        unsafe { raw::set_action(SIGBUS, &guarding_action(&found)) };
    }
}

/// The guard's action in place of the program's action `program`. A fault may also occur while the
/// handler runs.
fn guarding_action(program: &SignalAction) -> SignalAction {
    let (flag, restorer) = raw::signal_restorer();
    let kept = match program.handler {
        libc::SIG_DFL => SA_ONSTACK | SA_RESTART,
        _ => program.flags as c_int & (SA_ONSTACK | SA_RESTART),
    };
    SignalAction {
        handler: own_handler(),
        flags: (kept | SA_SIGINFO | SA_NODEFER) as u64 | flag,
        restorer,
        mask: program.mask & !SIGBUS_BIT,
    }
}

/// Address of the guard's handler.
fn own_handler() -> usize {
    on_fault as *const () as usize
}

/// The program's own action, if `handler`, which the kernel has, is the guard's handler.
pub(crate) fn program_action_if_guarded(handler: usize) -> Option<SignalAction> {
    (handler == own_handler()).then(program_action)
}

/// Program's own action.
fn program_action() -> SignalAction {
    SignalAction {
        handler: PROGRAM.handler.load(Relaxed),
        flags: PROGRAM.flags.load(Relaxed),
        restorer: PROGRAM.restorer.load(Relaxed),
        mask: PROGRAM.mask.load(Relaxed),
    }
}

/// The guard's handler of SIGBUS.
unsafe extern "C" fn on_fault(signal: c_int, about: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a handler a valid `siginfo_t`.
    let (code, address) = unsafe { ((*about).si_code, (*about).si_addr().addr()) };
    // Codes up to 0 mean signals sent by a process.
    let is_mended =
        code > 0 && state::current_state().is_some_and(|state| replace_page(state, address));
    if is_mended {
        return;
    }
    // SAFETY: the arguments are the kernel's: a valid `siginfo_t` and `ucontext_t`.
    unsafe {
        if code <= 0 && is_blocked() {
            // The program waits for the signal elsewhere, so it stays blocked from here on.
            raw::change_mask(libc::SIG_BLOCK, SIGBUS_BIT);
            let mask = &raw mut (*context.cast::<libc::ucontext_t>()).uc_sigmask;
            *mask.cast::<u64>() |= SIGBUS_BIT;
            raw::send_again(signal, about);
        } else {
            perform_program_action(signal, about, context);
        }
    }
}

/// Replaces the page around `address` by private memory, if it is a page of the log, and ends the
/// log's growth. Returns false if it is not a page of the log.
fn replace_page(state: &ProcessState, address: usize) -> bool {
    let page = address & !(PAGE - 1);
    if !segment::has_address(state, address)
        || !raw::replace_by_nothing(core::ptr::with_exposed_provenance_mut(page), PAGE)
    {
        return false;
    }
    // Unwritten records are counted in the header, if its page is still available.
    causes::stop_growth(state, lost::NO_SPACE);
    thread::current_thread().cursor.store(0, Relaxed);
    // SAFETY: null or a mapping that is never removed; a fault there calls this handler again.
    if let Some(header) = unsafe { state.header.load(Relaxed).as_ref() } {
        header.lost[lost::NO_SPACE].fetch_add(1, Relaxed);
    }
    true
}

/// Performs the program's own action.
///
/// # Safety
/// The arguments are what the kernel has passed to the handler.
unsafe fn perform_program_action(signal: c_int, about: *mut siginfo_t, context: *mut c_void) {
    let program = program_action();
    if program.handler == libc::SIG_DFL {
        // The failed instruction runs again, and fails at its own place, as a core dump has to
        // show. A signal that was sent arrives again, too.
        WANTED.store(false, Relaxed);
        // SAFETY: the default needs no handler; `about` is the kernel's.
        unsafe {
            raw::set_action(signal, &program);
            if (*about).si_code <= 0 {
                raw::change_mask(libc::SIG_BLOCK, SIGBUS_BIT);
                raw::send_again(signal, about);
            }
        }
        return;
    }
    if program.flags as c_int & SA_RESETHAND != 0 {
        PROGRAM.handler.store(libc::SIG_DFL, Relaxed);
    }
    if program.flags as c_int & SA_NODEFER == 0 {
        // The signal is blocked, as the kernel would have done; the previous mask is restored after
        // the handler.
        raw::change_mask(libc::SIG_BLOCK, SIGBUS_BIT);
    }
    // SAFETY: the program's own handler, with the kernel's arguments; one with a single argument
    // ignores the others.
    unsafe {
        core::mem::transmute::<usize, SignalHandler>(program.handler)(signal, about, context)
    };
}
