//! Operations of the logs that are sent: derived here, on the host, from the snippets that a
//! recording with protocols keeps. Only the operations are sent; snippets are blanked when they
//! leave the host, in whatever state the file next to their log is.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use protocols::operations::{replace_snippets, update_operations};
use socket_log::SocketLog;

use super::files::{self, FileStamp};
use crate::tuning::{MIN_OPERATIONS_PAUSE, OPERATIONS_PAUSE};
use crate::writers;
use message_trace::DataPath;

/// State of the operations of each log.
#[derive(Debug, Default)]
pub(super) struct OperationsUpdater {
    logs: HashMap<String, UpdatedLog>,
}

#[derive(Debug)]
struct UpdatedLog {
    /// Metadata of the log when it was read; `None` if the log could still be written to, as stores
    /// to mapped memory do not change the metadata.
    stamp: Option<FileStamp>,
    /// Earliest time at which the log is read again.
    again: Instant,
}

impl OperationsUpdater {
    /// Updates the operation files next to the logs called `names` that have snippets. A failed
    /// update is repeated when the log has changed: a log without operations is as good as one
    /// recorded without snippets.
    pub(super) fn update_operations(&mut self, directory: &DataPath, names: &[String]) {
        for name in names.iter().filter(|name| !name.ends_with(protocols::operations::EXTENSION)) {
            let path = directory.join(name);
            let now = Instant::now();
            let is_known = |done: &UpdatedLog| match done.stamp {
                Some(stamp) => files::file_stamp(&path) == Some(stamp),
                None => now < done.again,
            };
            if self.logs.get(name).is_some_and(is_known) {
                continue;
            }
            let has_ended = update_log(&path);
            // The stamp is taken after the update, which blanks the snippets of an ended log.
            let stamp = files::file_stamp(&path).filter(|_| has_ended);
            let again = now + update_pause(now.elapsed());
            self.logs.insert(name.clone(), UpdatedLog { stamp, again });
        }
    }
}

/// Pause after an update that took this time.
fn update_pause(took: Duration) -> Duration {
    (took * OPERATIONS_PAUSE).max(MIN_OPERATIONS_PAUSE)
}

/// Updates the operation file of one log. Returns whether no process can write to the log any more.
fn update_log(path: &DataPath) -> bool {
    let has_ended = path.open().is_ok_and(|file| writers::has_no_writer(&file) == Some(true));
    if SocketLog::open(path).is_ok_and(|log| log.header().heads) {
        let _ = if has_ended {
            replace_snippets(path, |_| false).map(drop)
        } else {
            update_operations(path)
        };
    }
    has_ended
}
