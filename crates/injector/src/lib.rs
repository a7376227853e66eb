#![doc = include_str!("../README.md")]

mod blob;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod handed;
mod library;
mod outcome;
mod patcher;
mod regular;
mod surveys;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod announced;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod attach;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod changes;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod facts;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod foothold;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod fuzz;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod inject;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod maps;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod memory;
pub mod patching;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ptrace;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod remote;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod rights;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod seized;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod spawn;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod threads;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;
// Elsewhere nothing can be traced, and only figures of kept surveys are used.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "what traces is compiled for x86-64 alone")
)]
mod tuning;

pub use blob::{
    Argument, Assemble, Blob, Ending, Injection, Patch, Patches, Placed, Prepare, Reason, Target,
    Waiting,
};
pub use library::Library;
pub use outcome::{Error, Injected, Left, Outcome, Right};
pub use patcher::Patcher;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use announced::{
    client::{Announced, announce},
    server::{Report, Reporter, Server},
};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use attach::{Attached, attach};
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{
    Announced, Attached, Report, Reporter, Server, Spawned, announce, attach, spawn, wait,
};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use spawn::{Spawned, spawn, wait};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use tuning::ANSWER;
