//! Operations: what messages say they do, as the logs of a recording with `--protocols` tell.
//!
//! `read` takes them from the files beside the logs, or from the heads in the logs themselves.
//! `table` keeps those of all logs, and `of_log` says which begin in a call of one log.
//! `interleaved` and `written_together` find the connections on which many causes ask without ids,
//! `uneven` those on which not all is told.

mod interleaved;
mod of_log;
mod operation;
mod read;
mod table;
mod uneven;
mod written_together;

pub(crate) use of_log::ToldOfLog;
pub(crate) use operation::Operation;
pub(crate) use read::read;
pub(crate) use table::Told;
