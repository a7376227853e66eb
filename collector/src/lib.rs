//! The logs of many hosts in one place: `ship` follows a host's data directory and sends what is
//! committed, `collect` gathers what all hosts send into one data directory, which later stages
//! read as if all had been recorded there.
//!
//! Both sides keep nothing that could be lost: what a collector has is found by looking at its
//! files, what a host has by looking at its own, and the difference is sent. `docs/wire-format.md`
//! describes the protocol, `docs/collector.md` its use.

pub mod clock;
pub mod collect;
pub mod fuzz;
pub mod identity;
pub mod keys;
pub mod link;
pub mod metrics;
pub mod page;
pub mod ship;
pub mod tls;
pub mod wire;
pub mod writers;
