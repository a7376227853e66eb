//! Operations: what messages say they do, as the logs of a recording with `--protocols` tell.
//!
//! `read` takes them from the files beside the logs, or from the heads in the logs themselves.
//! `table` keeps those of all logs, and `of_log` says which begin in a call of one log.
//! `interleaved` and `written_together` find the connections on which many causes ask without ids,
//! `uneven` those on which not all is told.

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
