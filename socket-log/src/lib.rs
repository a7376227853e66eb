//! The log that `libsockcap.so` writes and every tool reads: one file per process.
//!
//! This crate is the only place that knows how the file is laid out. Without its default feature it
//! is `no_std`, allocates nothing and holds what the writer needs: [`layout`] (header and chunks)
//! and [`encode`] (records). The feature `reader` adds decoding, recovery of damaged files and the
//! conversion of ticks into wall-clock time; the feature `write` adds the making of logs by tools
//! and tests. `docs/log-format.md` describes the same layout in prose.

#![cfg_attr(not(feature = "reader"), no_std)]

pub mod api;
mod duration;
pub mod encode;
pub mod layout;

#[cfg(feature = "reader")]
mod chunk;
#[cfg(feature = "reader")]
mod clock;
#[cfg(feature = "reader")]
mod damage;
#[cfg(feature = "reader")]
mod decode;
#[cfg(feature = "reader")]
pub mod fuzz;
#[cfg(feature = "reader")]
mod header;
#[cfg(feature = "reader")]
mod holes;
#[cfg(feature = "reader")]
mod log;
#[cfg(feature = "reader")]
mod peers;
#[cfg(feature = "reader")]
mod sockaddr;
#[cfg(any(feature = "write", all(test, feature = "reader")))]
pub mod write;

#[cfg(test)]
#[cfg(feature = "reader")]
mod damaged_logs;

#[cfg(feature = "reader")]
pub use chunk::Chunk;
#[cfg(feature = "reader")]
pub use clock::{Clock, Cursor, Setting};
#[cfg(feature = "reader")]
pub use damage::{Damage, Fault, OpenError};
#[cfg(feature = "reader")]
pub use decode::{Entry, Record};
#[cfg(feature = "reader")]
pub use header::{Ancestor, Header};
#[cfg(feature = "reader")]
pub use log::{Chunks, Log, on_disk};
#[cfg(feature = "reader")]
pub use sockaddr::SocketName;

/// Keeps its items only where this crate is built without the standard library.
///
/// The preloaded library brings its own panic handler, but Cargo builds this crate once for all
/// that are built together, and beside a tool that reads logs the standard library brings the
/// handler. It does so, too, where panics unwind, as in the development profile.
#[cfg(all(not(feature = "reader"), panic = "abort"))]
#[macro_export]
macro_rules! without_std {
    ($($item:item)*) => { $($item)* };
}

/// Keeps its items only where this crate is built without the standard library.
#[cfg(any(feature = "reader", panic = "unwind"))]
#[macro_export]
macro_rules! without_std {
    ($($item:item)*) => {};
}
