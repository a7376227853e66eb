//! Operations with their messages: operation starts from the logs, and the messages that begin
//! there, joined and written to `operations.parquet`.

mod join;
mod write;

pub(crate) use join::{JoinedOperation, join_operations};
pub(crate) use write::write_table;
