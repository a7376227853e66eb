//! Names in place of heads, over all logs of a directory.

use std::fs::{self, File};

use collector::writers;
use message_trace::DataDir;
use operations::{Replaced, replace};

use crate::error::Error;
use crate::output::{counted, tell};
use crate::words::same_directory;

/// What was done in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// Number of logs whose heads were made blank.
    pub(crate) logs: u64,
    /// Number of operations that are beside them now.
    pub(crate) operations: u64,
    /// Number of logs that somebody may still write to.
    pub(crate) running: u64,
}

/// Puts names in place of the heads in all logs of `data`.
///
/// # Errors
/// When a log cannot be read, or a file not be written. Logs before it are done.
pub(crate) fn name_all(data: &DataDir) -> Result<Named, Error> {
    let mut named = Named::default();
    for path in data.logs()? {
        // Nothing is followed that others may have put here.
        if !fs::symlink_metadata(&path).is_ok_and(|status| status.is_file()) {
            continue;
        }
        let is_written = || {
            let file = File::open(&path).ok();
            file.is_none_or(|file| writers::none(&file) != Some(true))
        };
        match replace(&path, |_| is_written())? {
            Replaced::Nothing => {}
            Replaced::Operations(count) => {
                named.logs += 1;
                named.operations += count as u64;
            }
            Replaced::Running => named.running += 1,
        }
    }
    Ok(named)
}

/// Puts names in place of the heads that a command's processes left, where these have ended, and
/// tells where heads stay.
pub(crate) fn name_what_ended(data: &DataDir) {
    let stay = match name_all(data) {
        Ok(Named { running: 0, .. }) => return,
        Ok(named) => format!(
            "heads of messages stay in {}, whose processes still run",
            counted(named.running, "log", "logs")
        ),
        Err(error) => format!("heads of messages could not all be named: {error}"),
    };
    tell!("sockcap: warning: {stay}; later: sockcap names{}", same_directory(data));
}

/// What was done, in a line.
pub(crate) fn said(named: &Named) -> String {
    if named.logs == 0 {
        return "no log has heads to be named".to_owned();
    }
    format!(
        "{} of {} named, and their heads made blank",
        counted(named.operations, "operation", "operations"),
        counted(named.logs, "log", "logs"),
    )
}
