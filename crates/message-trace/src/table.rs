//! Tables on disk: Parquet as the stages keep them ([`write()`], [`read`]), CSV and JSON as people
//! take them away ([`export`]).
//!
//! A table is a sequence of Arrow record batches under one schema, so that a stage never needs to
//! hold more than a batch, and any reader of Parquet takes the files as they are: signed integers,
//! plain Int64 nanoseconds, zstd.

pub mod columns;
mod ends_reader;
pub mod export;
mod message_columns;
mod message_reader;
mod messages;
mod nodes;
mod operation_index;
pub mod operations;
mod reader;
mod row_groups;
mod writer;

pub use crate::tuning::{BATCH_ROWS, GROUP_ROWS};
pub use ends_reader::EndsReader;
pub use message_columns::{GroupEncoder, GroupWriter, Texts};
pub use message_reader::MessageReader;
pub use messages::MessageWriter;
pub use operation_index::OperationIndex;
pub use reader::{Batches, RowGroups, read, read_columns, rows};
pub use row_groups::{RowGroup, RowGroupBuilder, RowGroupEncoder, RowGroupWriter, Stored};
pub use writer::{Writer, write};
