//! The whole chain on real programs and real sockets. There is a folder for each step, and the
//! page's tests in a browser. Tests begin in the order of their names, so the longest one, the
//! page's, is not in `report`: it would begin among the last, and the others would end long before
//! it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod analyze;
mod browser;
mod capture;
mod collect;
mod command_line;
mod import;
mod lab;
mod reconcile;
mod report;
mod untrusted;
