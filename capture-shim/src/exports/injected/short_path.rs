//! Short way: system calls that no hook does anything about go on after a few instructions, before
//! any register is put aside.
//!
//! These are the calls that servers make between their messages, of those that may matter:
//!
//! | call | when nothing is to be done |
//! |---|---|
//! | transfers | the descriptor is known to be no socket |
//! | `fcntl` | it duplicates no descriptor |
//! | `close` | the descriptor is known to be no socket, or was never looked at |
//!
//! Where a frame waits none goes this way, as it may have been left by `longjmp`, and is to be
//! forgotten.

/// Numbers of transfers, a bit each. A hook does nothing about one on a descriptor that is no
/// socket.
pub(super) const TRANSFERS: u64 = bit_set([
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    LAST_TRANSFER,
]);

/// Largest number among [`TRANSFERS`].
pub(super) const LAST_TRANSFER: i64 = libc::SYS_recvmsg;

/// Set of numbers, a bit each.
pub(super) const fn bit_set<const COUNT: usize>(numbers: [i64; COUNT]) -> u64 {
    let (mut bits, mut place) = (0, 0);
    while place < numbers.len() {
        bits |= 1 << numbers[place];
        place += 1;
    }
    bits
}

/// Instructions before all others of the entry before a system call. Where it must be looked at,
/// they go on behind themselves, at label 6; otherwise by [`short_way_apart`].
///
/// No branch of a transfer on a socket is taken: behind a system call the processor often does not
/// know where a branch goes, and expects what follows it.
macro_rules! short_way {
    () => {
        concat!(
            "cmp rax, {last_transfer}\n",
            "ja 31f\n",
            "movabs r11, {transfers}\n",
            "bt r11, rax\n",
            "jnc 32f\n",
            "cmp rdi, {limit}\n",
            "jae 6f\n",
            "mov r11, [rip + {table}]\n",
            "test r11, r11\n",
            "jz 6f\n",
            "cmp qword ptr [r11 + rdi * 8], {other}\n",
            "je 30f\n",
            "6:\n",
        )
    };
}
pub(super) use short_way;

/// The rest of the short way, which lies behind all others of the entry. It goes on by `jmp rcx`,
/// or at label 6 where the call must be looked at.
macro_rules! short_way_apart {
    () => {
        concat!(
            "30:\n",
            "cmp qword ptr gs:[{waiting}], 0\n",
            "jne 6b\n",
            "jmp rcx\n",
            "31:\n",
            "cmp rax, {fcntl}\n",
            "jne 6b\n",
            "cmp esi, {duplicate}\n",
            "je 6b\n",
            "cmp esi, {duplicate_closed}\n",
            "jne 30b\n",
            "jmp 6b\n",
            "32:\n",
            "cmp rax, {close}\n",
            "jne 6b\n",
            "cmp rdi, {limit}\n",
            "jae 6b\n",
            // What the library keeps is closed as far as the program knows.
            "cmp edi, [rip + {kept_directory}]\n",
            "je 6b\n",
            "cmp edi, [rip + {kept_log}]\n",
            "je 6b\n",
            "cmp edi, [rip + {kept_recorder}]\n",
            "je 6b\n",
            "mov r11, [rip + {table}]\n",
            "test r11, r11\n",
            "jz 6b\n",
            "lea r11, [r11 + rdi * 8]\n",
            "cmp qword ptr [r11], {unknown}\n",
            "je 30b\n",
            "cmp qword ptr [r11], {other}\n",
            "jne 6b\n",
            "cmp qword ptr gs:[{waiting}], 0\n",
            "jne 6b\n",
            // The child of a `vfork` has descriptors of its own, but its parent's table.
            "cmp qword ptr gs:[{vfork_stack}], 0\n",
            "jne 6b\n",
            // Before the call: behind it, another thread may already have been given the number.
            "mov eax, {unknown}\n",
            "xchg [r11], rax\n",
            // Another thread may have closed the number as well, and it may be a socket by now.
            "cmp rax, {other}\n",
            "ja 33f\n",
            "mov eax, {close}\n",
            "jmp rcx\n",
            "33:\n",
            "mov [r11], rax\n",
            "mov eax, {close}\n",
            "jmp 6b\n",
        )
    };
}
pub(super) use short_way_apart;
