#![doc = include_str!("patching/README.md")]

#[cfg(test)]
mod cases;
mod error;
mod fuzz;
#[cfg(test)]
mod fuzz_tests;
mod goready;
mod goroutines;
mod image;
mod incompatible;
mod kind;
mod numbers;
mod plan;
mod plan_bytes;
#[cfg(test)]
mod plan_tests;
mod runtimes;
mod sites;
mod stubs;
mod tuning;
mod windows;

pub use error::PatchError;
pub use fuzz::{fuzz, fuzz_kept};
pub use goroutines::GoroutineFields;
pub use image::{ElfHeader, ElfImage, LoadMethod};
pub use incompatible::IncompatibleProgram;
pub use kind::{PatchKind, UnpatchedReason};
pub use numbers::{SyscallNumber, is_wanted};
pub use plan::{PatchPlan, PatchSite, SiteRuntime, plan_patches};
pub use runtimes::{incompatible_by_library, incompatible_by_texts};
pub use stubs::{ImagePatch, ImagePatches, StubEntries, assemble_patches};
pub use windows::PatchWindow;
