//! `libsockcap.so`: logs the socket calls of the program that it is preloaded into.
//!
//! The library stands between a program and libc. Each of its functions does what libc's function
//! of the same name does, by calling it, and writes down what went over which socket and when;
//! never the payload. It has no locks, allocates nothing, keeps no descriptor and depends on libc
//! alone, so it can be called wherever the program can call libc: in signal handlers, in forked
//! children, while another library starts.
//!
//! From the program's call to the log, a record passes these modules:
//! - [`hooks`] lists what is interposed, [`variadic`] and [`syscall`] the calls that need special
//!   means;
//! - [`calls`], [`receive`], [`send`], [`lifecycle`], [`aliases`], [`process`] and [`execute`] know
//!   each call's meaning, [`transfer`] and [`datagram`] what is logged of bytes that moved,
//!   [`checksum`] what datagrams add up to, [`peers`] whom they go to, [`watch`] and [`waits`] what
//!   the user may want beside that;
//! - [`hidden`] and [`stdio`] know the calls whose bytes libc moves by itself, [`descriptors`]
//!   those that give a descriptor, [`thread`] and [`link`] what starts threads and loads libraries;
//! - [`fds`] knows what each descriptor is, and [`describe`] finds it out;
//! - [`log`] writes records, [`segment`] gives it room, [`recycle`] the same room again, [`start`]
//!   begins a log and [`ended`] sees what threads leave of it;
//! - [`rights`] sees a process give up what its log needs, for which [`reserve`] and [`spares`]
//!   make room ahead; [`seccomp`] and [`filter`] know which system calls are left, and [`identity`]
//!   and [`remembered`] what the kernel cannot be asked any more;
//! - [`state`] and [`tls`] hold what belongs to a process and to a thread, [`environment`] and
//!   [`options`] what the user chose, [`inherit`] hands it on;
//! - [`raw`], [`clock`] and [`text`] stand in for the standard library.

#![no_std]

mod aliases;
mod arguments;
mod calls;
mod checksum;
mod clock;
mod datagram;
mod describe;
mod descriptors;
mod ended;
mod environment;
mod execute;
mod family;
mod fds;
mod filter;
mod hidden;
mod hooks;
mod identity;
mod inherit;
mod keep;
mod lifecycle;
mod lineage;
mod link;
mod log;
mod options;
mod peers;
mod positions;
mod process;
mod raw;
mod receive;
mod recycle;
mod remembered;
mod reserve;
mod rights;
mod seccomp;
mod segment;
mod send;
mod shifted;
mod spares;
mod start;
mod state;
mod stdio;
mod syscall;
mod text;
mod thread;
mod tls;
mod transfer;
mod trim;
mod unseen;
mod variadic;
mod waits;
mod watch;

// Only a build that aborts can do without the standard library. The development profile unwinds, as
// tests need; the library that it gives is linted, never shipped.
#[cfg(panic = "unwind")]
extern crate std;

socket_log::without_std! {
    /// The last resort. Nothing here is meant to panic, and a program must not be left in an
    /// endless loop.
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo) -> ! {
        raw::abort()
    }

    // The tables for unwinding in the precompiled core library name this function. Nothing here
    // unwinds, so it is never called; but the name must lead somewhere, and should not be seen from
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
