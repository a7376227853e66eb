//! Files below a data directory in which another user has put links, FIFOs and other things.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod links;
mod locks;
mod races;
