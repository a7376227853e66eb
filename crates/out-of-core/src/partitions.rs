//! Records split into partitions: by many workers ([`PartitionWriter`]), kept in memory within a
//! [`MemoryBudget`](crate::MemoryBudget) and spilled to a temporary file beyond it
//! ([`PartitionStore`]).

mod store;
mod writer;

pub use store::{PartitionStore, PlainRecord, join_blocks};
pub use writer::PartitionWriter;
