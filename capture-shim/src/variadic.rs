//! `execl`, `execlp`, `execle`: a list of arguments instead of an array.
//!
//! Stable Rust cannot define such functions, but their arguments lie almost as an array already: the first ones
//! in registers, the others in order on the stack. Pushing the registers below the others makes the array, of
//! any length and without a copy.

use core::ffi::{c_char, c_int};

use crate::environment;
use crate::hooks::real;
use crate::process;

type Strings = *const *const c_char;

/// Defines an exported function that calls `$with(first argument, array of the others)`.
macro_rules! listed {
    ($name:ident => $with:ident) => {
        // On entry the return address lies below the arguments on the stack. It is taken away, the registers are
        // pushed in its place, and it is put back below them, where it aligns the stack for the call.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> c_int {
            core::arch::naked_asm!(
                "pop r11",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "push r11",
                "call {with}",
                "pop r11",
                "add rsp, 40",
                "push r11",
                "ret",
                with = sym $with,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> c_int {
            core::arch::naked_asm!(
                "sub sp, sp, #80",
                "stp x29, x30, [sp]",
                "mov x29, sp",
                "str x1, [sp, #24]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "add x1, sp, #24",
                "bl {with}",
                "ldp x29, x30, [sp]",
                "add sp, sp, #80",
                "ret",
                with = sym $with,
            )
        }
    };
}

listed!(execl => execl_with);
listed!(execlp => execlp_with);
listed!(execle => execle_with);

unsafe extern "C" fn execl_with(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, as an array.
    unsafe { process::execve(real!(execve), path, arguments, environment::present()) }
}

unsafe extern "C" fn execlp_with(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, as an array.
    unsafe { process::execvpe(real!(execvpe), file, arguments, environment::present()) }
}

unsafe extern "C" fn execle_with(path: *const c_char, arguments: Strings) -> c_int {
    let mut end = arguments;
    // SAFETY: a null pointer ends the list, and the environment follows it.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        process::execve(real!(execve), path, arguments, *end.add(1).cast::<Strings>())
    }
}
