//! Hooks as coroutines: a hook runs up to the program's system call, waits while the program makes
//! it, and resumes with its result.

use core::ffi::c_long;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::layout::lost;

use super::frame::Frame;
use super::{goroutines, hook_exit, slots};
use crate::c_library::errno;
use crate::hooks::syscall::SyscallRoute;
use crate::hooks::{processes, rights, syscall, threads, unseen};
use crate::log;
use crate::state::goroutine::Goroutine;
use crate::state::slot::{self, Slot};

/// Stack space that a hook may use, in bytes, including signal handlers that interrupt it. If less
/// is left, the program's call is made without a hook.
const HOOK_STACK_BYTES: usize = 128 * 1024;

/// Lowest result of a system call that is an error; the highest is -1.
const FIRST_ERROR: i64 = -4095;

/// Runs the hook of a system call made by C code, or by Go code if the goroutine is not known, and
/// ends with the value for `rax`: the result, or the number of a call that is still to be made. An
/// entry jumps to this function, which does not return: see [`syscall::SyscallRoute`].
pub(super) unsafe extern "C" fn enter(frame: &mut Frame) -> ! {
    frame.goroutine = Goroutine { number: 0, creator: 0 };
    // SAFETY: as the caller guarantees.
    unsafe { enter_with_goroutine(frame) }
}

/// Runs the hook of a system call at which `r14` holds the goroutine, as [`enter`] does.
pub(super) unsafe extern "C" fn enter_from_goroutine(frame: &mut Frame) -> ! {
    let [_, r14, ..] = frame.registers;
    // SAFETY: the register holds a goroutine; the rest as the caller guarantees.
    unsafe {
        frame.goroutine = goroutines::goroutine_at(r14 as usize);
        enter_with_goroutine(frame)
    }
}

/// Runs the hook of a system call whose goroutine is already in the frame, as [`enter`] does.
#[inline(never)]
unsafe extern "C" fn enter_with_goroutine(frame: &mut Frame) -> ! {
    let result = run_hook(frame);
    // SAFETY: the frame is where `sockcap_before` made it, and nothing on the stack below is used
    // any more.
    unsafe { hook_exit::finish_with(frame, result) }
}

/// Runs the hook of a system call. Returns the value for `rax`, as [`enter`] describes it.
#[inline(always)]
fn run_hook(frame: &mut Frame) -> i64 {
    let slot = slot::current_slot();
    slot.set_goroutine(frame.goroutine);
    slot.replenish_ready();
    frame.has_left = 0;
    frame.before = ptr::null_mut();
    let number = frame.number;
    let start = slot.stack_end.load(Relaxed) - slot.stack_length.load(Relaxed);
    record_skipped(slot);
    if ptr::from_ref(frame).addr() < start + HOOK_STACK_BYTES {
        slot.skipped.fetch_add(1, Relaxed);
        return number;
    }
    let [f, e, d, c, b, a] = frame.arguments;
    if bypasses_hook(number, a) {
        prepare_call(slot, frame, number, a);
        return number;
    }
    slot.running.store(ptr::from_mut(frame).cast(), Relaxed);
    // SAFETY: the program's own call with its arguments.
    let result = unsafe {
        match number {
            // The call has the program's own arguments, though `fork` has none: the child still has
            // them.
            libc::SYS_fork | libc::SYS_clone => {
                if number == libc::SYS_clone {
                    rights::keep_for_new_mounts(a as i32);
                }
                let fork = || own_call(number, a, b, c, d, e, f) as libc::pid_t;
                processes::log_fork(fork).into()
            }
            libc::SYS_sigaltstack => {
                slots::take_over(slot);
                let result = own_call(number, a, b, c, d, e, f);
                if result == 0 {
                    learn_alternate_stack(slot, a);
                }
                result
            }
            _ => syscall::dispatch_call::<ProgramRoute>(number, a, b, c, d, e, f),
        }
    };
    if frame.has_left == 0 {
        // The hook answers in place of the kernel. The program still has to execute its system
        // call, so it makes the call with invalid arguments: a seccomp filter permits its number.
        frame.has_left = 1;
        let words = [number, -1, -1, -1, -1, -1, -1];
        // SAFETY: this hook's frame, which has not left.
        unsafe { hook_exit::leave(frame, &words) };
    }
    if result == -1 { i64::from(-errno::get_errno()) } else { result }
}

/// Records how many calls that may have moved bytes of a socket were made without a hook.
#[inline(always)]
pub(super) fn record_skipped(slot: &Slot) {
    if slot.skipped.load(Relaxed) != 0 || slots::UNATTENDED.load(Relaxed) != 0 {
        count_skipped(slot);
    }
}

