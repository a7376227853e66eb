//! Exchanges of timestamps with the collector: hints for clocks that no message connects, and a
//! check of all others.
//!
//! `exchanges` keeps them, `clock_groups` adds them to the clocks estimated from messages, `join`
//! and `check` use them (`apply`), with `compose` and `majority` as their tools.

pub(crate) mod apply;
mod check;
mod clock_groups;
mod compose;
pub(crate) mod exchanges;
mod join;
mod majority;

pub use exchanges::ClockHints;
