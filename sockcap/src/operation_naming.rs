//! Naming: replaces the snippets of messages in all logs of a directory by names of operations.

use collector::writers;
use message_trace::DataDir;
use protocols::operations::{SnippetReplacement, replace_log_snippets};
use socket_log::SocketLog;

use crate::error::CommandError;
use crate::output::{count_noun, tell};
use crate::own_logs::OwnLogs;
use crate::words::same_directory;

/// The outcome of naming in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamingSummary {
    /// Number of logs with snippets that were blanked.
    pub(crate) logs: u64,
    /// Number of operations that are in files next to the logs now.
    pub(crate) operations: u64,
    /// Number of logs that may still be written.
    pub(crate) running: u64,
    /// Number of logs with snippets that were left alone, as they belong to other users.
    pub(crate) foreign: u64,
}

/// Puts names in place of the snippets in the logs of `data` that are `own`. Files that cannot be
/// read as a log, or are no longer one, are skipped: a user who may put files there must not keep
/// others from being named.
///
/// # Errors
/// When a file cannot be written. Logs before this file are done.
pub(crate) fn name_all_logs(data: &DataDir, own: &OwnLogs) -> Result<NamingSummary, CommandError> {
    let mut named = NamingSummary::default();
    let mut failed = None;
    for path in data.log_paths()? {
        let Ok(log) = SocketLog::open(&path) else { continue };
        if !log.header().heads {
            continue;
        }
        if !own.contains_log(&log) {
            named.foreign += 1;
            continue;
        }
        let is_written =
            || log.file().is_none_or(|file| writers::has_no_writer(file) != Some(true));
        match replace_log_snippets(&log, is_written) {
            Ok(SnippetReplacement::Nothing) => {}
            Ok(SnippetReplacement::Operations(count)) => {
                named.logs += 1;
                named.operations += count as u64;
            }
            Ok(SnippetReplacement::Running) => named.running += 1,
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(named), |error| Err(error.into()))
}

/// Puts names in place of the snippets that a command's processes left, if these have ended, and
/// reports where snippets stay.
pub(crate) fn name_ended_logs(data: &DataDir, own: &OwnLogs) {
    let stay = match name_all_logs(data, own) {
        Ok(NamingSummary { running: 0, .. }) => return,
        Ok(named) => format!(
            "snippets of messages stay in {}, as processes still run",
            count_noun(named.running, "log", "logs")
        ),
        Err(error) => format!("some snippets of messages could not be named: {error}"),
    };
    tell!("sockcap: warning: {stay}; later: sockcap names{}", same_directory(data));
}

/// The outcome, in a line.
pub(crate) fn summary_words(named: &NamingSummary) -> String {
    if named.logs == 0 {
        return "no log has snippets to name".to_owned();
    }
    format!(
        "{} of {} named, and their snippets blanked",
        count_noun(named.operations, "operation", "operations"),
        count_noun(named.logs, "log", "logs"),
    )
}
