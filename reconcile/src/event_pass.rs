//! The second reading of the logs: their calls, each with the socket it is of.
//!
//! `reading` reads one log, `chosen` numbers sockets whose calls are wanted early.

pub(crate) mod chosen_sockets;
pub(crate) mod log_pass;
