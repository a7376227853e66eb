//! What can be wrong with an image, or with the places that its patches are made for.

use thiserror::Error;

use crate::patching::incompatible::IncompatibleProgram;

/// Why an image has no patches.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The file's structure is damaged, or it is no ELF file at all.
    #[error("not an ELF file that can be read: {0}")]
    NotElf(String),
    /// A kind of program that is not patched.
    #[error("not a program for x86-64 with 64-bit addresses")]
    Machine,
    /// A program that does not bear what patches lead to.
    #[error("{0}")]
    Unsuited(IncompatibleProgram),
    /// A displaced instruction means a place that cannot be reached from where the stubs are to be.
    #[error(
        "the stubs at {stubs:#x} are too far from the system call at {site:#x}: they must be \
         within 2 GB of the program and what it refers to"
    )]
    TooFar {
        /// Address of the `syscall` instruction in the process.
        site: u64,
        /// Address that was given for the stubs.
        stubs: u64,
    },
    /// An instruction cannot be written anew at another place.
    #[error("instructions at the system call at {site:#x} cannot be moved: {why}")]
    Displaced {
        /// Address of the `syscall` instruction in the process.
        site: u64,
        /// What the assembler says.
        why: String,
    },
}
