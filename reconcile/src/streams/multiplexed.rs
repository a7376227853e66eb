//! Connections that carry many calls at once, where the two sides do not take turns.
//!
//! `judge` says whether a connection does. `units` are the usual sizes of its messages, `pipelined`
//! and `kept` the two kinds that look like turns.

pub(crate) mod judge;
mod kept;
mod pipelined;
pub(crate) mod units;
