#![doc = include_str!("../README.md")]

mod budget;
mod external_sort;
mod hash_index;
mod ids;
mod interner;
mod mapped_file;
mod memory_pool;
mod names;
mod partitions;
mod path_error;
mod spillable_vec;
mod tuning;
mod value_interner;
pub mod workers;

pub use budget::MemoryBudget;
pub use data_files::DataPath;
pub use external_sort::{ExternalSorter, KeyedRecord, MergedRuns, ReadFailure, SortedRuns};
pub use hash_index::{FreeSlot, HashIndex};
pub use interner::{Interner, Locality};
pub use memory_pool::MemoryPool;
pub use names::{NameId, NameInterner};
pub use partitions::{PartitionStore, PartitionWriter, PlainRecord, join_blocks};
pub use path_error::PathError;
pub use spillable_vec::SpillableVec;
pub use value_interner::ValueInterner;
