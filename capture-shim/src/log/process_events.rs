//! Events of the process: their records, and the process's progress in the header.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::{self, ProcessEvent};

use crate::log;
use crate::platform::clock;

/// Logs an event of the process. The meaning of `value` depends on the event.
pub(crate) fn log_event(event: ProcessEvent, value: c_int) {
    if let Some(writer) = log::existing_writer() {
        let now = clock::current_ticks();
        writer.record(&encode::process_record(now, event, value), now);
    }
}

/// Sets the process's progress in the log's header, one of [`socket_log::layout::state`].
pub(crate) fn set_progress(value: u32) {
    if let Some(header) = log::existing_writer().and_then(log::RecordWriter::header) {
        header.state.store(value, Relaxed);
    }
}
