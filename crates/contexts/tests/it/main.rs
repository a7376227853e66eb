//! Integration tests of profiling: from tables of requests to results.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod drawing;
mod explaining;
mod instrumenting;
mod modelling;
mod profiling;
mod support;
mod truth;
