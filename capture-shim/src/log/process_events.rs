//! Records of what befalls the process, and its progress in the header.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::{self, ProcessEvent};

use crate::log;
use crate::platform::clock;

/// Logs what befalls the process.
pub(crate) fn event(event: ProcessEvent, value: c_int) {
    if let Some(writer) = log::existing() {
        let now = clock::now();
        writer.record(&encode::process(now, event, value), now);
    }
}

/// Says in the header how far the process has come.
pub(crate) fn set_progress(value: u32) {
    if let Some(header) = log::existing().and_then(log::Writer::header) {
        header.state.store(value, Relaxed);
    }
}
