//! Records of resources: uses of files, and hand-offs between threads. They are no reason to begin
//! a log, so a process that uses no socket has none of them.

use socket_log::encode::{self, FileUse, Signal, Wake};

use super::writer::existing;

/// Logs the use of a file that ended at `end` ticks.
pub(crate) fn used(end: u64, file: &FileUse) {
    if let Some(writer) = existing() {
        writer.record(&encode::file_use(end, file), end);
    }
}

/// Logs a sign that was given by a call at `begin` ticks.
pub(crate) fn signalled(begin: u64, signal: &Signal) {
    if let Some(writer) = existing() {
        writer.record(&encode::signal(begin, signal), begin);
    }
}

/// Logs the end of a wait, at `end` ticks.
pub(crate) fn woken(end: u64, wake: &Wake) {
    if let Some(writer) = existing() {
        writer.record(&encode::wake(end, wake), end);
    }
}
