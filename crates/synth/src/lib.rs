#![doc = include_str!("../README.md")]

mod delay;
mod error;
pub mod made_import;
pub mod maketrace;
pub mod operations;
mod random;
pub mod score;
pub mod skewer;
pub mod sniffer;
pub mod storage;
mod tracer_truth;
pub mod truth;
mod tuning;

pub use error::Error;
