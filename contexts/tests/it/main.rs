//! Integration tests of profiling: from tables of requests to results.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod drawing;
mod explaining;
mod instrumenting;
mod modelling;
mod profiling;
mod support;
mod truth;
