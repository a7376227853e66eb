//! The whole chain on real programs and real sockets. A folder for each step.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod analyze;
mod capture;
mod collect;
mod command_line;
mod import;
mod lab;
mod reconcile;
mod report;
