//! Kind of a file, and the error of a file that has an unexpected kind.

use std::fmt;
use std::io;
use std::os::unix::fs::FileTypeExt;

use rustix::fs::FileType;

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link; its target does not matter.
    Link,
    /// A FIFO, socket or device.
    Special,
}

impl FileKind {
    /// Kind for a file type of the standard library.
    pub fn from_file_type(kind: std::fs::FileType) -> FileKind {
        match kind {
            _ if kind.is_file() => FileKind::Regular,
            _ if kind.is_dir() => FileKind::Directory,
            _ if kind.is_symlink() => FileKind::Link,
            _ if kind.is_fifo() || kind.is_socket() => FileKind::Special,
            _ => FileKind::Special,
        }
    }

    /// Kind for the type in a directory entry; `None` if the file system does not state it.
    pub(crate) fn from_entry_type(kind: FileType) -> Option<FileKind> {
        match kind {
            FileType::RegularFile => Some(FileKind::Regular),
            FileType::Directory => Some(FileKind::Directory),
            FileType::Symlink => Some(FileKind::Link),
            FileType::Unknown => None,
            _ => Some(FileKind::Special),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Regular => "a regular file",
            FileKind::Directory => "a directory",
            FileKind::Link => "a symbolic link",
            FileKind::Special => "a FIFO, socket or device",
        })
    }
}

/// Error of a name below a data directory that is not of the requested kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    /// Name of the file in its directory.
    pub name: String,
    /// Kind of the file that was found; `None` if the file has other names (hard links), too, and
    /// was to be changed.
    pub found: Option<FileKind>,
}

impl LinkError {
    /// Error of a file of another kind than requested.
    pub(crate) fn unexpected_kind(name: &std::ffi::OsStr, found: FileKind) -> io::Error {
        LinkError::to_io_error(name, Some(found))
    }

    /// Error of a file with several hard links that was to be changed.
    pub(crate) fn multiple_links(name: &std::ffi::OsStr) -> io::Error {
        LinkError::to_io_error(name, None)
    }

    fn to_io_error(name: &std::ffi::OsStr, found: Option<FileKind>) -> io::Error {
        let name = name.to_string_lossy().into_owned();
        io::Error::new(io::ErrorKind::InvalidInput, LinkError { name, found })
    }

    /// Whether an error is a [`LinkError`]: the file was put there by another user or program.
    pub fn is_link_error(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<LinkError>())
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.found {
            Some(FileKind::Link) => write!(
                f,
                "{name} is a symbolic link, which is not followed below a data directory; remove it"
            ),
            Some(found) => write!(f, "{name} is {found}; remove it"),
            None => write!(f, "{name} has other hard links, so it is not changed; remove it"),
        }
    }
}

impl std::error::Error for LinkError {}
