//! Reading of logs: complete records are returned, and damage is reported.

mod blank_snippets;
mod bytes;
mod chunk;
mod chunks;
mod clock;
mod damage;
mod decode;
mod header;
mod log;
mod peers;
mod record;
mod socket_name;
mod sparse_file;

#[cfg(test)]
mod damaged_logs;

pub use blank_snippets::blank_snippets;
pub use bytes::disk_usage;
pub(crate) use bytes::{LogBytes, read_at};
pub use chunk::LogChunk;
pub use chunks::LogChunks;
pub use clock::{ClockCursor, LogClock, WallClockStep};
pub use damage::{DamageKind, LogDamage, OpenError};
pub use header::{Ancestor, LogHeader};
pub use log::SocketLog;
pub(crate) use log::read_header;
pub use record::{LogEntry, LogRecord, Snippet};
pub use socket_name::SocketName;
