//! Errors of an image, or of the addresses for which its patches are assembled.

use thiserror::Error;

use crate::patching::incompatible::IncompatibleProgram;

/// Reason why an image has no patches.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The file's structure is damaged, or it is not an ELF file at all.
    #[error("not an ELF file that can be read: {0}")]
    NotElf(String),
    /// An unsupported kind of program.
    #[error("not a program for x86-64 with 64-bit addresses")]
    Machine,
    /// A program that is incompatible with injected code.
    #[error("{0}")]
    Unsuited(IncompatibleProgram),
    /// A displaced instruction refers to an address that is out of reach from the stubs.
    #[error(
        "the stubs at {stubs:#x} are too far from the system call at {site:#x}: they must be \
         within 2 GB of the program and what it refers to"
    )]
    TooFar {
        /// Address of the `syscall` instruction in the process.
        site: u64,
        /// Intended address of the stubs.
        stubs: u64,
    },
    /// An instruction cannot be re-encoded at another address.
    #[error("instructions at the system call at {site:#x} cannot be moved: {why}")]
    Displaced {
        /// Address of the `syscall` instruction in the process.
        site: u64,
        /// Error of the assembler.
        why: String,
    },
}
