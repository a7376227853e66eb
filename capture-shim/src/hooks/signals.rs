//! Signal actions and masks. The log's guard, a handler for faults in the mapped log, needs SIGBUS
//! for itself (`log/guard.rs`). These hooks let the program set and read its own action and mask of
//! SIGBUS as if there were no guard.

use core::ffi::{c_int, c_long, c_void};
use core::mem::offset_of;

use libc::SIGBUS;

use crate::c_library::types;
use crate::log::{confinement, guard};
use crate::platform::raw::{self, SignalAction};

/// Whether a set of the program contains SIGBUS; false for null and for an invalid pointer, which
/// the kernel will refuse.
fn has_sigbus(set: *const u64) -> bool {
    // SAFETY: just found readable; signals up to 64 are in the first word.
    !set.is_null() && raw::is_readable(set) && unsafe { *set } & guard::SIGBUS_BIT != 0
}

/// Follows up on an action that the program has just set for `signal`: an action for SIGBUS is
/// replaced by the guard, and any other handler must not block the guard's faults. `masking` is
/// whether the program's action blocks SIGBUS during its handler. Does nothing in a `vfork` child,
/// which has actions of its own, but its parent's memory.
fn follow_up_action(signal: c_int, masking: bool) {
    if confinement::is_vfork_child() {
        return;
    }
    if signal != SIGBUS {
        guard::note_mask(signal, masking);
    }
    match (guard::is_on(), signal) {
        (false, _) => {}
        (true, SIGBUS) => guard::install_guard(),
        (true, _) => guard::unmask_in_handler(signal),
    }
}

/// Sets and reads a signal's action. The guard's own action is hidden from the program.
///
/// # Safety
/// As for `sigaction`.
pub(crate) unsafe fn sigaction(
    real: types::sigaction,
    signal: c_int,
    new: *const c_void,
    old: *mut c_void,
) -> c_int {
    let was_masking = guard::is_masking(signal);
    let place_of_mask = new.wrapping_byte_add(offset_of!(libc::sigaction, sa_mask));
    // The new set is read before the call, since both sets may have the same address.
    let masking = !new.is_null() && has_sigbus(place_of_mask.cast());
    // SAFETY: the program's own call; libc has written the previous action.
    unsafe {
        let result = real(signal, new, old);
        if result != 0 {
            return result;
        }
        if guard::is_on()
            && let Some(old) = old.cast::<libc::sigaction>().as_mut()
        {
            let mask = (&raw mut old.sa_mask).cast::<u64>();
            if let Some(program) = guard::program_action_if_guarded(old.sa_sigaction) {
                old.sa_sigaction = program.handler;
                old.sa_flags = program.flags as c_int;
                mask.write(program.mask);
            } else if was_masking {
                *mask |= guard::SIGBUS_BIT;
            }
        }
        if !new.is_null() {
            follow_up_action(signal, masking);
        }
        result
    }
}

/// Sets a signal's handler, and returns the program's previous one.
///
/// # Safety
/// As for `signal` and its variants.
pub(crate) unsafe fn signal(real: types::signal, signal: c_int, handler: usize) -> usize {
    // SAFETY: the program's own call.
    let old = unsafe { real(signal, handler) };
    if old == libc::SIG_ERR {
        return old;
    }
    let program = guard::program_action_if_guarded(old).map_or(old, |program| program.handler);
    follow_up_action(signal, false);
    program
}

/// Sets and reads the thread's signal mask. SIGBUS, which the guard keeps open, counts as blocked
/// if the program has blocked it.
///
/// # Safety
/// As for `sigprocmask` or `pthread_sigmask`.
pub(crate) unsafe fn mask(
    real: types::sigprocmask,
    how: c_int,
    new: *const c_void,
    old: *mut c_void,
) -> c_int {
    let was_blocked = guard::is_on() && guard::is_blocked();
    // The new set is read before the call, since both sets may have the same address.
    let has_sigbus = guard::is_on() && has_sigbus(new.cast());
    // SAFETY: the program's own call.
    let result = unsafe { real(how, new, old) };
    if !guard::is_on() || result != 0 {
        return result;
    }
    // SAFETY: libc has written the set.
    if let Some(old) = unsafe { old.cast::<u64>().as_mut() }
        && was_blocked
    {
        *old |= guard::SIGBUS_BIT;
    }
    if !new.is_null() && !confinement::is_vfork_child() {
        match how {
            libc::SIG_SETMASK => guard::note_blocked(has_sigbus),
            libc::SIG_BLOCK if has_sigbus => guard::note_blocked(true),
            libc::SIG_UNBLOCK if has_sigbus => guard::note_blocked(false),
            _ => {}
        }
    }
    result
}

/// Makes the system call `rt_sigaction` for the program, like [`sigaction`]. `new` and `old` are
/// addresses of actions, or 0.
///
/// # Safety
/// `call` is the program's own, with these arguments.
pub(crate) unsafe fn by_number(
    signal: c_int,
    new: c_long,
    old: c_long,
    call: impl FnOnce() -> c_long,
) -> c_long {
    let was_masking = guard::is_masking(signal);
    let place = core::ptr::with_exposed_provenance::<SignalAction>(new as usize);
    // The new set is read before the call, since both sets may have the same address.
    let masking =
        new != 0 && has_sigbus(place.wrapping_byte_add(offset_of!(SignalAction, mask)).cast());
    let result = call();
    if result != 0 {
        return result;
    }
    let old: *mut SignalAction = core::ptr::with_exposed_provenance_mut(old as usize);
    if guard::is_on()
        // SAFETY: the kernel has written the previous action.
        && let Some(old) = unsafe { old.as_mut() }
    {
        if let Some(program) = guard::program_action_if_guarded(old.handler) {
            *old = program;
        } else if was_masking {
            old.mask |= guard::SIGBUS_BIT;
        }
    }
    if new != 0 {
        follow_up_action(signal, masking);
    }
    result
}
