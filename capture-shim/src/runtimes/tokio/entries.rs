//! Machine code between Tokio and its functions. Each piece has unwind information for the return
//! address, so that backtraces and profiles work through it.

use core::arch::naked_asm;
use core::sync::atomic::AtomicUsize;

use super::task;
use crate::tuning::{MAX_TASK_KINDS, MAX_TASK_WAKES};

/// Original poll function of each kind of task, by the number that the entry passes in `eax`.
pub(super) static POLLS: [AtomicUsize; MAX_TASK_KINDS] =
    [const { AtomicUsize::new(0) }; MAX_TASK_KINDS];
/// Original wake functions of tasks, by the number that the entry passes in `eax`.
pub(super) static WAKES: [AtomicUsize; MAX_TASK_WAKES] =
    [const { AtomicUsize::new(0) }; MAX_TASK_WAKES];

/// Length of an entry, in bytes.
const ENTRY: usize = 16;

/// Address that replaces the poll function of task kind `number` in a table, out of
/// [`MAX_TASK_KINDS`].
pub(super) fn poll_entry(number: usize) -> usize {
    polls as unsafe extern "C" fn() as usize + number * ENTRY
}

/// Address that replaces wake function `number` in a table, out of [`MAX_TASK_WAKES`].
pub(super) fn wake_entry(number: usize) -> usize {
    wakes as unsafe extern "C" fn() as usize + number * ENTRY
}

/// Entries of poll functions, [`ENTRY`] bytes apart. Each continues with its number in `eax`.
///
/// # Safety
/// Only Tokio calls this, in place of a poll function.
#[unsafe(naked)]
unsafe extern "C" fn polls() {
    naked_asm!(
        ".balign {entry}",
        ".set sockcap_kind, 0",
        ".rept {kinds}",
        "mov eax, sockcap_kind",
        "jmp {poll}",
        ".balign {entry}",
        ".set sockcap_kind, sockcap_kind + 1",
        ".endr",
        entry = const ENTRY,
        kinds = const MAX_TASK_KINDS,
        poll = sym poll,
    )
}

/// Entries of wake functions, [`ENTRY`] bytes apart. Each continues with its number in `eax`.
///
/// # Safety
/// Only Tokio calls this, in place of a function that wakes a task.
#[unsafe(naked)]
unsafe extern "C" fn wakes() {
    naked_asm!(
        ".balign {entry}",
        ".set sockcap_kind, 0",
        ".rept {kinds}",
        "mov eax, sockcap_kind",
        "jmp {wake}",
        ".balign {entry}",
        ".set sockcap_kind, sockcap_kind + 1",
        ".endr",
        entry = const ENTRY,
        kinds = const MAX_TASK_WAKES,
        wake = sym wake,
    )
}

/// Polls the task in `rdi` by the function of number `eax`, while records are attributed to the
/// task.
///
/// # Safety
/// Only an entry jumps to this.
#[unsafe(naked)]
unsafe extern "C" fn poll() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "lea r11, [rip + {polls}]",
        "mov r11, [r11 + 8*rax]",
        "mov [rsp], r11",
        "mov [rsp + 8], rdi",
        "call {begin}",
        "mov rdi, [rsp + 8]",
        "mov [rsp + 8], rax",
        "call [rsp]",
        "mov edi, [rsp + 8]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "jmp {end}",
        ".cfi_endproc",
        polls = sym POLLS,
        begin = sym task::begin,
        end = sym task::end,
    )
}

/// Records the wake-up of the task in `rdi`, and wakes it by the function of number `eax`.
///
/// # Safety
/// Only an entry jumps to this.
#[unsafe(naked)]
unsafe extern "C" fn wake() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "lea r11, [rip + {wakes}]",
        "mov r11, [r11 + 8*rax]",
        "mov [rsp], r11",
        "mov [rsp + 8], rdi",
        "call {woken}",
        "mov r11, [rsp]",
        "mov rdi, [rsp + 8]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "jmp r11",
        ".cfi_endproc",
        wakes = sym WAKES,
        woken = sym task::woken,
    )
}

/// Records the start of the task that `rsi` should hold, and resumes at `r11`.
///
/// # Safety
/// Only the beginning of a function that takes up a task jumps to this.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn start() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 40",
        ".cfi_adjust_cfa_offset 40",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], r11",
        "mov rdi, rsi",
        "mov rsi, r11",
        "call {started}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov r11, [rsp + 24]",
        "add rsp, 40",
        ".cfi_adjust_cfa_offset -40",
        "jmp r11",
        ".cfi_endproc",
        started = sym task::started,
    )
}
