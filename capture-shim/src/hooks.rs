//! Floor 7, hooks: meaning of each interposed call, one file a family of calls.
//!
//! A hook gets libc's own function first and then the program's arguments, or the program's whole
//! call as a closure. It makes that call and logs what it did.

pub(crate) mod close;
pub(crate) mod dup;
pub(crate) mod hidden;
pub(crate) mod lifecycle;
pub(crate) mod new_descriptors;
pub(crate) mod processes;
pub(crate) mod programs;
pub(crate) mod read_write;
pub(crate) mod receive;
pub(crate) mod receive_messages;
pub(crate) mod rights;
pub(crate) mod send;
pub(crate) mod stdio;
pub(crate) mod syscall;
pub(crate) mod threads;
pub(crate) mod unseen;
pub(crate) mod waits;
