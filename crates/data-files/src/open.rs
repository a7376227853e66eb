//! Opening, reading, removing and renaming existing files.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::thread;

use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::data_path::DataPath;
use crate::file_kind::{FileKind, LinkError};
use crate::path_walk::{COMMON_FLAGS, EntryLocation};
use crate::tuning::{LEASE_PAUSE, LEASE_TRIES};

impl DataPath {
    /// Opens the regular file for reading.
    ///
    /// # Errors
    /// If the system refuses, and a [`LinkError`] if the path is not a regular file.
    pub fn open(&self) -> io::Result<File> {
        self.open_regular(OFlags::RDONLY, Mode::empty())
    }

    /// Opens the regular file for reading and writing. It may have no other names, so that nothing
    /// outside the data directory is changed.
    ///
    /// # Errors
    /// Those of [`DataPath::open`], and if the file has another name.
    pub fn open_to_write(&self) -> io::Result<File> {
        self.require_single_link(self.open_regular(OFlags::RDWR, Mode::empty())?)
    }

    /// Opens the regular file for reading and appending, and makes it with the mode `mode` if it
    /// does not exist.
    ///
    /// # Errors
    /// Those of [`DataPath::open_to_write`].
    pub fn open_to_append(&self, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        self.require_single_link(self.open_regular(flags, Mode::from_raw_mode(mode))?)
    }

    /// Opens the regular file for reading and writing, and makes it with the mode `mode` if it does
    /// not exist.
    ///
    /// # Errors
    /// Those of [`DataPath::open_to_write`].
    pub fn open_or_make(&self, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        self.require_single_link(self.open_regular(flags, Mode::from_raw_mode(mode))?)
    }

    /// Makes the file with the mode `mode` and opens it for reading and writing. The path must not
    /// exist.
    ///
    /// # Errors
    /// If the system refuses, including when the path exists.
    pub fn create_new(&self, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        self.open_regular(flags, Mode::from_raw_mode(mode))
    }

    /// The content of the whole file.
    ///
    /// # Errors
    /// Those of [`DataPath::open`].
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The whole file as text.
    ///
    /// # Errors
    /// Those of [`DataPath::open`], and if the file is not UTF-8.
    pub fn read_to_string(&self) -> io::Result<String> {
        let mut text = String::new();
        self.open()?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// The whole file as text, if it has at most `bytes` bytes.
    ///
    /// # Errors
    /// Those of [`DataPath::read_to_string`], and if the file is larger.
    pub fn read_text_at_most(&self, bytes: u64) -> io::Result<String> {
        let mut text = String::new();
        self.open()?.take(bytes + 1).read_to_string(&mut text)?;
        match text.len() as u64 > bytes {
            true => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the file is too large for one of sockcap's",
            )),
            false => Ok(text),
        }
    }

    /// The whole content of a file or pipe that the user named, or of a regular file if the path is
    /// not wholly trusted.
    ///
    /// # Errors
    /// Those of [`DataPath::open`].
    pub fn read_named(&self) -> io::Result<Vec<u8>> {
        if self.is_trusted() { std::fs::read(self.as_path()) } else { self.read() }
    }

    /// The metadata of the path. Links are not followed, unless the user named them.
    ///
    /// # Errors
    /// If the path does not exist.
    pub fn metadata(&self) -> io::Result<Metadata> {
        let place = self.locate_entry()?;
        let flags = place.open_flags() | OFlags::PATH;
        File::from(openat(&place.directory, &place.name, flags, Mode::empty())?).metadata()
    }

    /// Kind of the file at the path; `None` if it does not exist.
    pub fn file_kind(&self) -> Option<FileKind> {
        self.metadata().ok().map(|found| FileKind::from_file_type(found.file_type()))
    }

    /// Whether the path exists.
    pub fn exists(&self) -> bool {
        self.metadata().is_ok()
    }

    /// Whether the path is a regular file.
    pub fn is_file(&self) -> bool {
        self.file_kind() == Some(FileKind::Regular)
    }

    /// Whether the path is a directory.
    pub fn is_dir(&self) -> bool {
        self.file_kind() == Some(FileKind::Directory)
    }

    /// Removes the file or link.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove_file(&self) -> io::Result<()> {
        let place = self.locate_entry()?;
        Ok(unlinkat(&place.directory, &place.name, AtFlags::empty())?)
    }

    /// Moves the file or directory to another path and replaces a file or link there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn rename_to(&self, to: &DataPath) -> io::Result<()> {
        let (from, to) = (self.locate_entry()?, to.locate_entry()?);
        Ok(renameat(&from.directory, &from.name, &to.directory, &to.name)?)
    }

    /// Gives the file a second path.
    ///
    /// # Errors
    /// If the system refuses, for instance because `to` exists.
    pub fn hard_link_to(&self, to: &DataPath) -> io::Result<()> {
        let (from, to) = (self.locate_entry()?, to.locate_entry()?);
        let flags = AtFlags::empty();
        Ok(linkat(&from.directory, &from.name, &to.directory, &to.name, flags)?)
    }

    /// Makes the names in the directory at the path durable.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync_directory(&self) -> io::Result<()> {
        File::from(self.open_directory()?).sync_all()
    }

    /// Opens the path with these flags; an error if it is not a regular file.
    fn open_regular(&self, flags: OFlags, mode: Mode) -> io::Result<File> {
        let place = self.locate_entry()?;
        let file = File::from(open_with_retries(&place, flags | place.open_flags(), mode)?);
        match FileKind::from_file_type(file.metadata()?.file_type()) {
            FileKind::Regular => Ok(file),
            found => Err(LinkError::unexpected_kind(&place.name, found)),
        }
    }

    /// The file, if it has only one name or the user named it.
    fn require_single_link(&self, file: File) -> io::Result<File> {
        let (_, names) = self.split_trusted();
        match names.last() {
            Some(name) if file.metadata()?.nlink() > 1 => Err(LinkError::multiple_links(name)),
            _ => Ok(file),
        }
    }
}

/// Whether the file belongs to this process's user. Leases of other users are not waited for: there
/// could be one on each of many files.
fn is_own_file(place: &EntryLocation) -> bool {
    let flags = COMMON_FLAGS | OFlags::PATH | OFlags::NOFOLLOW;
    openat(&place.directory, &place.name, flags, Mode::empty())
        .and_then(rustix::fs::fstat)
        .is_ok_and(|about| about.st_uid == rustix::process::geteuid().as_raw())
}

/// Opens a name, and retries if the file has a lease: the lease of another sockcap command lasts
/// only a moment. Other leases are not waited for.
fn open_with_retries(place: &EntryLocation, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let mut tries = 0;
    loop {
        match openat(place.directory.as_fd(), &place.name, flags, mode) {
            Err(Errno::WOULDBLOCK) if tries < LEASE_TRIES && is_own_file(place) => {
                tries += 1;
                thread::sleep(LEASE_PAUSE);
            }
            opened => {
                debug_assert!(flags.contains(COMMON_FLAGS));
                return opened.map_err(|error| place.describe_error(error));
            }
        }
    }
}
