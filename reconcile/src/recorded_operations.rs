//! Recorded operations of messages, from the logs of a recording with `--protocols`.
//!
//! `operations_reader` reads them from the operation files next to the logs, or from the snippets
//! in the logs themselves. `operation_table` holds the operations of all logs, and `log_operations`
//! finds those that begin in a call of one log. `interleaved` and `coalesced_writes` find the
//! connections on which several causes send requests without ids, `uneven` those with incomplete
//! operations.

mod coalesced_writes;
mod interleaved;
mod log_operations;
mod operation;
mod operation_table;
mod operations_reader;
mod uneven;

pub(crate) use log_operations::LogOperations;
pub(crate) use operation::RecordedOperation;
pub(crate) use operation_table::RecordedOperations;
pub(crate) use operations_reader::read_operations;
