#![doc = include_str!("patching/README.md")]

#[cfg(test)]
mod cases;
mod error;
mod fuzz;
#[cfg(test)]
mod fuzz_tests;
mod goroutines;
mod image;
mod kept;
mod kind;
mod numbers;
mod plan;
#[cfg(test)]
mod plan_tests;
mod ready;
mod runtimes;
mod sites;
mod stubs;
mod tuning;
mod unsuited;
mod windows;

pub use error::Error;
pub use fuzz::{fuzz, fuzz_kept};
pub use goroutines::GoroutineFields;
pub use image::{Head, Image, Load};
pub use kind::{Kind, Reason};
pub use numbers::{Numbers, is_wanted};
pub use plan::{Runtime, Site, Survey, survey};
pub use runtimes::{unsuited_by_library, unsuited_by_texts};
pub use stubs::{Entries, Patch, Patches, assemble};
pub use unsuited::Unsuited;
pub use windows::Window;
