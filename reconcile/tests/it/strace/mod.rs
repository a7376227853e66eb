//! The importer of strace's output, on recorded output: every kind of call, in all the forms of its
//! files. The recordings are in `tests/strace`; [`imported`] imports them.
#![allow(unreachable_pub, reason = "helpers of tests")]

mod files;
mod imported;
mod order;
mod processes;
mod segments;
mod sockets;
mod unnamed;
