//! Reading of logs: whole records are returned, and damage is reported.

mod blank;
mod bytes;
mod chunk;
mod chunks;
mod clock;
mod damage;
mod decode;
mod header;
mod holes;
mod log;
mod peers;
mod record;
mod socket_name;

#[cfg(test)]
mod damaged_logs;

pub use blank::blank_heads;
pub use bytes::on_disk;
pub(crate) use bytes::{Bytes, read_at};
pub use chunk::Chunk;
pub use chunks::Chunks;
pub use clock::{Clock, Cursor, Setting};
pub use damage::{Damage, Fault, OpenError};
pub use header::{Ancestor, Header};
pub use log::Log;
pub(crate) use log::header_at;
pub use record::{Entry, Head, Record};
pub use socket_name::SocketName;
