//! Entries of the library in an image that it is injected into: static programs, and programs with
//! a runtime that makes its system calls itself, such as Go's.
//!
//! Nothing in such an image can be interposed. Instead, the instructions around each system call
//! are replaced by jumps to stubs (the crate `patching`), which jump to the entries here: one
//! before the system call, one after it. A hook is written as a function around the program's call,
//! so it runs as a coroutine on a stack of the thread's own:
//!
//! ```text
//!    program             stub                 stack of the slot
//!    -------             ----                 -----------------
//!    mov eax, 0  ------> entries::before ---> coroutine::enter
//!                                               hooks::syscall(call, ...)
//!                                                 clock, descriptor ...
//!    syscall    <---------------------------------call()
//!      (waits here)
//!    cmp rax, .. ------> entries::after  ------>  ... record
//!                                               result
//!    cmp rax, .. <---------------------------- registers as they were
//! ```
//!
//! The program waits at its own place, with its own stack pointer: profilers, debuggers,
//! cancellation and restarts see what they always saw. No byte of the program's stack is used,
//! since a goroutine may have none left.
//!
//! A signal that arrives while the hook itself runs has its handler on the slot's stack, unless the
//! handler has an alternate stack. The handler's own system calls are then made without a hook, and
//! counted.

mod coroutine;
mod ending;
mod entries;
mod frame;
mod goroutines;
mod hook_exit;
mod ready;
mod relocate;
mod short_path;
mod slots;
mod start_up;
mod streams;
