//! Integration tests of comparison: from tables of requests to what changed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod blaming;
mod categories;
mod explaining;
mod mirroring;
mod mutating;
mod support;
