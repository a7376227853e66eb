//! Frame of a hook: the program's registers, and the place where the hook waits.

use crate::state::goroutine::Goroutine;

/// Registers of the program at a system call, on the stack of the slot, and the state that the hook
/// needs to resume. The entries write and read the fields by their offsets.
#[repr(C, align(16))]
pub(super) struct Frame {
    /// `xmm0` to `xmm15`.
    pub(super) vectors: [u128; 16],
    /// Stack pointer of the hook while it waits; the frame's own address if only the frame waits.
    pub(super) stopped_at: usize,
    /// Frame that waited before this one.
    pub(super) before: *mut Frame,
    /// Goroutine that makes the call.
    pub(super) goroutine: Goroutine,
    /// Value of the cycle counter before the call of a transfer without a coroutine (`streams.rs`),
    /// and the descriptor's entry.
    pub(super) begin: u64,
    pub(super) entry: u64,
    /// 0 until the hook has left for the program's system call; then 1, or for a transfer without a
    /// coroutine one of the values of `streams.rs`.
    pub(super) has_left: u64,
    /// `r15`, `r14`, `r13`, `r12`, `rbp`, `rbx`.
    pub(super) registers: [u64; 6],
    /// `r9`, `r8`, `r10`, `rdx`, `rsi`, `rdi`.
    pub(super) arguments: [i64; 6],
    /// `rax`.
    pub(super) number: i64,
    /// Address in the stub to resume at.
    pub(super) go_on: usize,
    /// Stack pointer of the program.
    pub(super) stack: usize,
}

const _: () = assert!(size_of::<Frame>() == 432);

/// Instructions that write the vector registers to the frame at the stack pointer.
macro_rules! store_vectors {
    () => {
        concat!(
            "movaps [rsp + 0], xmm0\n",
            "movaps [rsp + 16], xmm1\n",
            "movaps [rsp + 32], xmm2\n",
            "movaps [rsp + 48], xmm3\n",
            "movaps [rsp + 64], xmm4\n",
            "movaps [rsp + 80], xmm5\n",
            "movaps [rsp + 96], xmm6\n",
            "movaps [rsp + 112], xmm7\n",
            "movaps [rsp + 128], xmm8\n",
            "movaps [rsp + 144], xmm9\n",
            "movaps [rsp + 160], xmm10\n",
            "movaps [rsp + 176], xmm11\n",
            "movaps [rsp + 192], xmm12\n",
            "movaps [rsp + 208], xmm13\n",
            "movaps [rsp + 224], xmm14\n",
            "movaps [rsp + 240], xmm15\n",
        )
    };
}
pub(super) use store_vectors;

/// Instructions that read the vector registers from the frame that a register points to.
macro_rules! load_vectors {
    ($frame:literal) => {
        concat!(
            "movaps xmm0, [",
            $frame,
            " + 0]\n",
            "movaps xmm1, [",
            $frame,
            " + 16]\n",
            "movaps xmm2, [",
            $frame,
            " + 32]\n",
            "movaps xmm3, [",
            $frame,
            " + 48]\n",
            "movaps xmm4, [",
            $frame,
            " + 64]\n",
            "movaps xmm5, [",
            $frame,
            " + 80]\n",
            "movaps xmm6, [",
            $frame,
            " + 96]\n",
            "movaps xmm7, [",
            $frame,
            " + 112]\n",
            "movaps xmm8, [",
            $frame,
            " + 128]\n",
            "movaps xmm9, [",
            $frame,
            " + 144]\n",
            "movaps xmm10, [",
            $frame,
            " + 160]\n",
            "movaps xmm11, [",
            $frame,
            " + 176]\n",
            "movaps xmm12, [",
            $frame,
            " + 192]\n",
            "movaps xmm13, [",
            $frame,
            " + 208]\n",
            "movaps xmm14, [",
            $frame,
            " + 224]\n",
            "movaps xmm15, [",
            $frame,
            " + 240]\n",
        )
    };
}
pub(super) use load_vectors;

/// Saves the argument registers of a system call, and `rcx`, below the program's stack pointer in
/// `r11`.
macro_rules! push_arguments {
    () => {
        "push r11\npush rcx\npush rax\npush rdi\npush rsi\npush rdx\npush r10\npush r8\npush r9\n"
    };
}
pub(super) use push_arguments;

/// Restores the arguments, down to `rax`.
macro_rules! pop_arguments {
    () => {
        "pop r9\npop r8\npop r10\npop rdx\npop rsi\npop rdi\n"
    };
}
pub(super) use pop_arguments;

/// Saves the registers that a system call and C functions preserve.
macro_rules! push_kept {
    () => {
        "push rbx\npush rbp\npush r12\npush r13\npush r14\npush r15\n"
    };
}
pub(super) use push_kept;

/// Ends a hook: from the arguments in the frame, at the stack pointer, back to the program.
macro_rules! pop_all {
    () => {
        concat!(
            $crate::exports::injected::frame::pop_arguments!(),
            // The number, and the address to resume at.
            "pop rcx\npop rcx\npop rsp\njmp rcx\n",
        )
    };
}
pub(super) use pop_all;
