#![doc = include_str!("../README.md")]

mod arrows;
mod circles;
mod paths;
mod reading;
mod source;
pub mod workspace;

pub use arrows::Arrow;
pub use source::{Crate, Error, Module};
