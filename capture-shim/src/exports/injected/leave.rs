//! Way out of a hook that waits for the program's system call. The way back in is
//! [`super::entries`].

use core::mem::offset_of;

use super::frame::{Frame, load_vectors};
use crate::state::slot::Slot;

/// Goes back to the program for its system call, and comes back here with its result by
/// `sockcap_after`. `words` are the call's number and arguments. The vector registers are left as
/// they are: the kernel does not change them, and behind the call they become the program's again.
///
/// # Safety
/// `frame` is that of the hook which calls this, and has not left for the program yet.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn leave(frame: *mut Frame, words: *const [i64; 7]) -> i64 {
    core::arch::naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi + {stopped_at}], rsp",
        // From here on the frame waits. A handler would still find the thread on the slot's stack.
        "mov r11, gs:[{waiting}]",
        "mov [rdi + {before}], r11",
        "mov gs:[{waiting}], rdi",
        "lea r11, [rsp - 64]",
        "and r11, -64",
        "mov gs:[{floor}], r11",
        "mov r15, [rdi + {registers}]",
        "mov r14, [rdi + {registers} + 8]",
        "mov r13, [rdi + {registers} + 16]",
        "mov r12, [rdi + {registers} + 24]",
        "mov rbp, [rdi + {registers} + 32]",
        "mov rbx, [rdi + {registers} + 40]",
        "mov rcx, [rdi + {go_on}]",
        "mov r11, [rdi + {stack}]",
        "mov rax, [rsi]",
        "mov rdi, [rsi + 8]",
        "mov rdx, [rsi + 24]",
        "mov r10, [rsi + 32]",
        "mov r8, [rsi + 40]",
        "mov r9, [rsi + 48]",
        "mov rsi, [rsi + 16]",
        "mov rsp, r11",
        "jmp rcx",
        stopped_at = const offset_of!(Frame, stopped_at),
        before = const offset_of!(Frame, before),
        registers = const offset_of!(Frame, registers),
        go_on = const offset_of!(Frame, go_on),
        stack = const offset_of!(Frame, stack),
        waiting = const offset_of!(Slot, waiting),
        floor = const offset_of!(Slot, floor),
    )
}

/// As [`leave`], with the program's vector registers: for a system call that comes back in a child,
/// too, whose memory has no hook that waits.
///
/// # Safety
/// As [`leave`].
#[unsafe(naked)]
pub(super) unsafe extern "C" fn leave_twice(frame: *mut Frame, words: *const [i64; 7]) -> i64 {
    core::arch::naked_asm!(
        load_vectors!("rdi"),
        "jmp {leave}",
        leave = sym leave,
    )
}
