//! Switches: when each thread of a recorded command had a processor, as reported by the kernel to
//! `sockcap record --resources`. A file next to the logs of its host, `PID-TIME.switches`, with the
//! header of a log and then records of one size (`docs/log-format.md`).

mod file_header;
mod read;
mod record;
mod write;

#[cfg(test)]
mod damaged_files;

pub use file_header::SwitchFileHeader;
pub use read::{SwitchEntry, SwitchLog};
pub use record::{RECORD_BYTES, SwitchEvent, ThreadSwitch};
pub use write::SwitchWriter;

/// Extension of the name of a file of switches, after the last dot.
pub const EXTENSION: &str = "switches";
