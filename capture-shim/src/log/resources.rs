//! Records of resources: uses of files, and hand-offs between threads. No log is begun for them, so
//! a process that uses no socket has no such records.

use socket_log::encode::{self, FileUse, SignalRecord, WakeRecord};

use super::writer::existing_writer;

/// Logs the use of a file that ended at `end` ticks.
pub(crate) fn log_file_use(end: u64, file: &FileUse) {
    if let Some(writer) = existing_writer() {
        writer.record(&encode::file_use_record(end, file), end);
    }
}

/// Logs a signal that was given by a call at `begin` ticks.
pub(crate) fn log_signal(begin: u64, signal: &SignalRecord) {
    if let Some(writer) = existing_writer() {
        writer.record(&encode::signal_record(begin, signal), begin);
    }
}

/// Logs the end of a wait, at `end` ticks.
pub(crate) fn log_wake(end: u64, wake: &WakeRecord) {
    if let Some(writer) = existing_writer() {
        writer.record(&encode::wake_record(end, wake), end);
    }
}
