//! A system call that was found, with the code around it.

use iced_x86::Instruction;

use crate::patching::image::ImageSegment;

/// A system call, and the code around it.
#[derive(Debug)]
pub(crate) struct SyscallSite<'a> {
    /// Address of the `syscall` instruction.
    pub(crate) address: u64,
    /// Instructions around the `syscall`, in order. Bytes that are not code are left out.
    pub(crate) code: Vec<Instruction>,
    /// Index of the `syscall` in `code`.
    pub(crate) place: usize,
    /// Segment that contains the `syscall`.
    pub(crate) segment: ImageSegment<'a>,
}
