//! One log as a file at the collector: creating, checking and measuring it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use message_trace::DataPath;
use rustix::fs::{Advice, SeekFrom, fadvise, seek};
use rustix::io::Errno;

use super::violation::Violation;
use crate::page::{self, PAGE};
use crate::tuning::{CHECKSUM_READ_BYTES, MAX_SPARSE_BYTES, NEW_FILE_MODE};

/// An open file.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) name: String,
    pub(super) file: File,
}

impl StoredFile {
    /// Checks whether the file may become `length` bytes long, given its content. The inner error
    /// is one of the disk.
    pub(super) fn check_length(&self, length: u64) -> Result<io::Result<()>, Violation> {
        match disk_use(&self.file) {
            Ok(used) if length > used.saturating_add(MAX_SPARSE_BYTES) => {
                Err(Violation::Sparse { length, used })
            }
            result => Ok(result.map(|_| ())),
        }
    }
}

/// Opens an existing regular file; a symbolic link is refused.
pub(super) fn open_existing(path: &DataPath) -> io::Result<File> {
    path.open()
}

/// Whether this file is still the one at `path`.
pub(super) fn is_at(file: &File, path: &DataPath) -> io::Result<bool> {
    let of = |status: fs::Metadata| [status.dev(), status.ino()];
    match path.metadata() {
        Ok(status) => Ok(of(status) == of(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens an existing log for writing.
pub(super) fn reopen_log(directory: &DataPath, name: &str) -> io::Result<StoredFile> {
    Ok(StoredFile { name: name.to_owned(), file: directory.join(name).open_to_write()? })
}

/// Opens a log, and creates it and its directory if they do not exist.
pub(super) fn create_log(directory: &DataPath, name: &str) -> io::Result<StoredFile> {
    let path = directory.join(name);
    let file = match path.open_or_make(NEW_FILE_MODE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            directory.create_dir_all()?;
            path.open_or_make(NEW_FILE_MODE)
        }
        result => result,
    }?;
    Ok(StoredFile { name: name.to_owned(), file })
}

/// Whether an error of [`open_existing`] means that the path is not a regular file or does not
/// exist.
pub(super) fn is_no_file(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::InvalidInput];
    kinds.contains(&error.kind())
        || [Some(Errno::LOOP), Some(Errno::NXIO)].contains(&Errno::from_io_error(error))
}

/// Number of bytes that a file takes on the disk.
pub(super) fn disk_use(file: &File) -> io::Result<u64> {
    // Blocks are of 512 bytes on every file system.
    Ok(file.metadata()?.blocks() * 512)
}

/// The size of a file in bytes, and the checksums of at most `count` of its pages from page `first`
/// on. The pages are made durable before.
pub(super) fn page_checksums(file: &File, first: u64, count: u32) -> io::Result<(u64, Vec<u64>)> {
    // The content may come from a collector that was killed before making it durable.
    if first == 0 {
        file.sync_data().inspect_err(|_| forget_cached(file))?;
    }
    let length = file.metadata()?.len();
    if first >= page::page_count(length) {
        return Ok((length, Vec::new()));
    }
    let last = page::page_count(length).min(first.saturating_add(u64::from(count)));
    let mut sums = Vec::with_capacity(last.saturating_sub(first) as usize);
    let mut buffer = vec![0; CHECKSUM_READ_BYTES];
    let mut at = first * PAGE as u64;
    let end = last * PAGE as u64;
    while at < end {
        // Holes have the checksum of zeros.
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => (data - data % PAGE as u64).clamp(at, end),
            Err(Errno::NXIO) => end,
            Err(_) => at,
        };
        sums.resize(sums.len() + ((data - at) / PAGE as u64) as usize, 0);
        at = data;
        let mut read = 0;
        let wanted = buffer.len().min((end - at) as usize);
        while read < wanted {
            match file.read_at(&mut buffer[read..wanted], at + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if read == 0 {
            break;
        }
        sums.extend(buffer[..read].chunks(PAGE).map(page::page_checksum));
        at += read.next_multiple_of(PAGE) as u64;
    }
    Ok((length, sums))
}

/// Drops the kernel's cache of a file that could not be written but now counts as clean, so that
/// the file is read from the disk next time.
pub(super) fn forget_cached(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}
