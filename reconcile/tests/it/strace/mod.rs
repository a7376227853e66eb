//! The importer of strace's output, on what strace has printed: every kind of call, in all the
//! forms that files come in. What was recorded lies beside; [`imported`] imports it.
#![allow(unreachable_pub, reason = "helpers of tests")]

mod files;
mod imported;
mod processes;
mod segments;
mod sockets;
mod unnamed;
