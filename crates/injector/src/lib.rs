#![doc = include_str!("../README.md")]

mod blob;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod handed;
mod library;
mod outcome;
mod patcher;
mod plan_cache;
mod regular;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod attach;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod changes;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod code_cave;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod exec_announcement;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod facts;
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
mod spawn;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod threads;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod traced_thread;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod unsupported;
// On other platforms nothing can be traced, and only figures of kept plans are used.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "what traces is compiled for x86-64 alone")
)]
mod tuning;

pub use blob::{
    AssemblePatches, Blob, DetachInfo, EntryArgument, HookOffsets, Injection, InjectionPatches,
    InjectionTarget, PlacedAddresses, Prepare, PrepareError, TextPatch,
};
pub use library::BlobLibrary;
pub use outcome::{Error, FilePrivilege, InjectedProgram, InjectionOutcome, SkipReason};
pub use patcher::LibraryPatcher;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use attach::{AttachedProcess, attach_process};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use exec_announcement::{
    client::{AnnouncedExec, announce_exec},
    server::{AnnouncementServer, ExecReport, ExecReporter},
};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use spawn::{SpawnedChild, spawn_traced, wait_child};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use tuning::ANSWER;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use unsupported::{
    AnnouncedExec, AnnouncementServer, AttachedProcess, ExecReport, ExecReporter, SpawnedChild,
    announce_exec, attach_process, spawn_traced, wait_child,
};