/// Adds the calls without a hook to the log's count of lost records.
#[cold]
fn count_skipped(slot: &Slot) {
    // Calls before the log begins are no loss.
    let Some(writer) = log::existing_writer() else { return };
    let count = slot.skipped.swap(0, Relaxed) + slots::UNATTENDED.swap(0, Relaxed);
    writer.count_lost_records(lost::BUSY, count);
}

/// Whether the program makes the call without a hook around it, because the call does not return in
/// the usual way, or returns twice.
fn bypasses_hook(number: c_long, flags: i64) -> bool {
    match number {
        libc::SYS_exit | libc::SYS_vfork | libc::SYS_clone3 => true,
        libc::SYS_clone => flags as i32 & libc::CLONE_VM != 0,
        _ => false,
    }
}

/// Does the work that must precede a call without a hook around it. `first` is the call's first
/// argument.
fn prepare_call(slot: &Slot, frame: &Frame, number: c_long, first: i64) {
    let flags = match number {
        libc::SYS_exit => return threads::thread_ends(),
        libc::SYS_vfork => libc::CLONE_VM | libc::CLONE_VFORK,
        // SAFETY: the program's own arguments; the kernel reads the same.
        libc::SYS_clone3 => unsafe { processes::clone3_flags(first) },
        _ => first as i32,
    };
    rights::keep_for_new_mounts(flags);
    if flags & libc::CLONE_VM == 0 {
        // The child's copy of a note would be recorded a second time.
        unseen::collect_notes();
        return;
    }
    // A process with its own memory, or a thread with its own FS base, gets its own slot.
    if flags & libc::CLONE_SETTLS != 0 {
        return;
    }
    if flags & libc::CLONE_VFORK == 0 {
        // Parent and child both run from here on, with the same FS base.
        slots::give_up(slot);
        return;
    }
    unseen::collect_notes();
    // The child runs in this thread's memory, and has its slot.
    log::begin_vfork();
    slot.vfork_waiting.store(slot.waiting.load(Relaxed), Relaxed);
    slot.vfork_floor.store(slot.floor.load(Relaxed), Relaxed);
    slot.vfork_stack.store(frame.stack, Relaxed);
}

/// Records where the alternate signal stack is, which a call has just set from the description at
/// `address`.
fn learn_alternate_stack(slot: &Slot, address: i64) {
    // SAFETY: null, or a description that the kernel has just read.
    let Some(new) =
        (unsafe { ptr::with_exposed_provenance::<libc::stack_t>(address as usize).as_ref() })
    else {
        return;
    };
    let is_off = new.ss_flags & libc::SS_DISABLE != 0;
    slot.alternate_length.store(0, Relaxed);
    slot.alternate.store(new.ss_sp.addr(), Relaxed);
    slot.alternate_length.store(if is_off { 0 } else { new.ss_size }, Relaxed);
}

/// Makes the program's own call: leaves the hook, and the program makes the call at its own place.
/// An error is -1 and in `errno`. If a hook makes several calls, the program makes only the first
/// one.
struct ProgramRoute;

impl SyscallRoute for ProgramRoute {
    #[inline(always)]
    unsafe fn call(number: i64, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> i64 {
        let slot = slot::current_slot();
        let running: *mut Frame = slot.running.load(Relaxed).cast();
        // SAFETY: the frame of the hook that has called this.
        let result = unsafe {
            if (*running).has_left == 0 {
                (*running).has_left = 1;
                let words = [number, a, b, c, d, e, f];
                let result = match number {
                    libc::SYS_fork | libc::SYS_clone => hook_exit::leave_twice(running, &words),
                    _ => hook_exit::leave(running, &words),
                };
                // A handler may have run hooks meanwhile.
                slot.running.store(running.cast(), Relaxed);
                slot.set_goroutine((*running).goroutine);
                result
            } else {
                crate::platform::raw::repeat_call(number, [a, b, c, d, e, f])
            }
        };
        if (FIRST_ERROR..0).contains(&result) {
            errno::set_errno(-result as i32);
            -1
        } else {
            result
        }
    }
}

/// Makes the program's own call, in place of libc's `syscall`.
///
/// # Safety
/// As for the system call.
pub(super) unsafe extern "C" fn own_call(
    number: i64,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
    e: i64,
    f: i64,
) -> i64 {
    // SAFETY: the caller's call.
    unsafe { ProgramRoute::call(number, a, b, c, d, e, f) }
}
