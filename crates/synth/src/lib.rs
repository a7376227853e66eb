#![doc = include_str!("../README.md")]

mod delay;
mod error;
pub mod ground_truth;
pub mod maketrace;
pub mod operations;
mod random;
pub mod score;
pub mod skewer;
pub mod sniffer;
pub mod storage;
pub mod synthetic_import;
mod tracer_truth;
mod tuning;

pub use error::Error;
