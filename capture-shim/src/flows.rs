//! Layer 6, flows: what is logged about a socket, from its first use to its last descriptor.

pub(crate) mod adopt;
pub(crate) mod between_descriptors;
mod buffers;
pub(crate) mod closing;
pub(crate) mod counts;
pub(crate) mod datagram;
pub(crate) mod duplicates;
pub(crate) mod message_snippets;
pub(crate) mod names;
mod non_socket_io;
mod queues;
pub(crate) mod rare_words;
pub(crate) mod resolve;
pub(crate) mod segments;
pub(crate) mod socket_scan;
pub(crate) mod transfer;
pub(crate) mod uncaptured;
pub(crate) mod watch;
mod watched_transfer;

pub(crate) use buffers::{CallBuffers, CallerAddress, ControlData, OutgoingMessage};
pub(crate) use watched_transfer::WatchedTransfer;
