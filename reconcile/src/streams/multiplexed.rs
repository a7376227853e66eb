//! Connections that carry many calls at once, where the two sides do not take turns.
//!
//! `judge` says whether a connection does. `units` are the usual sizes of its messages, `pipelined`
//! and `acknowledged` the two kinds that look like turns.

mod acknowledged;
pub(crate) mod detection;
mod pipelined;
pub(crate) mod usual_sizes;
