#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(feature = "injected", allow(dead_code, reason = "functions of libc are not there"))]

mod c_library;
mod descriptors;
mod exports;
mod flows;
mod hooks;
mod log;
mod platform;
mod runtimes;
mod state;
mod tuning;

// Only a build that aborts can do without the standard library. The development profile unwinds, as
// tests need; its library is linted, never shipped.
#[cfg(panic = "unwind")]
extern crate std;

socket_log::without_std! {
    /// Ends the process. Nothing in the library is meant to panic, and a program must not be left
    /// in an endless loop.
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo) -> ! {
        platform::raw::abort_process()
    }

    // The unwinding tables in the precompiled core library name this function. Nothing here
    // unwinds, so it is never called; but the name must resolve, and should not be visible from
    // outside.
    core::arch::global_asm!(
        ".pushsection .text.rust_eh_personality,\"ax\",@progbits",
        ".globl rust_eh_personality",
        ".hidden rust_eh_personality",
        ".type rust_eh_personality, @function",
        "rust_eh_personality:",
        "ret",
        ".popsection",
    );
}
