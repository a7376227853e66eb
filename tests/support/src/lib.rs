//! What tests of several crates share: patterns made by hand, and the comparison of an output with
//! its golden file.

// Whatever fails here is a failed test.
#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

pub mod golden;
pub mod patterns;
