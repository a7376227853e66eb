//! Layer 7, hooks: the effect of each interposed call, one file for each family of calls.
//!
//! A hook receives libc's own function first and then the program's arguments, or the program's
//! whole call as a closure. It makes the program's call and logs the effect.

mod announce;
pub(crate) mod close;
#[cfg(feature = "resources")]
pub(crate) mod conditions;
pub(crate) mod dup;
#[cfg(feature = "resources")]
pub(crate) mod epolls;
#[cfg(feature = "resources")]
pub(crate) mod eventfds;
#[cfg(feature = "resources")]
pub(crate) mod files;
#[cfg(feature = "resources")]
mod futexes;
#[cfg(feature = "resources")]
mod hand_offs;
pub(crate) mod hidden;
pub(crate) mod lifecycle;
#[cfg(feature = "resources")]
pub(crate) mod locks;
#[cfg(feature = "resources")]
pub(crate) mod meetings;
pub(crate) mod new_descriptors;
pub(crate) mod nss;
pub(crate) mod past_libc;
pub(crate) mod processes;
pub(crate) mod programs;
pub(crate) mod read_write;
pub(crate) mod receive;
pub(crate) mod receive_messages;
pub(crate) mod rights;
pub(crate) mod rings;
#[cfg(feature = "resources")]
pub(crate) mod semaphores;
pub(crate) mod send;
pub(crate) mod signals;
#[cfg(feature = "resources")]
pub(crate) mod sleeps;
pub(crate) mod stdio;
pub(crate) mod syscall;
pub(crate) mod threads;
pub(crate) mod tls;
pub(crate) mod unseen;
pub(crate) mod waits;
