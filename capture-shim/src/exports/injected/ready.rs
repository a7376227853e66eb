//! Machine code that the stub jumps to when a goroutine wakes or starts another one.

use core::mem::offset_of;

use super::{goroutines, slots};
use crate::state::slot::Slot;

/// Entry when a goroutine wakes or starts another one: `rbx` holds the woken goroutine, `r14` the
/// running one. `r11` is the address to resume at. `rax`, `rbx` and `rcx` are the program's, which
/// also expects zero in `xmm15`; other registers that a function may change are free.
///
/// The patched place is the beginning of a function of Go's runtime that no signal handler calls.
/// So a thread is here once at a time, and no hook of it runs or waits.
///
/// A goroutine may return from its system call on another thread than it entered on, even a new
/// one, and then act on the data that it has read. So a thread gets its slot here, too, but not
/// before the main goroutine is known: by then the first thread has its signal stack, and others
/// have theirs before they run goroutines.
///
/// # Safety
/// Only a stub jumps to this.
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
        // A thread without a slot gets one as before a system call.
        "3:",
        "cmp qword ptr [rip + {main}], {no_main}",
        "jbe 4b",
        "mov edx, 1",
        "lock xadd qword ptr [rip + {stack_requests}], rdx",
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
        "call {claim_slot}",
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
        claim_slot = sym slots::claim_slot,
        shared = sym slots::SHARED,
        stacks = const slots::STACKS,
        stack_bits = const slots::STACK_BITS,
        stack_requests = sym slots::STACK_REQUESTS,
        in_use = sym slots::IN_USE,
    )
}
