//! Frame of a hook: the program's registers, and the place where the hook waits.

/// Registers of the program at a system call, on the stack of the slot, and what the hook needs to
/// go on. The entries write and read it by its offsets.
#[repr(C, align(16))]
pub(super) struct Frame {
    /// `xmm0` to `xmm15`.
    pub(super) vectors: [u128; 16],
    /// Stack pointer of the hook while it waits.
    pub(super) stopped_at: usize,
    /// Frame that waited before this one.
    pub(super) before: *mut Frame,
    /// Whether the hook has left for the program's system call.
    pub(super) has_left: u64,
    /// `r15`, `r14`, `r13`, `r12`, `rbp`, `rbx`.
    pub(super) registers: [u64; 6],
    /// `r9`, `r8`, `r10`, `rdx`, `rsi`, `rdi`.
    pub(super) arguments: [i64; 6],
    /// `rax`.
    pub(super) number: i64,
    /// Address in the stub to go on at.
    pub(super) go_on: usize,
    /// Stack pointer of the program.
    pub(super) stack: usize,
}

const _: () = assert!(size_of::<Frame>() == 400);
