//! The program `sockcap`: its output, its help, and the documentation that shows both.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bombs;
mod diff;
mod documentation;
mod escapes;
mod evidence;
mod help;
mod hostile;
mod import;
mod import_of_nothing;
mod manual;
mod pages;
mod pipes;
mod report;
mod spans;
