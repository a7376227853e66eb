//! Names in place of heads, over all logs of a directory.

use collector::writers;
use message_trace::DataDir;
use protocols::operations::{Replaced, replace_heads};
use socket_log::Log;

use crate::error::Error;
use crate::output::{counted, tell};
use crate::own_logs::OwnLogs;
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
    /// Number of logs with heads that were left alone, as they are other users'.
    pub(crate) foreign: u64,
}

/// Puts names in place of the heads in the logs of `data` that are `own`. What cannot be read as a
/// log, or is none any more, is passed over: whoever may put files there must not keep others from
/// being named.
///
/// # Errors
/// When a file cannot be written. Logs before it are done.
pub(crate) fn name_all(data: &DataDir, own: &OwnLogs) -> Result<Named, Error> {
    let mut named = Named::default();
    let mut failed = None;
    for path in data.logs()? {
        let Ok(log) = Log::open(&path) else { continue };
        if !log.header().heads {
            continue;
        }
        if !own.contains(&log) {
            named.foreign += 1;
            continue;
        }
        let is_written = || log.file().is_none_or(|file| writers::none(file) != Some(true));
        match replace_heads(&log, is_written) {
            Ok(Replaced::Nothing) => {}
            Ok(Replaced::Operations(count)) => {
                named.logs += 1;
                named.operations += count as u64;
            }
            Ok(Replaced::Running) => named.running += 1,
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(named), |error| Err(error.into()))
}

/// Puts names in place of the heads that a command's processes left, where these have ended, and
/// tells where heads stay.
pub(crate) fn name_what_ended(data: &DataDir, own: &OwnLogs) {
    let stay = match name_all(data, own) {
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
