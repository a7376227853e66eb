//! The event pass: the second reading of the logs, which yields every call with its socket.
//!
//! `log_pass` reads one log, `chosen_sockets` numbers the sockets with calls that are needed early.

pub(crate) mod chosen_sockets;
pub(crate) mod log_pass;
