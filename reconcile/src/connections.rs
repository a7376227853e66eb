//! Connections: which two sockets are the ends of one.
//!
//! `connection` drives it. `pairing` decides among equal names, `unix_sockets` has its own way,
//! and `first_calls` reads the logs once more where names cannot tell.

pub(crate) mod causality_check;
pub(crate) mod connection;
pub(crate) mod connection_setup;
pub(crate) mod first_calls;
pub(crate) mod listening;
pub(crate) mod pairing;
pub(crate) mod unix_sockets;
