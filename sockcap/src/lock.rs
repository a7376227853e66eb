//! Lock of data directories: of two commands that work on one, the second waits for the first.
//! Otherwise the results of a stage could be read half old and half new, or be missing.
//!
//! Recording and shipping take no lock: each process has files of its own.

use std::io;

use data_files::{DirectoryLock, try_lock};
use message_trace::DataDir;
use rustix::io::Errno;

use crate::error::CommandError;
use crate::output::tell;

/// Locks that a command holds until it ends.
#[derive(Debug)]
pub(crate) struct DirectoryLocks {
    _held: Vec<DirectoryLock>,
}

/// Takes the locks of the directories that a command works on, and removes what a killed command
/// left half-written there. A directory that does not exist yet or is not writable has no lock: no
/// command changes its contents.
///
/// # Errors
/// When there is something other than a regular file in a lock's place, or the wait fails.
pub(crate) fn lock_directories(directories: &[&DataDir]) -> Result<DirectoryLocks, CommandError> {
    let mut directories: Vec<_> = directories
        .iter()
        .filter_map(|data| Some((data.path().canonicalize().ok()?, *data)))
        .collect();
    // In the same order for all commands, so that no two wait for each other.
    directories.sort_by(|(one, _), (other, _)| one.cmp(other));
    directories.dedup_by(|(one, _), (other, _)| one == other);
    let locks = directories.into_iter().filter_map(|(_, data)| lock_directory(data).transpose());
    Ok(DirectoryLocks { _held: locks.collect::<Result<_, _>>()? })
}

/// Locks a directory as [`lock_directories`] does, and makes it if it is missing.
///
/// # Errors
/// As for [`lock_directories`], and when the directory cannot be made.
pub(crate) fn make_and_lock(data: &DataDir) -> Result<DirectoryLocks, CommandError> {
    data.root_path()
        .create_dir_all()
        .map_err(|source| CommandError::file_error(data.path(), source))?;
    lock_directories(&[data])
}

/// Locks one directory; `None` if it cannot have a lock.
fn lock_directory(data: &DataDir) -> Result<Option<DirectoryLock>, CommandError> {
    let failed = |source| CommandError::file_error(&data.path().join(".lock"), source);
    let lock = match try_lock(data.root_path()) {
        Ok(Ok(lock)) => lock,
        Ok(Err(holder)) => {
            let holder = holder.map_or_else(String::new, |process| format!(" (process {process})"));
            let directory = data.path().display();
            tell!("sockcap: waiting for another sockcap{holder} that works on {directory}");
            DirectoryLock::wait_for(data.root_path()).map_err(failed)?
        }
        Err(error) if is_refused(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let hosts = data.hosts_dir().entries().unwrap_or_default().into_iter().map(|host| host.path);
    let own = [data.root_path().clone(), data.events_dir(), data.spans_dir().root_path().clone()];
    for directory in own.into_iter().chain(hosts) {
        directory.remove_unfinished(None);
    }
    Ok(Some(lock))
}

/// Whether an error means that a directory cannot have a lock, not that the lock is broken.
fn is_refused(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::NotFound,
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::Unsupported,
    ];
    // Network file systems may not support locks.
    kinds.contains(&error.kind()) || error.raw_os_error() == Some(Errno::NOLCK.raw_os_error())
}
