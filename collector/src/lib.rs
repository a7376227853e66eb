#![doc = include_str!("../README.md")]

pub mod clock;
pub mod collect;
pub mod fuzz;
pub mod identity;
pub mod keys;
pub mod link;
pub mod metrics;
pub(crate) mod page;
pub mod ship;
pub mod tls;
mod tuning;
pub mod wire;
pub mod writers;
