//! The outcome of a recording of switches.

use std::io;

use socket_log::switches::{SwitchEvent, ThreadSwitch};

/// The outcome of the recording.
#[derive(Debug, Default)]
pub(in super::super) struct SwitchTally {
    /// Number of records that were written.
    pub(in super::super) records: u64,
    /// Number of records that did not fit into the kernel's queue or on the disk.
    pub(in super::super) lost: u64,
    /// The error by which writing failed.
    pub(in super::super) failed: Option<io::Error>,
}

impl SwitchTally {
    /// Counts a record of the kernel.
    pub(super) fn count_switch(&mut self, switch: &ThreadSwitch) {
        match switch.event {
            SwitchEvent::Lost { records } => self.lost += u64::from(records),
            _ => self.records += 1,
        }
    }
}
