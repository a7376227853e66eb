//! A system call that was found, with the code around it.

use iced_x86::Instruction;

use crate::patching::image::ImageSegment;

/// A system call, and the code around it.
#[derive(Debug)]
pub(crate) struct SyscallSite<'a> {
    /// Address of the `syscall` instruction.
    pub(crate) address: u64,
    /// Instructions around it, in order. What is not code is left out.
    pub(crate) code: Vec<Instruction>,
    /// Which of them is the system call.
    pub(crate) place: usize,
    /// What holds it.
    pub(crate) segment: ImageSegment<'a>,
}
