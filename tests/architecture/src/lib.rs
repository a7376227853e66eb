#![doc = include_str!("../README.md")]

mod dependencies;
mod cycles;
mod paths;
mod reading;
mod source;
pub mod workspace;

pub use dependencies::Dependency;
pub use source::{Crate, Error, Module};
