//! Records dealt into partitions: by many workers ([`PartitionWriter`]), kept in memory while a
//! [`MemoryBudget`](crate::MemoryBudget) lasts and in a temporary file beyond it
//! ([`PartitionStore`]).

mod store;
mod writer;

pub use store::{PartitionStore, PlainRecord, join_blocks};
pub use writer::PartitionWriter;
