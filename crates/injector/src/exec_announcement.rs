//! Exec announcements over a socket: the bytes of an announcement, the check of its sender, the
//! process's side and the recorder's side.

pub(crate) mod client;
pub(crate) mod far;
pub(crate) mod message;
pub(crate) mod peer;
pub(crate) mod server;
