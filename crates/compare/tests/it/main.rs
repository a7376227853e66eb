//! Integration tests of comparison: from tables of requests to what changed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, too")]

mod blaming;
mod categories;
mod explaining;
mod mirroring;
mod mutating;
mod support;
