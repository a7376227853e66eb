//! Connections: which two sockets are the ends of one.
//!
//! `connection` drives the search. `pairing` chooses among equal names, `unix_sockets` has rules of
//! its own, and `first_calls` reads the logs once more if names do not decide.

pub(crate) mod causality_check;
pub(crate) mod connection;
pub(crate) mod connection_setup;
pub(crate) mod first_calls;
pub(crate) mod listening;
pub(crate) mod pairing;
pub(crate) mod unix_sockets;
