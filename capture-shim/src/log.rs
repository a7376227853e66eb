//! Layer 5, the log: its file, space in it, and the writing of records without locks and without
//! allocation.

mod causes;
pub(crate) mod children_without_log;
mod chunks;
mod commit;
pub(crate) mod confinement;
pub(crate) mod directory;
mod goroutines;
pub(crate) mod guard;
pub(crate) mod keep;
pub(crate) mod log_end;
pub(crate) mod log_reserve;
mod new_file;
mod pages;
pub(crate) mod partial_chunks;
mod positioned;
pub(crate) mod positions;
mod preallocated_logs;
pub(crate) mod process_events;
pub(crate) mod program_facts;
mod records;
pub(crate) mod recycle;
mod reservation;
pub(crate) mod resources;
pub(crate) mod segment;
mod snippet_records;
pub(crate) mod start;
mod writer;

pub(crate) use goroutines::record_ready;
pub(crate) use positioned::StreamTransfer;
pub(crate) use snippet_records::OpenSnippet;
#[cfg(not(feature = "injected"))]
pub(crate) use writer::attached_thread;
pub(crate) use writer::{
    LogStanding, RecordWriter, begin_vfork, current_writer, existing_writer, log_standing,
    state_for_table,
};
