//! Walk to a file: its directory is opened name by name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::data_path::DataPath;
use crate::file_kind::{FileKind, LinkError};

/// Flags of every descriptor opened here. `NONBLOCK` prevents waiting for FIFOs and leases.
pub(crate) const COMMON_FLAGS: OFlags =
    OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// An open directory, and a name in it.
pub(crate) struct EntryLocation {
    pub(crate) directory: OwnedFd,
    pub(crate) name: OsString,
    /// Whether a link with this name may be followed, because the user named it.
    pub(crate) is_trusted: bool,
}

impl EntryLocation {
    /// Flags for opening the name; a link is not followed if the name is not trusted.
    pub(crate) fn open_flags(&self) -> OFlags {
        if self.is_trusted { COMMON_FLAGS } else { COMMON_FLAGS | OFlags::NOFOLLOW }
    }

    /// The error of opening the name, or a [`LinkError`] if the kind of the file caused it.
    pub(crate) fn describe_error(&self, error: Errno) -> io::Error {
        if [Errno::LOOP, Errno::NOTDIR, Errno::NXIO, Errno::OPNOTSUPP, Errno::ISDIR]
            .contains(&error)
            && let Ok(found) = kind_at(&self.directory, &self.name)
            && found != FileKind::Regular
        {
            return LinkError::unexpected_kind(&self.name, found);
        }
        error.into()
    }
}

impl DataPath {
    /// Opens the directory that contains the path.
    pub(crate) fn locate_entry(&self) -> io::Result<EntryLocation> {
        let (trusted, mut names) = self.split_trusted();
        match names.pop() {
            Some(name) => {
                let directory = open_below(trusted, &names)?;
                Ok(EntryLocation {
                    directory,
                    name: check_entry_name(&name)?.to_owned(),
                    is_trusted: false,
                })
            }
            None => {
                // The user may have named a directory by `.`, `/` or `..`.
                let (above, name) = match (trusted.parent(), trusted.file_name()) {
                    (Some(above), Some(name)) => (above, name.to_owned()),
                    _ => (trusted, OsString::from(".")),
                };
                let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
                let directory = open_trusted(above)?;
                Ok(EntryLocation { directory, name, is_trusted: true })
            }
        }
    }

    /// Opens the directory at the path itself.
    pub(crate) fn open_directory(&self) -> io::Result<OwnedFd> {
        let (trusted, names) = self.split_trusted();
        open_below(trusted, &names)
    }
}

/// Opens the directory that the names `names` lead to below a trusted one.
pub(crate) fn open_below(trusted: &Path, names: &[OsString]) -> io::Result<OwnedFd> {
    names.iter().try_fold(open_trusted(trusted)?, |above, name| {
        open_subdirectory(&above, check_entry_name(name)?)
    })
}

/// Opens the subdirectory `name` of a directory. A link is an error.
pub(crate) fn open_subdirectory(above: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = COMMON_FLAGS | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let opened = match openat(above, name, flags, Mode::empty()) {
        // The directory may be searched but not listed.
        Err(Errno::ACCESS) => openat(above, name, flags | OFlags::PATH, Mode::empty()),
        opened => opened,
    };
    opened.map_err(|error| match kind_at(above, name) {
        Ok(found) if error == Errno::LOOP || error == Errno::NOTDIR => {
            LinkError::unexpected_kind(name, found)
        }
        _ => error.into(),
    })
}

/// Opens a directory that the user named, including its links.
fn open_trusted(path: &Path) -> io::Result<OwnedFd> {
    let flags = COMMON_FLAGS | OFlags::RDONLY | OFlags::DIRECTORY;
    match openat(CWD, path, flags, Mode::empty()) {
        Err(Errno::ACCESS) => Ok(openat(CWD, path, flags | OFlags::PATH, Mode::empty())?),
        opened => Ok(opened?),
    }
}

/// The name, if it can only be an entry of its directory.
pub(crate) fn check_entry_name(name: &OsStr) -> io::Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) => Ok(only),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it leads out of the data directory")),
    }
}

/// Kind of the entry with this name in a directory.
pub(crate) fn kind_at(directory: &OwnedFd, name: &OsStr) -> io::Result<FileKind> {
    let flags = COMMON_FLAGS | OFlags::PATH | OFlags::NOFOLLOW;
    let file = File::from(openat(directory, name, flags, Mode::empty())?);
    Ok(FileKind::from_file_type(file.metadata()?.file_type()))
}
