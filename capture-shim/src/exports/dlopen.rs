//! `dlopen`: prevents libraries from bypassing the hooks.
//!
//! A library opened with `RTLD_DEEPBIND` finds libc's functions before ours, and none of its calls
//! would be seen. The flag is removed, and the log records this. The export ends in a jump, because
//! libc looks at the return address: a library is searched for along the path of its caller.

use core::ffi::{c_int, c_void};

use socket_log::api::Api;

use crate::c_library::functions;
use crate::hooks::hidden;

/// Logs that the flag is removed, and returns the address of libc's own `dlopen`.
extern "C" fn before_dlopen(flags: c_int) -> *const c_void {
    if flags & libc::RTLD_DEEPBIND != 0 {
        hidden::timed(Api::DlOpenDeepBind, || flags);
    }
    functions::dlopen.address().cast()
}

/// Opens a library without `RTLD_DEEPBIND`, so that its symbols are resolved like all others.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen() -> *mut c_void {
    core::arch::naked_asm!(
        "sub rsp, 24",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov edi, esi",
        "call {before}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "add rsp, 24",
        "and esi, {others}",
        "jmp rax",
        before = sym before_dlopen,
        others = const !libc::RTLD_DEEPBIND,
    )
}

/// Opens a library without `RTLD_DEEPBIND`, so that its symbols are resolved like all others.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen() -> *mut c_void {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "mov w0, w1",
        "bl {before}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "and w1, w1, {others}",
        "br x16",
        before = sym before_dlopen,
        others = const !libc::RTLD_DEEPBIND,
    )
}
