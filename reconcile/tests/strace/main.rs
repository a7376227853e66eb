//! The importer of strace's output, on what strace has printed: every kind of call, in all the
//! forms that files come in. What was recorded lies beside; [`imported`] imports it.
#![expect(clippy::unwrap_used, reason = "helpers of the tests fail them by panicking")]
#![allow(unreachable_pub, reason = "helpers of tests")]

mod files;
mod imported;
mod processes;
mod sockets;
