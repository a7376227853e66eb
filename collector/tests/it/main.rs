//! Shippers and collectors in one process over loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cleared;
mod common;
mod gather;
mod heads;
mod refusals;
