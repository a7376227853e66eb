//! Injections into real programs.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod announced;
mod attached;
mod attachers;
mod attaching;
mod helper;
mod killed;
mod libraries;
mod made;
mod own_child;
mod patched;
mod patching;
mod refused;
