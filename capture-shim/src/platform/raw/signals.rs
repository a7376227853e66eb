//! Signal actions, and the calling thread's mask.

use core::ffi::c_int;
use core::ptr;

use super::call::system_call;

/// Action on a signal, in the kernel's form.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct SignalAction {
    /// Address of the handler, [`libc::SIG_DFL`] or [`libc::SIG_IGN`].
    pub(crate) handler: usize,
    /// Flags (`SA_`).
    pub(crate) flags: u64,
    /// Address of the function for the return from the handler ([`signal_restorer`]).
    pub(crate) restorer: usize,
    /// Signals that are blocked while the handler runs, a bit each.
    pub(crate) mask: u64,
}

/// Size of the kernel's sets of signals, in bytes.
const SET_BYTES: usize = size_of::<u64>();

/// Bit of a signal in a set.
pub(crate) const fn signal_bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Action on a signal; `None` if the process may not ask.
pub(crate) fn signal_action(signal: c_int) -> Option<SignalAction> {
    let mut action = SignalAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
    let arguments = [signal as usize, 0, ptr::from_mut(&mut action) as usize, SET_BYTES, 0, 0];
    // SAFETY: the kernel fills the struct.
    (unsafe { system_call(libc::SYS_rt_sigaction, arguments) } == 0).then_some(action)
}

/// Sets the action on a signal, and returns the previous one; `None` if that is refused.
///
/// # Safety
/// The action's handler has the type of a handler, or is `SIG_DFL` or `SIG_IGN`.
pub(crate) unsafe fn replace_action(signal: c_int, action: &SignalAction) -> Option<SignalAction> {
    let mut old = SignalAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
    let (new, old_place) = (ptr::from_ref(action) as usize, ptr::from_mut(&mut old) as usize);
    let arguments = [signal as usize, new, old_place, SET_BYTES, 0, 0];
    // SAFETY: the kernel reads one struct and fills the other; the caller is responsible for the
    // handler.
    (unsafe { system_call(libc::SYS_rt_sigaction, arguments) } == 0).then_some(old)
}

/// Sets the action on a signal, unless that is refused.
///
/// # Safety
/// The action's handler has the type of a handler, or is `SIG_DFL` or `SIG_IGN`.
pub(crate) unsafe fn set_action(signal: c_int, action: &SignalAction) {
    // SAFETY: as the caller guarantees.
    unsafe { replace_action(signal, action) };
}

/// Blocks or unblocks (`SIG_BLOCK`, `SIG_UNBLOCK`) signals in the calling thread, and returns the
/// signals that were blocked before.
pub(crate) fn change_mask(how: c_int, set: u64) -> u64 {
    let mut old = 0u64;
    let (new, old_place) = (ptr::from_ref(&set) as usize, ptr::from_mut(&mut old) as usize);
    // SAFETY: the kernel reads one set and writes the other.
    unsafe {
        system_call(libc::SYS_rt_sigprocmask, [how as usize, new, old_place, SET_BYTES, 0, 0])
    };
    old
}

/// Sends the calling thread a signal that it received before, with the same information.
///
/// # Safety
/// `about` is the structure that the kernel passed to a handler.
pub(crate) unsafe fn send_again(signal: c_int, about: *const libc::siginfo_t) {
    // SAFETY: take no arguments.
    let [process, thread] = [libc::SYS_getpid, libc::SYS_gettid]
        .map(|number| unsafe { system_call(number, [0; 6]) } as usize);
    let arguments = [process, thread, signal as usize, about as usize, 0, 0];
    // SAFETY: the kernel reads what it has written.
    unsafe { system_call(libc::SYS_rt_tgsigqueueinfo, arguments) };
}

/// Flag and function for the return from a handler, as the kernel needs them on this processor.
/// Debuggers and unwinders recognise the function by its bytes.
#[cfg(target_arch = "x86_64")]
pub(crate) fn signal_restorer() -> (u64, usize) {
    /// Instructions by which libc's handlers return: `mov rax, 15; syscall`.
    #[unsafe(naked)]
    unsafe extern "C" fn restore() {
        core::arch::naked_asm!(".byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05")
    }
    const SA_RESTORER: u64 = 0x0400_0000;
    (SA_RESTORER, restore as *const () as usize)
}

/// Flag and function for the return from a handler: the kernel needs none here.
#[cfg(target_arch = "aarch64")]
pub(crate) fn signal_restorer() -> (u64, usize) {
    (0, 0)
}
