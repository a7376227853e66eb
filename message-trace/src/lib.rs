//! The vocabulary of everything after capture: who ([`Node`]) sent what ([`Message`]) to whom, by
//! which [`Endpoint`]s, and when, in one table, the [`MessageTrace`].
//!
//! It is the one format between capture and analysis: every importer writes it, every algorithm
//! reads it. The crate also owns the files of a data directory ([`DataDir`]) and the ways in which
//! tables are stored and shown ([`table`]). It knows nothing of how messages were captured, nor of
//! what is inferred from them.

pub mod clock_exchange;
mod data_dir;
mod endpoint;
mod few;
pub mod json;
mod message;
mod mixed;
mod node;
mod progress;
pub mod stats;
pub mod table;
mod trace;
pub mod units;

pub use clock_exchange::ClockExchange;
pub use data_dir::{DataDir, Import};
pub use endpoint::Endpoint;
pub use few::Few;
pub use message::{
    Connect, End, Ends, FROM_ACCEPTING, FROM_CONNECTING, Message, Protocol, arrival,
};
pub use mixed::mixed;
pub use node::{Grain, Node, NodeId, Nodes};
pub use out_of_core::PathError as Error;
pub use progress::Progress;
pub use trace::{Beyond, EndpointId, MessageTrace};
