//! Results that the library computes from bytes alone, tested without the library: its own `read`
//! and `write` would be those of the test program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod heads;
mod java;
mod named_only;
#[cfg(target_arch = "x86_64")]
mod platform;
mod rare_words;
mod ruby;
mod tokio;
#[allow(dead_code, reason = "figures of the whole library")]
#[path = "../../src/tuning.rs"]
mod tuning;
