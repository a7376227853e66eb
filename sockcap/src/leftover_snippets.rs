//! Snippets of messages that a recording has left in its logs, because the recorder was killed or
//! its processes still run.

use collector::writers;
use message_trace::DataDir;
use socket_log::{LogRecord, SocketLog};

use crate::error::CommandError;
use crate::output::{count_noun, tell};
use crate::words::same_directory;

/// Prints in a line how many logs still have snippets, and how to remove them.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn warn_of_snippets(data: &DataDir) -> Result<(), CommandError> {
    let (mut left, mut running) = (0, 0);
    for path in data.log_paths()? {
        let Ok(log) = SocketLog::open(&path) else { continue };
        if !log.header().heads || !has_snippets(&log) {
            continue;
        }
        // An open log would count as having a writer.
        drop(log);
        match path.open().ok().and_then(|file| writers::has_no_writer(&file)) {
            Some(true) => left += 1,
            _ => running += 1,
        }
    }
    let logs = |count| count_noun(count, "log", "logs");
    let (where_they_are, when) = match (left, running) {
        (0, 0) => return Ok(()),
        (left, 0) => (logs(left), "remove them"),
        (0, running) => {
            (format!("{} of processes that may still run", logs(running)), "later, remove them")
        }
        (left, running) => (
            format!("{}, and in {running} of processes that may still run", logs(left)),
            "remove them, now and later",
        ),
    };
    tell!(
        "sockcap: warning: snippets of messages are left in {where_they_are}; {when}: sockcap names{}",
        same_directory(data)
    );
    Ok(())
}

/// Whether the first snippet of a log is not blanked. All of them are blanked together.
fn has_snippets(log: &SocketLog) -> bool {
    for chunk in log.chunks() {
        let mut first = None;
        chunk.for_each(|entry| {
            if let LogRecord::Head(head) = entry.record {
                first.get_or_insert(head.bytes.iter().any(|byte| *byte != 0));
            }
        });
        if let Some(is_left) = first {
            return is_left;
        }
    }
    false
}
