//! Variadic functions: `execl`, `execlp`, `execle`; `dprintf`, `syslog`.
//!
//! Stable Rust cannot define such functions. The strings of an `execl` already are almost an array:
//! the first ones in registers, the others in order on the stack. Pushing the registers below the
//! others makes the array, of any length and without a copy. The arguments of a `dprintf` are of
//! any type, so their registers are stored and described to the function that takes a `va_list`
//! instead.

use core::ffi::{c_char, c_int};

use socket_log::api::Api;

use crate::c_library::real;
use crate::c_library::types::VaList;
use crate::hooks::{hidden, programs, stdio};
use crate::platform::environment;

/// Array of strings that ends with a null pointer.
type Strings = *const *const c_char;

/// Defines an exported function that calls `$with(first argument, array of the others)`.
macro_rules! listed {
    ($name:ident => $with:ident) => {
        // On entry the return address lies below the arguments on the stack. It is popped, the
        // registers are pushed in its place, and it is put back below them, where it aligns the
        // stack for the call.
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

/// `execl` with its arguments as an array.
unsafe extern "C" fn execl_with(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, as an array.
    unsafe { programs::execve(real!(execve), path, arguments, environment::present_environment()) }
}

/// `execlp` with its arguments as an array.
unsafe extern "C" fn execlp_with(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, as an array.
    unsafe {
        programs::execvpe(real!(execvpe), file, arguments, environment::present_environment())
    }
}

/// `execle` with its arguments as an array, followed by the environment.
unsafe extern "C" fn execle_with(path: *const c_char, arguments: Strings) -> c_int {
    let mut end = arguments;
    // SAFETY: a null pointer ends the list, and the environment follows it.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        programs::execve(real!(execve), path, arguments, *end.add(1).cast::<Strings>())
    }
}

/// Defines an exported function with `$named` fixed arguments that calls `$with(the fixed
/// arguments, the others as a va_list)`.
macro_rules! printing {
    ($name:ident($named:literal) => $with:ident, $list_x86_64:literal, $list_aarch64:literal) => {
        // The stored registers are the general ones, then the floating-point ones (if `al` is not
        // 0). The list states how much of each of the two the fixed arguments have used up, where
        // the other arguments are on the stack, and where the stored registers are.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> c_int {
            core::arch::naked_asm!(
                "sub rsp, 216",
                "mov [rsp + 32], rdi",
                "mov [rsp + 40], rsi",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                "test al, al",
                "je 2f",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                "2:",
                "mov dword ptr [rsp], {used}",
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                concat!("mov ", $list_x86_64, ", rsp"),
                "call {with}",
                "add rsp, 216",
                "ret",
                used = const 8 * $named,
                with = sym $with,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> c_int {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-240]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #48]",
                "stp x2, x3, [sp, #64]",
                "stp x4, x5, [sp, #80]",
                "stp x6, x7, [sp, #96]",
                "stp q0, q1, [sp, #112]",
                "stp q2, q3, [sp, #144]",
                "stp q4, q5, [sp, #176]",
                "stp q6, q7, [sp, #208]",
                "add x9, sp, #240",
                "str x9, [sp, #16]",
                "add x9, sp, #112",
                "str x9, [sp, #24]",
                "add x9, sp, #240",
                "str x9, [sp, #32]",
                "mov w9, #{general}",
                "str w9, [sp, #40]",
                "mov w9, #-128",
                "str w9, [sp, #44]",
                concat!("add ", $list_aarch64, ", sp, #16"),
                "bl {with}",
                "ldp x29, x30, [sp], #240",
                "ret",
                general = const -8 * (8 - $named),
                with = sym $with,
            )
        }
    };
}

printing!(dprintf(2) => dprintf_with, "rdx", "x2");

printing!(__dprintf_chk(3) => dprintf_chk_with, "rcx", "x3");

printing!(syslog(2) => syslog_with, "rdx", "x2");

printing!(__syslog_chk(3) => syslog_chk_with, "rcx", "x3");

/// `dprintf` with a list of its arguments.
unsafe extern "C" fn dprintf_with(fd: c_int, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: the program's own call, with a list of its arguments.
    unsafe { stdio::vdprintf(real!(vdprintf), fd, format, arguments) }
}

/// `__dprintf_chk` with a list of its arguments.
unsafe extern "C" fn dprintf_chk_with(
    fd: c_int,
    flag: c_int,
    format: *const c_char,
    arguments: VaList,
) -> c_int {
    // SAFETY: the program's own call, with a list of its arguments.
    unsafe { stdio::vdprintf_chk(real!(__vdprintf_chk), fd, flag, format, arguments) }
}

/// `syslog` with a list of its arguments.
unsafe extern "C" fn syslog_with(priority: c_int, format: *const c_char, arguments: VaList) {
    // SAFETY: the program's own call, with a list of its arguments.
    hidden::timed(Api::Syslog, || unsafe { real!(vsyslog)(priority, format, arguments) });
}

/// `__syslog_chk` with a list of its arguments.
unsafe extern "C" fn syslog_chk_with(
    priority: c_int,
    flag: c_int,
    format: *const c_char,
    arguments: VaList,
) {
    // SAFETY: the program's own call, with a list of its arguments.
    hidden::timed(Api::Syslog, || unsafe {
        real!(__vsyslog_chk)(priority, flag, format, arguments)
    });
}
