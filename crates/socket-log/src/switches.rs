//! Switches: when each thread of a recorded command had a processor, as the kernel tells it to
//! `sockcap record --resources`. A file beside the logs of its host, `PID-TIME.switches`, with the
//! header of a log and then records of one size (`docs/log-format.md`).

mod about;
mod read;
mod record;
mod write;

#[cfg(test)]
mod damaged_files;

pub use about::About;
pub use read::{Found, SwitchLog};
pub use record::{RECORD_BYTES, Switch, SwitchEvent};
pub use write::SwitchWriter;

/// Ending of the name of such a file, behind the last dot.
pub const EXTENSION: &str = "switches";
