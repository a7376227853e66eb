//! Short path: system calls that need no hook resume after a few instructions, before any register
//! is saved.
//!
//! These are the calls that servers make between their messages, out of those that may matter:
//!
//! | call | no hook is needed if |
//! |---|---|
//! | transfers | the descriptor is known not to be a socket |
//! | `fcntl` | it duplicates no descriptor |
//! | `close` | the descriptor is known not to be a socket, or was never looked at |
//!
//! While a frame waits, no call takes this path, since the frame may have been left by `longjmp`
//! and must then be forgotten.

/// Numbers of transfers, a bit each. A hook ignores a transfer on a descriptor that is not a
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

/// First instructions of the entry before a system call. If the call must be looked at, they
/// continue after themselves, at label 6; otherwise in [`short_way_apart`].
///
/// No branch of a transfer on a socket is taken: after a system call the processor often cannot
/// predict a branch, and expects it not to be taken.
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

/// The rest of the short path, placed after all other instructions of the entry. It ends by `jmp
/// rcx`, or at label 6 if the call must be looked at.
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
            // The library's own descriptors are closed from the program's point of view.
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
            // The child of a `vfork` has its own descriptors, but its parent's table.
            "cmp qword ptr gs:[{vfork_stack}], 0\n",
            "jne 6b\n",
            // Before the call: afterwards, the number may already have been given to another
            // thread.
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
