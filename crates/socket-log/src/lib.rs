#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "reader"), no_std)]

pub mod api;
mod duration;
pub mod encode;
pub mod host_name;
pub mod layout;
mod recording;

#[cfg(feature = "reader")]
pub mod fuzz;
#[cfg(feature = "reader")]
pub mod names;
#[cfg(feature = "reader")]
mod read;
#[cfg(feature = "reader")]
pub mod switches;
#[cfg(feature = "reader")]
mod tuning;
#[cfg(any(feature = "write", all(test, feature = "reader")))]
pub mod write;

pub use recording::{RECORDING_BYTES, RecordingId};

#[cfg(feature = "reader")]
pub use read::{
    Ancestor, ClockCursor, DamageKind, LogChunk, LogChunks, LogClock, LogDamage, LogEntry,
    LogHeader, LogRecord, OpenError, Snippet, SocketLog, SocketName, WallClockStep, blank_snippets,
    disk_usage,
};

/// Keeps its items only if this crate is built without the standard library.
///
/// The preloaded library has its own panic handler, but Cargo builds this crate once for all
/// packages that are built together, and next to a tool that reads logs the standard library
/// provides the handler. It does so, too, if panics unwind, as in the development profile.
#[cfg(all(not(feature = "reader"), panic = "abort"))]
#[macro_export]
macro_rules! without_std {
    ($($item:item)*) => { $($item)* };
}

/// Keeps its items only if this crate is built without the standard library.
#[cfg(any(feature = "reader", panic = "unwind"))]
#[macro_export]
macro_rules! without_std {
    ($($item:item)*) => {};
}
