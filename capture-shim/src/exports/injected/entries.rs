//! Machine code that the stubs jump to: the path from the program's registers and stack to a hook,
//! and back.
//!
//! At both entries `rcx` is the address to resume at; `rcx`, `r11` and the flags are free, and all
//! else is the program's. Signals determine the order of instructions, as the comments below
//! explain: a handler may run between any two, and may make system calls that come here as well.

use core::mem::offset_of;

use super::frame::{
    Frame, load_vectors, pop_all, pop_arguments, push_arguments, push_kept, store_vectors,
};
use super::short_path::{LAST_TRANSFER, TRANSFERS, short_way, short_way_apart};
use super::streams::{
    self, go_on_with_transfer, go_on_with_transfer_apart, leave_for_transfer,
    leave_for_transfer_apart,
};
use super::{coroutine, slots};
use crate::descriptors::table;
use crate::log::keep;
use crate::state::slot::Slot;

/// Entry before a system call. If the call is not a stream transfer, its hook begins with `$enter`;
/// a stream transfer is attributed to the thread or to the goroutine.
macro_rules! before {
    ($enter:path, $attribution:path) => {
        core::arch::naked_asm!(
            short_way!(),
            // A slot that another thread has left in the register does not belong to this thread.
            "rdfsbase r11",
            "cmp r11, gs:[{owner}]",
            "jne 3f",
            "2:",
            // On the slot's own stack: a handler that has interrupted a hook.
            "mov r11, gs:[{stack_end}]",
            "sub r11, rsp",
            "cmp r11, gs:[{stack_length}]",
            "jb 4f",
            // On the alternate signal stack: the kernel would treat it as free while the hook runs
            // elsewhere, and reuse it from its beginning.
            "mov r11, rsp",
            "sub r11, gs:[{alternate}]",
            "cmp r11, gs:[{alternate_length}]",
            "jb 4f",
            // A frame waits for ever if its system call was left by `longjmp`: the program is back
            // at the same stack position, or above. A handler's position is below the code that it
            // has interrupted. A handler in between would find the floor below a frame that is
            // gone, which only takes room.
            "8:",
            "mov r11, gs:[{waiting}]",
            "test r11, r11",
            "jnz 7f",
            "9:",
            "mov r11, gs:[{floor}]",
            "xchg rsp, r11",
            push_arguments!(),
            push_kept!(),
            "sub rsp, {vectors}",
            leave_for_transfer!(),
            store_vectors!(),
            "mov rdi, rsp",
            // Return address, which this function does not use.
            "push 0",
            "jmp {enter}",
            "7:",
            "cmp [r11 + {stack}], rsp",
            "ja 9b",
            "mov r11, [r11 + {before}]",
            "mov gs:[{waiting}], r11",
            "test r11, r11",
            "jz 10f",
            "mov r11, [r11 + {stopped_at}]",
            "sub r11, 64",
            "and r11, -64",
            "mov gs:[{floor}], r11",
            "jmp 8b",
            "10:",
            "mov r11, gs:[{stack_end}]",
            "mov gs:[{floor}], r11",
            "jmp 9b",
            // Another thread, or a new one. It gets a slot, on one of the stacks that threads share
            // for that: they are taken in sequence, and one that is in use is left to its user.
            "3:",
            "mov r11, rsp",
            "sub r11, [rip + {shared}]",
            "cmp r11, {shared_bytes}",
            "jb 5f",
            "mov r11d, 1",
            "lock xadd qword ptr [rip + {stack_requests}], r11",
            "and r11, {stacks} - 1",
            "lock bts qword ptr [rip + {in_use}], r11",
            "jc 5f",
            "inc r11",
            "shl r11, {stack_bits}",
            "add r11, [rip + {shared}]",
            "xchg rsp, r11",
            push_arguments!(),
            "sub rsp, {vectors}",
            store_vectors!(),
            "call {claim_slot}",
            load_vectors!("rsp"),
            "add rsp, {vectors}",
            pop_arguments!(),
            "pop rax",
            "pop rcx",
            "mov r11, rsp",
            "pop rsp",
            "sub r11, [rip + {shared}]",
            "shr r11, {stack_bits}",
            "lock btr qword ptr [rip + {in_use}], r11",
            "rdfsbase r11",
            "cmp r11, gs:[{owner}]",
            "je 2b",
            "5:",
            "lock inc qword ptr [rip + {unattended}]",
            "jmp rcx",
            "4:",
            "inc qword ptr gs:[{skipped}]",
            "jmp rcx",
            short_way_apart!(),
            leave_for_transfer_apart!(),
            last_transfer = const LAST_TRANSFER,
            transfers = const TRANSFERS,
            limit = const table::MAX_DESCRIPTORS,
            table = sym table::TABLE,
            other = const table::UNCAPTURED,
            unknown = const 0,
            plain_stream_bits = const table::PLAIN_STREAM_BITS,
            plain_stream = const table::PLAIN_STREAM,
            fcntl = const libc::SYS_fcntl,
            duplicate = const libc::F_DUPFD,
            duplicate_closed = const libc::F_DUPFD_CLOEXEC,
            close = const libc::SYS_close,
            kept_directory = sym keep::DIRECTORY,
            kept_log = sym keep::LOG,
            kept_recorder = sym keep::RECORDER,
            calls = sym streams::CALLS,
            first_with_flags = const libc::SYS_sendto,
            unusual_flags = const !streams::USUAL_FLAGS,
            attribution = const $attribution,
            owner = const offset_of!(Slot, owner),
            stack_end = const offset_of!(Slot, stack_end),
            stack_length = const offset_of!(Slot, stack_length),
            alternate = const offset_of!(Slot, alternate),
            alternate_length = const offset_of!(Slot, alternate_length),
            floor = const offset_of!(Slot, floor),
            skipped = const offset_of!(Slot, skipped),
            waiting = const offset_of!(Slot, waiting),
            vfork_stack = const offset_of!(Slot, vfork_stack),
            stack = const offset_of!(Frame, stack),
            before = const offset_of!(Frame, before),
            stopped_at = const offset_of!(Frame, stopped_at),
            begin = const offset_of!(Frame, begin),
            entry = const offset_of!(Frame, entry),
            has_left = const offset_of!(Frame, has_left),
            arguments = const offset_of!(Frame, arguments),
            number = const offset_of!(Frame, number),
            vectors = const offset_of!(Frame, registers),
            enter = sym $enter,
            claim_slot = sym slots::claim_slot,
            shared = sym slots::SHARED,
            shared_bytes = const slots::STACKS << slots::STACK_BITS,
            stacks = const slots::STACKS,
            stack_bits = const slots::STACK_BITS,
            stack_requests = sym slots::STACK_REQUESTS,
            in_use = sym slots::IN_USE,
            unattended = sym slots::UNATTENDED,
        )
    };
}

