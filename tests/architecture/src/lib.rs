#![doc = include_str!("../README.md")]

mod cycles;
mod dependencies;
mod paths;
mod reading;
mod source;
pub mod workspace;

pub use dependencies::Dependency;
pub use source::{Crate, Error, Module};
