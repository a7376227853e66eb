//! Start of the library in a process: relocates it to where it was mapped, and prepares the state
//! that hooks need.

use core::ffi::c_int;

use super::{coroutine, goroutines, relocate, slots, streams};
use crate::exports::load;
use crate::log::keep;

/// Prepares the library in a process that has not begun. `stack` is the stack pointer at the
/// process's entry. Returns 0, or the error for which the library cannot be used there.
///
/// # Safety
/// To be called once, before the first instruction of the image.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn sockcap_start(stack: *const usize) -> c_int {
    // The library is relocated first, by code that uses no relocated address.
    core::arch::naked_asm!(
        "push rdi",
        "lea rdi, [rip + __ehdr_start]",
        "lea rsi, [rip + _DYNAMIC]",
        "call {relocate}",
        "pop rdi",
        "jmp {begin}",
        relocate = sym relocate::relocate,
        begin = sym begin,
    )
}

/// Prepares the library after its relocation.
///
/// # Safety
/// As for [`sockcap_start`].
unsafe extern "C" fn begin(stack: *const usize) -> c_int {
    // SAFETY: `stack` is the stack pointer at the process's entry, where the kernel has put the
    // count, the arguments and the environment, each list ended by a null pointer.
    unsafe {
        let count = stack.read();
        let arguments = stack.add(1);
        let environment = arguments.add(count + 1);
        crate::c_library::stand_ins::begin_without_libc(
            environment.cast_mut().cast(),
            coroutine::own_call as *mut core::ffi::c_void,
        );
        load::take_filters();
        let status = slots::begin_slots();
        if status == 0 {
            keep::take_handed();
            load::constructor(count as c_int, arguments.cast());
            streams::allow_transfers();
            goroutines::find_fields();
        }
        status
    }
}
