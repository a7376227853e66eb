#![doc = include_str!("../README.md")]
// A failure here is a failed test.
#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

pub mod code;
pub mod golden;
pub mod patterns;
