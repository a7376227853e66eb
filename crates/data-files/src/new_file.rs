//! New file: written under an unpredictable name, and renamed when it is complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::data_path::DataPath;
use crate::directory::read_names;
use crate::file_kind::FileKind;
use crate::path_walk::{COMMON_FLAGS, EntryLocation, kind_at};
use crate::tuning::NAME_BYTES;

/// Separates a file's final name from the random part of its temporary name.
const UNFINISHED: &str = ".unfinished-";

/// A file that is being written. If this struct is dropped before the file is committed, no file is
/// left.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    directory: OwnedFd,
    name: OsString,
    /// Temporary name of the file; `None` once it has its final one.
    unfinished: Option<OsString>,
}

impl DataPath {
    /// Begins a file that will replace the one at this path.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(&self) -> io::Result<NewFile> {
        self.create_as(0o666)
    }

    /// Begins a file that will have this path and the mode `mode`, less the process's umask.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create_as(&self, mode: u32) -> io::Result<NewFile> {
        let EntryLocation { directory, name, .. } = self.locate_entry()?;
        if kind_at(&directory, &name).is_ok_and(|kind| kind == FileKind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        let unfinished = unfinished_name(&name);
        let flags = COMMON_FLAGS | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&directory, &unfinished, flags, Mode::from_raw_mode(mode))?;
        // The lock shows other commands that the file is still being written. The lock is released
        // with the descriptor.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(NewFile { file: File::from(file), directory, name, unfinished: Some(unfinished) })
    }

    /// Writes a file with the content `bytes`, which replaces the one at this path.
    ///
    /// # Errors
    /// If the system refuses; the old file stays then.
    pub fn write(&self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let mut file = self.create()?;
        file.write_all(bytes.as_ref())?;
        file.commit()
    }

    /// Unpredictable path in the same directory, under which the file can be written until it is
    /// complete. For callers that cannot keep a [`NewFile`] open; it is made by
    /// [`DataPath::create_new`].
    #[must_use]
    pub fn unfinished_path(&self) -> DataPath {
        let name = self.file_name().unwrap_or_default().to_owned();
        self.with_file_name(unfinished_name(&name))
    }

    /// Copies the file to another path and replaces the file there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn copy_to(&self, to: &DataPath) -> io::Result<()> {
        let mut copy = to.create()?;
        io::copy(&mut self.open()?, &mut copy)?;
        copy.commit()
    }

    /// Temporary file without a name, in the directory at this path.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn temporary_file(&self) -> io::Result<File> {
        let directory = self.open_directory()?;
        let mode = Mode::RUSR | Mode::WUSR;
        match openat(&directory, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
            Ok(file) => Ok(file.into()),
            // Some file systems do not support unnamed files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let name = unfinished_name(&OsString::from("temporary"));
                let flags = COMMON_FLAGS | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
                let file = openat(&directory, &name, flags, mode)?;
                unlinkat(&directory, &name, AtFlags::empty())?;
                Ok(file.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the unfinished files that a killed command left in the directory at this path: all,
    /// or only the ones with the final name `of`.
    pub fn remove_unfinished(&self, of: Option<&OsStr>) {
        let Ok(directory) = self.open_directory() else { return };
        for (name, kind) in read_names(&directory).unwrap_or_default() {
            let is_ours = name
                .to_str()
                .and_then(finished_name)
                .is_some_and(|finished| of.is_none_or(|of| of == OsStr::new(finished)));
            if !is_ours || kind != FileKind::Regular {
                continue;
            }
            let flags = COMMON_FLAGS | OFlags::RDONLY | OFlags::NOFOLLOW;
            if let Ok(file) = openat(&directory, &name, flags, Mode::empty())
                && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            {
                let _ = unlinkat(&directory, &name, AtFlags::empty());
            }
        }
    }
}

impl NewFile {
    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its final name. A file or link with this name is replaced, and no link
    /// followed.
    ///
    /// # Errors
    /// If the system refuses; the new file is removed then.
    pub fn commit(mut self) -> io::Result<()> {
        self.rename_into_place()
    }

    /// Makes the content durable, and gives the file its final name.
    ///
    /// # Errors
    /// If the system refuses; the new file is removed then.
    pub fn commit_durably(mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.rename_into_place()
    }

    fn rename_into_place(&mut self) -> io::Result<()> {
        if let Some(unfinished) = &self.unfinished {
            renameat(&self.directory, unfinished, &self.directory, &self.name)?;
            self.unfinished = None;
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            let _ = unlinkat(&self.directory, unfinished, AtFlags::empty());
        }
    }
}

/// A temporary name for a file with the final name `name`, which no other program can guess.
fn unfinished_name(name: &OsString) -> OsString {
    let mut drawn = [0; NAME_BYTES];
    // `getrandom` does not fail on any kernel that Rust's own programs run on. Whatever the random
    // bytes are, an existing file is never opened.
    let _ = getrandom(&mut drawn, GetRandomFlags::empty());
    let mut unfinished = name.clone();
    unfinished.push(format!("{UNFINISHED}{:016x}", u64::from_ne_bytes(drawn)));
    unfinished
}

/// The final name that belongs to an unfinished name; `None` for any other name.
fn finished_name(name: &str) -> Option<&str> {
    let (finished, drawn) = name.rsplit_once(UNFINISHED)?;
    let is_drawn = drawn.len() == 16 && drawn.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_drawn.then_some(finished)
}
