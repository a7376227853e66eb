//! Exits of a hook: while it waits for the program's system call, and when it is done. The way in
//! is [`super::entries`].

use core::arch::asm;
use core::mem::offset_of;

use super::frame::{Frame, load_vectors, pop_all};
use crate::state::slot::Slot;

/// Instructions that go back to the program, beginning with `$first`, and resume after the system
/// call. They are part of the hook, as are both functions that use them: the way back is a jump,
/// which the processor predicts, and not a return, which it does not predict after a system call.
macro_rules! leave {
    ($frame:ident, $words:ident, $first:expr) => {{
        let result: i64;
        // SAFETY: the caller guarantees that the frame may leave. All registers are declared as
        // changed except those that are saved on the stack here. The vector registers are the
        // program's after the call, and `sockcap_after` comes back with the stack pointer that is
        // left in the frame.
        unsafe {
            asm!(
                "push rbx",
                "push rbp",
                "lea r11, [rip + 2f]",
                "push r11",
                $first,
                "mov [rdi + {stopped_at}], rsp",
                // From here on the frame waits. A handler would still find the thread on the
                // slot's stack.
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
                "2:",
                "pop rbp",
                "pop rbx",
                stopped_at = const offset_of!(Frame, stopped_at),
                before = const offset_of!(Frame, before),
                registers = const offset_of!(Frame, registers),
                go_on = const offset_of!(Frame, go_on),
                stack = const offset_of!(Frame, stack),
                waiting = const offset_of!(Slot, waiting),
                floor = const offset_of!(Slot, floor),
                inout("rdi") $frame => _,
                inout("rsi") $words => _,
                lateout("rax") result,
                out("r12") _,
                out("r13") _,
                out("r14") _,
                out("r15") _,
                clobber_abi("C"),
            );
        }
        result
    }};
}

/// Goes back to the program for its system call, and comes back here with its result by
/// `sockcap_after`. `words` are the call's number and arguments. The vector registers are left as
/// they are: the kernel does not change them, and after the call they become the program's again.
///
/// # Safety
/// `frame` belongs to the hook which calls this, and has not left for the program yet.
#[inline(always)]
pub(super) unsafe fn leave(frame: *mut Frame, words: *const [i64; 7]) -> i64 {
    leave!(frame, words, "")
}

/// Goes back to the program as [`leave()`] does, with the program's vector registers: for a system
/// call that also returns in a child, in whose memory no hook waits.
///
/// # Safety
/// As for [`leave()`].
#[inline(always)]
pub(super) unsafe fn leave_twice(frame: *mut Frame, words: *const [i64; 7]) -> i64 {
    leave!(frame, words, load_vectors!("rdi"))
}

/// Ends a hook, with the frame that `sockcap_before` made at the stack pointer, and with the value
/// for `rax`.
#[unsafe(naked)]
unsafe extern "C" fn finish() {
    core::arch::naked_asm!(
        load_vectors!("rsp"),
        "add rsp, {vectors}",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        // `rax` is the result, or the number itself.
        pop_all!(),
        vectors = const offset_of!(Frame, registers),
    )
}

/// Ends a hook: goes back to the program with `result` in `rax`.
///
/// # Safety
/// `frame` belongs to the running hook, and nothing on the stack below it is used any more.
#[inline(always)]
pub(super) unsafe fn finish_with(frame: *mut Frame, result: i64) -> ! {
    // SAFETY: as the caller guarantees.
    unsafe {
        asm!(
            "mov rsp, {frame}",
            "jmp {finish}",
            frame = in(reg) frame,
            finish = sym finish,
            in("rax") result,
            options(noreturn),
        )
    }
}
