//! Opening, reading, removing and renaming what is there.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::thread;

use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::data_path::DataPath;
use crate::file_kind::{FileKind, LinkError};
use crate::path_walk::{COMMON, EntryLocation};
use crate::tuning::{LEASE_PAUSE, LEASE_TRIES};

impl DataPath {
    /// Opens the regular file for reading.
    ///
    /// # Errors
    /// When the system refuses, and a [`LinkError`] where something else lies at the path.
    pub fn open(&self) -> io::Result<File> {
        self.open_regular(OFlags::RDONLY, Mode::empty())
    }

    /// Opens the regular file for reading and writing. It has no other names, so that nothing
    /// outside the data directory is changed.
    ///
    /// # Errors
    /// As those of [`DataPath::open`], and where the file has another name.
    pub fn open_to_write(&self) -> io::Result<File> {
        self.require_single_link(self.open_regular(OFlags::RDWR, Mode::empty())?)
    }

    /// Opens the regular file for reading and for writing at its end, and makes it with the rights
    /// `mode` where there is none.
    ///
    /// # Errors
    /// As those of [`DataPath::open_to_write`].
    pub fn open_to_append(&self, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        self.require_single_link(self.open_regular(flags, Mode::from_raw_mode(mode))?)
    }

    /// Opens the regular file for reading and writing, and makes it with the rights `mode` where
    /// there is none.
    ///
    /// # Errors
    /// As those of [`DataPath::open_to_write`].
    pub fn open_or_make(&self, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        self.require_single_link(self.open_regular(flags, Mode::from_raw_mode(mode))?)
    }

    /// Makes the file with the rights `mode` and opens it for reading and writing. Nothing may lie
    /// at the path.
    ///
    /// # Errors
    /// When the system refuses, also as something lies there.
    pub fn create_new(&self, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        self.open_regular(flags, Mode::from_raw_mode(mode))
    }

    /// The whole file.
    ///
    /// # Errors
    /// As those of [`DataPath::open`].
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The whole file as text.
    ///
    /// # Errors
    /// As those of [`DataPath::open`], and where it is not UTF-8.
    pub fn read_to_string(&self) -> io::Result<String> {
        let mut text = String::new();
        self.open()?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// The whole file as text, if it has at most `bytes` bytes.
    ///
    /// # Errors
    /// As those of [`DataPath::read_to_string`], and where it is larger.
    pub fn read_text_at_most(&self, bytes: u64) -> io::Result<String> {
        let mut text = String::new();
        self.open()?.take(bytes + 1).read_to_string(&mut text)?;
        match text.len() as u64 > bytes {
            true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large to be ours")),
            false => Ok(text),
        }
    }

    /// The whole content of what the user named, a pipe too; of a path that is not trusted whole,
    /// that of the regular file.
    ///
    /// # Errors
    /// As those of [`DataPath::open`].
    pub fn read_named(&self) -> io::Result<Vec<u8>> {
        if self.is_trusted() { std::fs::read(self.as_path()) } else { self.read() }
    }

    /// What the system knows of what lies at the path. Where a link leads is not looked at, unless
    /// the user named it.
    ///
    /// # Errors
    /// When there is nothing.
    pub fn metadata(&self) -> io::Result<Metadata> {
        let place = self.locate_entry()?;
        let flags = place.open_flags() | OFlags::PATH;
        File::from(openat(&place.directory, &place.name, flags, Mode::empty())?).metadata()
    }

    /// Kind of what lies at the path; `None` where there is nothing.
    pub fn file_kind(&self) -> Option<FileKind> {
        self.metadata().ok().map(|found| FileKind::from_file_type(found.file_type()))
    }

    /// Whether anything lies at the path.
    pub fn exists(&self) -> bool {
        self.metadata().is_ok()
    }

    /// Whether a regular file lies at the path.
    pub fn is_file(&self) -> bool {
        self.file_kind() == Some(FileKind::Regular)
    }

    /// Whether a directory lies at the path.
    pub fn is_dir(&self) -> bool {
        self.file_kind() == Some(FileKind::Directory)
    }

    /// Removes the file or link.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_file(&self) -> io::Result<()> {
        let place = self.locate_entry()?;
        Ok(unlinkat(&place.directory, &place.name, AtFlags::empty())?)
    }

    /// Gives the file or directory another path, in place of a file or link that is there.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn rename_to(&self, to: &DataPath) -> io::Result<()> {
        let (from, to) = (self.locate_entry()?, to.locate_entry()?);
        Ok(renameat(&from.directory, &from.name, &to.directory, &to.name)?)
    }

    /// Gives the file another path beside its own.
    ///
    /// # Errors
    /// When the system refuses, for instance as `to` exists.
    pub fn hard_link_to(&self, to: &DataPath) -> io::Result<()> {
        let (from, to) = (self.locate_entry()?, to.locate_entry()?);
        let flags = AtFlags::empty();
        Ok(linkat(&from.directory, &from.name, &to.directory, &to.name, flags)?)
    }

    /// Makes the names in the directory at the path durable.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn sync_directory(&self) -> io::Result<()> {
        File::from(self.open_directory()?).sync_all()
    }

    fn open_regular(&self, flags: OFlags, mode: Mode) -> io::Result<File> {
        let place = self.locate_entry()?;
        let file = File::from(open_with_retries(&place, flags | place.open_flags(), mode)?);
        match FileKind::from_file_type(file.metadata()?.file_type()) {
            FileKind::Regular => Ok(file),
            found => Err(LinkError::unexpected_kind(&place.name, found)),
        }
    }

    /// The file, if it has one name or the user named it.
    fn require_single_link(&self, file: File) -> io::Result<File> {
        let (_, names) = self.split_trusted();
        match names.last() {
            Some(name) if file.metadata()?.nlink() > 1 => Err(LinkError::multiple_links(name)),
            _ => Ok(file),
        }
    }
}

/// Whether the file is this process's user's. A lease of another user is not waited for: there
/// could be one on each of many files.
fn is_own_file(place: &EntryLocation) -> bool {
    let flags = COMMON | OFlags::PATH | OFlags::NOFOLLOW;
    openat(&place.directory, &place.name, flags, Mode::empty())
        .and_then(rustix::fs::fstat)
        .is_ok_and(|about| about.st_uid == rustix::process::geteuid().as_raw())
}

/// Opens a name, once more where somebody has a lease on the file: that of another command of ours
/// lasts a moment, and nobody is waited for longer.
fn open_with_retries(place: &EntryLocation, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let mut tries = 0;
    loop {
        match openat(place.directory.as_fd(), &place.name, flags, mode) {
            Err(Errno::WOULDBLOCK) if tries < LEASE_TRIES && is_own_file(place) => {
                tries += 1;
                thread::sleep(LEASE_PAUSE);
            }
            opened => {
                debug_assert!(flags.contains(COMMON));
                return opened.map_err(|error| place.describe_error(error));
            }
        }
    }
}
