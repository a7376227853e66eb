//! `vfork`, which returns twice into the frame of its caller.

use core::ffi::c_void;

use libc::pid_t;

use crate::c_library::functions;
use crate::hooks::unseen;
use crate::log;
use crate::state::inherit;

/// Prepares the thread, and returns the address of libc's own `vfork` for the tail jump: the thread
/// will check its identity before it logs.
extern "C" fn before_vfork() -> *const c_void {
    unseen::collect_notes();
    log::begin_vfork();
    // Releases the mapping of the previous child: the new child may need the place for its own.
    inherit::reclaim_mapping();
    functions::vfork.address().cast()
}

/// `vfork` as a tail jump: it returns twice into the frame of its caller, so no frame of ours may
/// be in between.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!("sub rsp, 8", "call {before}", "add rsp, 8", "jmp rax", before = sym before_vfork)
}

/// `vfork` as a tail jump: it returns twice into the frame of its caller, so no frame of ours may
/// be in between.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "ldp x29, x30, [sp], #16",
        "mov x16, x0",
        "br x16",
        before = sym before_vfork,
    )
}

/// Alias of `vfork`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __vfork() -> pid_t {
    core::arch::naked_asm!("jmp {vfork}", vfork = sym vfork)
}

/// Alias of `vfork`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __vfork() -> pid_t {
    core::arch::naked_asm!("b {vfork}", vfork = sym vfork)
}
