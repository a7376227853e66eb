//! How sites are patched, and why some are left.

use serde::{Deserialize, Serialize};

/// How a site is patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatchKind {
    /// Jumps before and behind the `syscall`, which stays where it is.
    Sandwich,
    /// A jump before the `syscall`, which stays; what it returns to is exchanged meanwhile.
    Return,
    /// A jump over the `syscall`, which is executed elsewhere.
    Over,
    /// It is left as it is.
    Left(UnpatchedReason),
}

/// Why a site is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum UnpatchedReason {
    /// Its calls are not wanted.
    Unwanted,
    /// It belongs to the runtime of Go, whose calls are about no socket and no program.
    GoRuntime,
    /// It is not certain that it is a system call.
    Uncertain,
    /// Something jumps to where a jump would have to be, so calls would be missed or break.
    Reached,
    /// There are not five bytes that can be moved.
    NoRoom,
    /// Its neighbour needs the same bytes.
    Neighbour,
    /// The code behind it needs what a call of the library would destroy.
    Live,
}

impl std::fmt::Display for UnpatchedReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unwanted => "its calls are not wanted",
            Self::GoRuntime => "it is of the runtime of Go",
            Self::Uncertain => "it may be no system call",
            Self::Reached => "the code jumps to right before or behind it",
            Self::NoRoom => "no instructions around it can be moved",
            Self::Neighbour => "a system call beside it needs the same bytes",
            Self::Live => "the code behind it needs what a call destroys",
        })
    }
}
