//! Numbers of Linux's system calls on x86-64 that a recording wants.

use serde::{Deserialize, Serialize};

/// Number of the system call at a site, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyscallNumber {
    /// The number is always this one.
    Constant(u32),
    /// The number is in a register, and is checked when the site runs.
    Variable,
}

impl SyscallNumber {
    /// Whether a wanted call can be made.
    #[must_use]
    pub fn may_be_wanted(self) -> bool {
        match self {
            Self::Constant(number) => is_wanted(number),
            Self::Variable => true,
        }
    }

    /// Whether the call, if it is known, never returns.
    pub(crate) fn never_returns(self) -> bool {
        matches!(self, Self::Constant(EXIT | EXIT_GROUP))
    }

    /// Whether the call, if it is known, returns twice.
    pub(crate) fn returns_twice(self) -> bool {
        matches!(self, Self::Constant(CLONE | FORK | VFORK | CLONE3))
    }
}

/// Numbers below this one can be in the stubs' table.
pub(crate) const TABLE_NUMBERS: u32 = 512;

const CLONE: u32 = 56;
const FORK: u32 = 57;
const VFORK: u32 = 58;
const EXIT: u32 = 60;
const EXIT_GROUP: u32 = 231;
const CLONE3: u32 = 435;

/// Calls that transfer bytes; sockets; descriptors; processes; dropping of privileges, and the
/// alternate signal stack. No call that only waits.
#[rustfmt::skip]
const WANTED: &[u32] = &[
    0,   // read
    1,   // write
    3,   // close
    19,  // readv
    20,  // writev
    32,  // dup
    33,  // dup2
    40,  // sendfile
    41,  // socket
    42,  // connect
    43,  // accept
    44,  // sendto
    45,  // recvfrom
    46,  // sendmsg
    47,  // recvmsg
    48,  // shutdown
    49,  // bind
    50,  // listen
    53,  // socketpair
    CLONE,
    FORK,
    VFORK,
    59,  // execve
    EXIT,
    72,  // fcntl
    105, // setuid
    113, // setreuid
    117, // setresuid
    131, // sigaltstack
    155, // pivot_root
    157, // prctl
    161, // chroot
    EXIT_GROUP,
    272, // unshare
    275, // splice
    288, // accept4
    292, // dup3
    299, // recvmmsg
    302, // prlimit64
    307, // sendmmsg
    308, // setns
    317, // seccomp
    322, // execveat
    327, // preadv2
    328, // pwritev2
    CLONE3,
    436, // close_range
    438, // pidfd_getfd
    446, // landlock_restrict_self
];

/// Whether a recording wants the calls of a number.
#[must_use]
pub fn is_wanted(number: u32) -> bool {
    WANTED.binary_search(&number).is_ok()
}

/// One bit for each number, as stubs read it.
pub(crate) fn wanted_table() -> [u32; TABLE_NUMBERS as usize / 32] {
    let mut table = [0; TABLE_NUMBERS as usize / 32];
    for number in WANTED {
        if let Some(word) = table.get_mut(*number as usize / 32) {
            *word |= 1 << (number % 32);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_matches_the_table() {
        assert!(WANTED.is_sorted() && WANTED.iter().all(|number| *number < TABLE_NUMBERS));
        let table = wanted_table();
        for number in 0..TABLE_NUMBERS {
            let bit = table[number as usize / 32] >> (number % 32) & 1;
            assert_eq!(bit == 1, is_wanted(number), "{number}");
        }
    }
}
