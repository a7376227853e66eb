//! Lock of a directory: one command at a time works on its contents.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, fchown};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::data_path::DataPath;

/// Name of the locked file. Only its owner may open it, so no other user can hold the lock.
const LOCK_NAME: &str = ".lock";

/// A lock of a directory, which is released when this struct is dropped and when the process is
/// killed.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

/// Tries to lock the directory. If another process holds the lock, returns `Err` with its id, if
/// known.
///
/// # Errors
/// If the file cannot be made.
pub fn try_lock(directory: &DataPath) -> io::Result<Result<DirectoryLock, Option<u32>>> {
    let mut file = open_lock_file(directory)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => write_holder(file).map(Ok),
        Err(Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let _ = (&mut file).take(32).read_to_string(&mut text);
            Ok(Err(text.trim().parse().ok()))
        }
        Err(error) => Err(error.into()),
    }
}

impl DirectoryLock {
    /// Waits for the lock of the directory.
    ///
    /// # Errors
    /// If the file cannot be made, or the wait is interrupted.
    pub fn wait_for(directory: &DataPath) -> io::Result<DirectoryLock> {
        let file = open_lock_file(directory)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return write_holder(file),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Opens the lock file. If root makes it, it is given to the directory's owner, who could not lock
/// it otherwise.
fn open_lock_file(directory: &DataPath) -> io::Result<File> {
    let file = directory.join(LOCK_NAME).open_or_make(0o600)?;
    let owner = directory.metadata()?;
    if geteuid().is_root() && file.metadata()?.uid() != owner.uid() {
        fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(file)
}

/// The lock, after writing this process's id to the file.
fn write_holder(mut file: File) -> io::Result<DirectoryLock> {
    // A full disk must not prevent locking.
    let _ = file.set_len(0).and_then(|()| file.rewind());
    let _ = writeln!(file, "{}", std::process::id());
    Ok(DirectoryLock { _file: file })
}
