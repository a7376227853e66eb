//! Kinds of patches, and reasons for unpatched sites.

use serde::{Deserialize, Serialize};

/// How a site is patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatchKind {
    /// Jumps before and after the `syscall`, which stays in place.
    Sandwich,
    /// A jump before the `syscall`, which stays in place; the return address of its function is
    /// replaced meanwhile.
    Return,
    /// A jump over the `syscall`, which is executed elsewhere.
    Over,
    /// The site is not patched.
    Unpatched(UnpatchedReason),
}

/// Reason why a site is not patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum UnpatchedReason {
    /// The calls of the site are not wanted.
    Unwanted,
    /// The site belongs to Go's runtime and makes no calls for sockets or programs.
    GoRuntime,
    /// The site is not certainly a system call.
    Uncertain,
    /// Some code jumps to a byte that the patch would overwrite, so calls would be missed or break.
    Reached,
    /// There are not five bytes of movable instructions next to the site.
    NoRoom,
    /// The neighbouring site needs the same bytes.
    Neighbour,
    /// The code after the site needs registers or flags that a call of the library would destroy.
    Live,
}

impl std::fmt::Display for UnpatchedReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unwanted => "its calls are not wanted",
            Self::GoRuntime => "it belongs to the runtime of Go",
            Self::Uncertain => "it may not be a system call",
            Self::Reached => "code jumps to just before or after it",
            Self::NoRoom => "no instructions around it can be moved",
            Self::Neighbour => "a neighbouring system call needs the same bytes",
            Self::Live => "the code after it needs what a call destroys",
        })
    }
}
