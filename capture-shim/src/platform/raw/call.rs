//! A single system call, made unless the program has given it up.

use core::ffi::c_long;

use crate::platform::permitted_syscalls;

/// Size of the smallest page on Linux, in bytes.
pub(crate) const PAGE: usize = 4096;

/// Makes system call `number`. A call that the program has given up is refused (`EPERM`) like any
/// that the process has no right to.
///
/// # Safety
/// As the system call demands.
#[inline]
pub(super) unsafe fn system_call(number: c_long, arguments: [usize; 6]) -> isize {
    if permitted_syscalls::is_active()
        && !permitted_syscalls::permits_call(number as usize, &arguments)
    {
        return -libc::EPERM as isize;
    }
    // SAFETY: as the caller guarantees.
    unsafe { direct_call(number, arguments) }
}

/// Makes a system call of the program, in addition to the call that the program itself makes at the
/// hooked place.
///
/// # Safety
/// As the system call demands.
#[cfg(feature = "injected")]
pub(crate) unsafe fn repeat_call(number: c_long, arguments: [c_long; 6]) -> i64 {
    // SAFETY: as the caller guarantees.
    unsafe { direct_call(number, arguments.map(|word| word as usize)) as i64 }
}

/// Makes system call `number`.
///
/// # Safety
/// As the system call demands.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn direct_call(number: c_long, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the x86-64 convention of the Linux kernel; the caller is responsible for the call
    // itself.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes system call `number`.
///
/// # Safety
/// As the system call demands.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn direct_call(number: c_long, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the AArch64 convention of the Linux kernel; the caller is responsible for the call
    // itself.
    unsafe {
        core::arch::asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") arguments[0] as isize => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x5") arguments[5],
            options(nostack),
        );
    }
    result
}

socket_log::without_std! {
    /// Ends the process immediately, for the case that the library itself is wrong.
    pub(crate) fn abort_process() -> ! {
        loop {
            // SAFETY: signals the process itself.
            unsafe {
                direct_call(libc::SYS_kill, [direct_call(libc::SYS_getpid, [0; 6]) as usize, libc::SIGABRT as usize, 0, 0, 0, 0]);
                direct_call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
            }
        }
    }
}
