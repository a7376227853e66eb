//! Operations of the logs that are sent: worked out here, on the host, from the heads that a
//! recording with protocols keeps. What is sent are the operations; heads are blank when they leave
//! the host, in whatever state the file beside their log is.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use protocols::operations::{replace_snippets, update_operations};
use socket_log::SocketLog;

use super::files::{self, FileStamp};
use crate::tuning::{MIN_NAMING_PAUSE, NAMING_PAUSE};
use crate::writers;
use message_trace::DataPath;

/// What was done for each log.
#[derive(Debug, Default)]
pub(super) struct OperationsUpdater {
    logs: HashMap<String, UpdatedLog>,
}

#[derive(Debug)]
struct UpdatedLog {
    /// Stamp of the log when it was read; `None` where somebody could still write to it, as what is
    /// written to mapped memory shows in no stamp.
    stamp: Option<FileStamp>,
    /// When it may be read again.
    again: Instant,
}

impl OperationsUpdater {
    /// Brings the operations beside the logs called `names` up to date, where they have heads. What
    /// fails is tried again when the log has changed: without operations a log is as good as one
    /// that was recorded without heads.
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
            // Asked behind it: the heads of a log that has ended were made blank.
            let stamp = files::file_stamp(&path).filter(|_| has_ended);
            let again = now + update_pause(now.elapsed());
            self.logs.insert(name.clone(), UpdatedLog { stamp, again });
        }
    }
}

/// Pause behind a reading that took so long.
fn update_pause(took: Duration) -> Duration {
    (took * NAMING_PAUSE).max(MIN_NAMING_PAUSE)
}

/// Names the heads of one log. Whether nobody can write to the log any more.
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
