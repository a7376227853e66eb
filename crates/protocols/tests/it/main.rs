//! Operations of handwritten logs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod in_place;
mod of_logs;
mod synthetic_logs;
