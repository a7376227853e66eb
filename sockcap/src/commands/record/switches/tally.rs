//! What became of a recording of switches.

use std::io;

use socket_log::switches::{Switch, SwitchEvent};

/// What became of the recording.
#[derive(Debug, Default)]
pub(in super::super) struct Tally {
    /// Number of records.
    pub(in super::super) records: u64,
    /// Number of records that the kernel or the disk had no room for.
    pub(in super::super) lost: u64,
    /// Why something could not be written.
    pub(in super::super) failed: Option<io::Error>,
}

impl Tally {
    /// Counts a record.
    pub(super) fn count(&mut self, switch: &Switch) {
        match switch.event {
            SwitchEvent::Lost { records } => self.lost += u64::from(records),
            _ => self.records += 1,
        }
    }
}
