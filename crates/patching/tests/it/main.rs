//! Programs that are patched on disk and run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod counting;
mod embed;
mod go;
mod running;
