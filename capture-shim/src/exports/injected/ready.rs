//! Machine code that the stub jumps to where a goroutine lets another go on, or starts it.

use core::mem::offset_of;

use super::{goroutines, slots};
use crate::state::slot::Slot;

/// Entry where a goroutine lets another go on, or starts it: `rbx` holds that one, `r14` the
/// goroutine that runs. `r11` is the address to go on at. `rax`, `rbx` and `rcx` are the program's,
/// and zero is what it wants in `xmm15`; other registers that a function may change are free.
///
/// It is the beginning of a function of Go's runtime, which no handler of a signal calls. So a
/// thread is here once at a time, and no hook of it runs or waits.
///
/// A goroutine may come from its system call on another thread than it went on, a new one at
/// worst, and then act on what it has read. So a thread gets its slot here, too. Not before the
/// main goroutine is known: by then the first thread has its stack for signals, and others have
/// theirs before they run goroutines.
///
/// # Safety
/// To be jumped to by a stub alone.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.often_run")]
unsafe extern "C" fn sockcap_ready() {
    core::arch::naked_asm!(
        "rdfsbase rdx",
        "cmp rdx, gs:[{owner}]",
        "jne 3f",
        "2:",
        "mov rdx, gs:[{floor}]",
        "xchg rsp, rdx",
        "push rdx",
        "push r11",
        "push rax",
        "push rcx",
        "mov rdi, r14",
        "mov rsi, rbx",
        "call {ready}",
        "xorps xmm15, xmm15",
        "pop rcx",
        "pop rax",
        "pop r11",
        "pop rsp",
        "4:",
        "jmp r11",
        // A thread without a slot gets it as before a system call.
        "3:",
        "cmp qword ptr [rip + {main}], {no_main}",
        "jbe 4b",
        "mov edx, 1",
        "lock xadd qword ptr [rip + {turn}], rdx",
        "and rdx, {stacks} - 1",
        "lock bts qword ptr [rip + {in_use}], rdx",
        "jc 4b",
        "inc rdx",
        "shl rdx, {stack_bits}",
        "add rdx, [rip + {shared}]",
        "xchg rsp, rdx",
        "push rdx",
        "push r11",
        "push rax",
        "push rcx",
        "call {arrive}",
        "xorps xmm15, xmm15",
        "pop rcx",
        "pop rax",
        "pop r11",
        "mov rdx, rsp",
        "pop rsp",
        "sub rdx, [rip + {shared}]",
        "shr rdx, {stack_bits}",
        "lock btr qword ptr [rip + {in_use}], rdx",
        "rdfsbase rdx",
        "cmp rdx, gs:[{owner}]",
        "je 2b",
        "jmp r11",
        owner = const offset_of!(Slot, owner),
        floor = const offset_of!(Slot, floor),
        ready = sym goroutines::ready,
        main = sym goroutines::MAIN,
        no_main = const goroutines::WRONG,
        arrive = sym slots::arrive,
        shared = sym slots::SHARED,
        stacks = const slots::STACKS,
        stack_bits = const slots::STACK_BITS,
        turn = sym slots::TURN,
        in_use = sym slots::IN_USE,
    )
}
