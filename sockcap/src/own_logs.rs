//! Logs that a command with rights works on. Every recorded process makes its own log, so any user
//! may put files among them. A command of the superuser therefore uses only logs that it has reason
//! to: logs of its own user, and logs that its user's recordings made, which it recognises by the
//! id in their headers. `--all-users` includes all logs.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use message_trace::{DataDir, PathError};
use rustix::process::geteuid;
use socket_log::{RecordingId, SocketLog};

use crate::output::{count_noun, tell};

/// Name of the file with the ids of the superuser's recordings, one per line.
const RECORDINGS: &str = ".recordings";

/// The logs that a command works on.
#[derive(Debug)]
pub(crate) struct OwnLogs {
    /// User that the logs belong to; `None` for all users.
    user: Option<u32>,
    recordings: BTreeSet<String>,
}

impl OwnLogs {
    /// Logs that a command on `data` works on by default, or all if the user asks for them.
    pub(crate) fn of_user(data: &DataDir, all_users: bool) -> OwnLogs {
        let is_limited = geteuid().is_root() && !all_users;
        let user = is_limited.then(|| geteuid().as_raw());
        let recordings = user.map(|user| noted_recordings(data, user)).unwrap_or_default();
        OwnLogs { user, recordings }
    }

    /// Logs of one recording, which has just ended.
    pub(crate) fn for_recording(recording: RecordingId) -> OwnLogs {
        let user = geteuid().is_root().then(|| geteuid().as_raw());
        OwnLogs { user, recordings: BTreeSet::from([recording.to_string()]) }
    }

    /// Whether an open log is among these logs.
    pub(crate) fn contains_log(&self, log: &SocketLog) -> bool {
        let recording = || log.header().recording.map(|id| id.to_string());
        let is_recorded = || recording().is_some_and(|id| self.recordings.contains(&id));
        self.user.is_none_or(|user| log.owner_id() == Some(user) || is_recorded())
    }
}

/// Notes that a recording of the superuser begins, so that later commands recognise its logs.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn note_recording(data: &DataDir, recording: RecordingId) -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let mut file = data.root_path().join(RECORDINGS).open_to_append(0o600)?;
    // A file of another user, made beforehand, contains no recordings of ours.
    match file.metadata()?.uid() == geteuid().as_raw() {
        true => writeln!(file, "{recording}"),
        false => Err(io::Error::other("the file belongs to another user; remove it")),
    }
}

/// The ids in the file of `user`; empty if another user could have written it.
fn noted_recordings(data: &DataDir, user: u32) -> BTreeSet<String> {
    let read = || -> io::Result<String> {
        let file = data.root_path().join(RECORDINGS).open()?;
        let about = file.metadata()?;
        let is_own = about.uid() == user && about.mode() & 0o022 == 0;
        io::read_to_string(if is_own { Some(file) } else { None }.ok_or(io::ErrorKind::NotFound)?)
    };
    read().unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Reports the files below the directory of the hosts that no command reads, as no recording made
/// them.
///
/// # Errors
/// When the directory of the hosts cannot be read.
pub(crate) fn print_skipped(data: &DataDir) -> Result<(), PathError> {
    let left_out = data.skipped_files()?;
    if let Some(first) = left_out.first() {
        let more = match left_out.len() as u64 - 1 {
            0 => String::new(),
            more => format!("; so {} more", count_noun(more, "entry is", "entries are")),
        };
        tell!("sockcap: warning: not read: {} ({}){more}", first.path, first.why);
    }
    Ok(())
}

/// Reports how many logs of other users a command of the superuser left alone.
pub(crate) fn print_foreign(count: u64, again: &str) {
    if count > 0 {
        let logs = count_noun(count, "log", "logs");
        tell!(
            "sockcap: {logs} of other users left alone, as no recording of root made them; to \
             include them:{again} --all-users"
        );
    }
}
