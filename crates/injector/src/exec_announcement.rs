//! Execs that processes announce over a socket: the bytes of an announcement, who may send one, the
//! process's side and the recorder's.

pub(crate) mod client;
pub(crate) mod far;
pub(crate) mod message;
pub(crate) mod peer;
pub(crate) mod server;
