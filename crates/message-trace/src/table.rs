//! Tables on disk: Parquet for the stages ([`write_batches()`], [`read_batches`]), CSV and JSON for
//! export ([`export`]).
//!
//! A table is a sequence of Arrow record batches under one schema, so that a stage never needs more
//! than a batch in memory, and any reader of Parquet can read the files: signed integers, plain
//! Int64 nanoseconds, zstd.

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
pub mod words;
mod writer;

pub use crate::tuning::{BATCH_ROWS, GROUP_ROWS};
pub use ends_reader::EndsReader;
pub use message_columns::{GroupEncoder, GroupWriter, MessageTexts};
pub use message_reader::MessageReader;
pub use messages::MessageWriter;
pub use operation_index::OperationIndex;
pub use reader::{RowGroups, TableBatches, count_rows, read_batches, read_columns};
pub use row_groups::{ColumnEncoding, RowGroup, RowGroupBuilder, RowGroupEncoder, RowGroupWriter};
pub use writer::{BatchWriter, write_batches};