/// Entry before a system call.
///
/// # Safety
/// Only a stub jumps to this.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.often_run")]
unsafe extern "C" fn sockcap_before() {
    before!(coroutine::enter, streams::OF_THREAD)
}

/// Entry before a system call at which `r14` holds the goroutine.
///
/// # Safety
/// Only a stub jumps to this.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.often_run")]
unsafe extern "C" fn sockcap_before_in_goroutine() {
    before!(coroutine::enter_from_goroutine, streams::OF_GOROUTINE)
}

/// Entry after a system call.
///
/// # Safety
/// Only a stub jumps to this.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.often_run")]
unsafe extern "C" fn sockcap_after() {
    core::arch::naked_asm!(
        "rdfsbase r11",
        "cmp r11, gs:[{owner}]",
        "jne 4f",
        "cmp qword ptr gs:[{vfork_stack}], rsp",
        "je 5f",
        "mov r11, gs:[{waiting}]",
        "test r11, r11",
        "jz 4f",
        // A frame that was left by `longjmp` waits for ever, above the one that resumes.
        "2:",
        "cmp [r11 + {stack}], rsp",
        "jne 3f",
        // A call without a hook before it may be made where one was left. A system call preserves
        // these registers, so the frame of this call has them.
        "cmp [r11 + {registers}], r15",
        "jne 3f",
        "cmp [r11 + {registers} + 8], r14",
        "jne 3f",
        "cmp [r11 + {registers} + 16], r13",
        "jne 3f",
        "cmp [r11 + {registers} + 24], r12",
        "jne 3f",
        "cmp [r11 + {registers} + 32], rbp",
        "jne 3f",
        "cmp [r11 + {registers} + 40], rbx",
        "jne 3f",
        "mov [r11 + {go_on}], rcx",
        "mov rcx, [r11 + {before}]",
        "mov gs:[{waiting}], rcx",
        "mov rsp, [r11 + {stopped_at}]",
        "lea rcx, [r11 + {length}]",
        "mov gs:[{floor}], rcx",
        "cmp rsp, r11",
        "jne 6f",
        go_on_with_transfer!(),
        "6:",
        "pop rcx",
        "jmp rcx",
        "3:",
        "mov r11, [r11 + {before}]",
        "test r11, r11",
        "jnz 2b",
        "4:",
        "jmp rcx",
        // A `vfork` returns twice. Frames that its child has left waiting are gone when the parent
        // resumes.
        "5:",
        "test rax, rax",
        "jz 4b",
        "mov r11, gs:[{vfork_waiting}]",
        "mov gs:[{waiting}], r11",
        "mov r11, gs:[{vfork_floor}]",
        "mov gs:[{floor}], r11",
        "mov qword ptr gs:[{vfork_stack}], 0",
        "jmp rcx",
        go_on_with_transfer_apart!(),
        owner = const offset_of!(Slot, owner),
        waiting = const offset_of!(Slot, waiting),
        floor = const offset_of!(Slot, floor),
        vfork_stack = const offset_of!(Slot, vfork_stack),
        vfork_waiting = const offset_of!(Slot, vfork_waiting),
        vfork_floor = const offset_of!(Slot, vfork_floor),
        stack = const offset_of!(Frame, stack),
        go_on = const offset_of!(Frame, go_on),
        before = const offset_of!(Frame, before),
        registers = const offset_of!(Frame, registers),
        stopped_at = const offset_of!(Frame, stopped_at),
        length = const size_of::<Frame>(),
        again = const -libc::EAGAIN,
        // Next to all other fields of the frame that are used. Only coroutines have their goroutine
        // there.
        scratch = const offset_of!(Frame, goroutine),
        has_left = const offset_of!(Frame, has_left),
        of_goroutine = const streams::OF_GOROUTINE,
        arguments = const offset_of!(Frame, arguments),
        log_in_thread = sym streams::log_in_thread,
        log_in_goroutine = sym streams::log_in_goroutine,
    )
}
