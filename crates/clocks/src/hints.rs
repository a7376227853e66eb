//! Exchanges of timestamps with the collector: hints for clocks that no message connects, and a
//! check of all others.
//!
//! `exchanges` keeps the exchanges, `clock_groups` adds them to the clocks estimated from messages,
//! and `apply` calls `join` and `check`, which use them with the help of `compose` and `majority`.

pub(crate) mod apply;
mod check;
mod clock_groups;
mod compose;
pub(crate) mod exchanges;
mod join;
mod majority;

pub use exchanges::ClockHints;
