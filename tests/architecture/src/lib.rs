#![doc = include_str!("../README.md")]

mod cycles;
mod dependencies;
mod paths;
mod reading;
mod source;
pub mod workspace;

pub use dependencies::ModuleDependency;
pub use source::{CrateSources, SourceError, SourceModule};
