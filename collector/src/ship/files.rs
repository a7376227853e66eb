//! Logs in a host's directory at one moment: their names, their lengths, and the ranges with
//! content.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use socket_log::layout::source;
use socket_log::{LogHeader, OpenError, blank_snippets};

use message_trace::DataPath;

use crate::identity::LogIdentity;
use crate::page::{self, PAGE};
use socket_log::names;

/// Names of the logs in `directory`, sorted; empty if the directory does not exist (yet).
pub(super) fn log_names(directory: &DataPath) -> io::Result<Vec<String>> {
    let entries = directory.entries()?.into_iter();
    let names = entries.filter_map(|entry| entry.path.file_name()?.to_str().map(str::to_owned));
    Ok(names.filter(|name| names::check_log_name(name).is_ok()).collect())
}

/// Device, inode, size and change time of a file: while they are the same, so is the file, unless
/// it is being written through a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp([i64; 5]);

/// A log that was opened.
#[derive(Debug)]
pub(super) struct OpenedLog {
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) identity: LogIdentity,
    pub(super) header: LogHeader,
}

/// [`FileStamp`] of the file at `path`; `None` if the file has vanished.
pub(super) fn file_stamp(path: &DataPath) -> Option<FileStamp> {
    let status = path.metadata().ok()?;
    Some(FileStamp([
        status.dev() as i64,
        status.ino() as i64,
        status.size() as i64,
        status.ctime(),
        status.ctime_nsec(),
    ]))
}

impl OpenedLog {
    /// Opens a log; `None` if it has vanished, has not been begun yet, or is not a log.
    pub(super) fn open(directory: &DataPath, name: &str) -> io::Result<Option<OpenedLog>> {
        let path = directory.join(name);
        let file = match path.open() {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let status = file.metadata()?;
        let (identity, header) = match LogIdentity::read_identity(name, &file) {
            Ok(log) => log,
            Err(OpenError::Io { source, .. }) => return Err(source),
            Err(error @ OpenError::Version { .. }) => return Err(io::Error::other(error)),
            Err(_) => return Ok(None),
        };
        Ok(status.is_file().then(|| OpenedLog { length: status.len(), file, identity, header }))
    }

    /// Pages with content, as runs `[first, end)`.
    pub(super) fn content_runs(&self) -> Vec<[usize; 2]> {
        let mut data = Vec::new();
        let mut at = 0;
        while at < self.length {
            let first = match seek(&self.file, SeekFrom::Data(at)) {
                Ok(first) => first,
                Err(Errno::NXIO) => break,
                // On a file system that does not report holes, every page counts as content.
                Err(_) => at,
            };
            let end =
                seek(&self.file, SeekFrom::Hole(first)).unwrap_or(self.length).min(self.length);
            if end <= first {
                break;
            }
            data.push([(first / PAGE as u64) as usize, page::page_count(end) as usize]);
            at = end.next_multiple_of(PAGE as u64);
        }
        data
    }

    /// Reads the pages from `first` on into `buffer`, as far as they exist.
    pub(super) fn read_pages<'buffer>(
        &self,
        first: usize,
        buffer: &'buffer mut [u8],
    ) -> io::Result<&'buffer [u8]> {
        let is_log = self.header.source != source::OPERATIONS;
        let at = (first * PAGE) as u64;
        let wanted = buffer.len().min(self.length.saturating_sub(at) as usize);
        let mut read = 0;
        while read < wanted {
            match self.file.read_at(&mut buffer[read..wanted], at + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // Snippets never leave the host.
        if is_log && self.header.heads {
            // The first page is the header.
            let header = usize::from(first == 0);
            for chunk in buffer[..read].chunks_mut(PAGE).skip(header) {
                blank_snippets(chunk);
            }
        }
        Ok(&buffer[..read])
    }
}
