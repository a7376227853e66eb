//! Log: an open file of records, with its header, its clock and the walk through it.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use data_files::DataPath;

use super::bytes::{LogBytes, disk_usage, read_at};
use super::chunks::LogChunks;
use super::clock::LogClock;
use super::damage::{LogDamage, OpenError};
use super::header::{HeaderProblem, LogHeader, parse_header};
use super::record::{LogEntry, LogRecord};
use crate::layout::{HEADER_BYTES, source, tick};

/// An open log.
#[derive(Debug)]
pub struct SocketLog {
    path: DataPath,
    bytes: LogBytes,
    length: u64,
    on_disk: u64,
    header: LogHeader,
}

impl SocketLog {
    /// Opens the log at `path` and reads its header. A log in a host's directory belongs to the
    /// host of the directory, see [`LogHeader::host`].
    ///
    /// # Errors
    /// If the file cannot be read, is not a log, or is of another version.
    pub fn open(path: impl Into<DataPath>) -> Result<SocketLog, OpenError> {
        let path = &path.into();
        let io = |source| OpenError::Io { path: path.as_path().to_owned(), source };
        let file = path.open().map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        let mut log = SocketLog::with_source(path, LogBytes::File(file), metadata.len())?;
        log.on_disk = disk_usage(&metadata);
        let path = path.as_path();
        log.header.set_host_from_path(path);
        let why = match log.header.source {
            source::SWITCHES => "it holds switches of threads, not calls",
            source::OPERATIONS => "it holds operations, not calls",
            _ => return Ok(log),
        };
        Err(OpenError::NotALog { path: path.to_owned(), why })
    }

    /// Log of these bytes; `path` is its name in errors.
    ///
    /// # Errors
    /// If the bytes are not a log, or a log of another version.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<SocketLog, OpenError> {
        let length = bytes.len() as u64;
        SocketLog::with_source(&DataPath::from(path), LogBytes::Memory(bytes), length)
    }

    fn with_source(path: &DataPath, bytes: LogBytes, length: u64) -> Result<SocketLog, OpenError> {
        let header = read_header(path.as_path(), &bytes)?;
        Ok(SocketLog { path: path.to_owned(), bytes, length, on_disk: length, header })
    }

    /// Path of the file, for messages.
    pub fn path(&self) -> &Path {
        self.path.as_path()
    }

    /// Path of the file, for opening files next to it.
    pub fn data_path(&self) -> &DataPath {
        &self.path
    }

    /// The header page as it is in the file; shorter than a page if the file is.
    ///
    /// # Errors
    /// If the operating system cannot read the file.
    pub fn header_page(&self) -> io::Result<Vec<u8>> {
        let mut page = vec![0; HEADER_BYTES];
        let read = read_at(&self.bytes, &mut page, 0)?;
        page.truncate(read);
        Ok(page)
    }

    /// The open file; `None` for a log in memory.
    pub fn file(&self) -> Option<&File> {
        match &self.bytes {
            LogBytes::File(file) => Some(file),
            LogBytes::Memory(_) => None,
        }
    }

    /// User id of the file's owner; `None` if the system does not report it.
    pub fn owner_id(&self) -> Option<u32> {
        self.file()?.metadata().ok().map(|about| about.uid())
    }

    /// Opens the file once more, to change its contents.
    ///
    /// # Errors
    /// If the operating system refuses, or if another file is at the path by now.
    pub fn open_to_write(&self) -> io::Result<File> {
        let file = self.path.open_to_write()?;
        let of = |file: &File| file.metadata().map(|about| (about.dev(), about.ino()));
        match &self.bytes {
            LogBytes::File(first) if of(first)? == of(&file)? => Ok(file),
            _ => Err(io::Error::other("another file took its place meanwhile")),
        }
    }

    /// Size of the file when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Space that the file took on the disk when it was opened, in bytes: less than its size if it
    /// has holes.
    pub fn disk_usage(&self) -> u64 {
        self.on_disk
    }

    /// Header of the log.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// Chunks in the order in which they were begun, which is the order in the file unless chunks
    /// were reused. The chunks of one thread are in the order in which it wrote them.
    pub fn chunks(&self) -> LogChunks<'_> {
        LogChunks::new(&self.bytes, self.length, self.header.keeps_newest)
    }

    /// Calls `entry` with every complete record in file order, and returns the damage found.
    pub fn for_each(&self, mut entry: impl FnMut(LogEntry)) -> Vec<LogDamage> {
        let mut chunks = self.chunks();
        let mut damage = Vec::new();
        for chunk in chunks.by_ref() {
            damage.extend(chunk.for_each(&mut entry));
        }
        damage.extend_from_slice(chunks.damage());
        damage.sort_by_key(|damage| damage.offset);
        damage
    }

    /// Clock of the log, from the anchors of all its threads. Reads the whole file once.
    pub fn clock(&self) -> LogClock {
        let mut anchors = vec![self.header.start];
        for chunk in self.chunks() {
            anchors.push(chunk.anchor);
            chunk.for_each(|entry| {
                if let LogRecord::Anchor(anchor) = entry.record {
                    anchors.push(anchor);
                }
            });
        }
        LogClock::new(anchors, self.header.tick_clock == tick::MONOTONIC)
    }
}

/// Header at the beginning of these bytes; `path` is their name in errors.
pub(crate) fn read_header(path: &Path, bytes: &LogBytes) -> Result<LogHeader, OpenError> {
    let mut page = [0; HEADER_BYTES];
    let read = read_at(bytes, &mut page, 0)
        .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    parse_header(page.get(..read).unwrap_or(&[])).map_err(|problem| match problem {
        HeaderProblem::NotALog(why) => OpenError::NotALog { path: path.to_owned(), why },
        HeaderProblem::Version(found) => OpenError::Version { path: path.to_owned(), found },
    })
}
