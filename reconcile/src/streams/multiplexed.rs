//! Multiplexed connections: they carry several calls at the same time, so the two sides do not take
//! turns.
//!
//! `detection` recognises them. `usual_sizes` are the usual sizes of their messages, `pipelined`
//! and `acknowledged` the two kinds that look like turns.

mod acknowledged;
pub(crate) mod detection;
mod pipelined;
pub(crate) mod usual_sizes;
