//! Floor 6, flows: what is logged of a socket, from its first use to its last descriptor.

pub(crate) mod adopt;
pub(crate) mod between_descriptors;
mod buffers;
pub(crate) mod closing;
pub(crate) mod counts;
pub(crate) mod datagram;
pub(crate) mod duplicates;
pub(crate) mod find;
pub(crate) mod heads;
mod moved;
pub(crate) mod names;
mod others;
mod queues;
pub(crate) mod segments;
pub(crate) mod survey;
pub(crate) mod transfer;
pub(crate) mod uncaptured;
pub(crate) mod watch;

pub(crate) use buffers::{Address, Buffers, Control, Outgoing};
pub(crate) use moved::Moved;
