//! New file: written under a name that nobody knows ahead, and given its own when it is whole.

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
use crate::path_walk::{COMMON, EntryLocation, kind_at};
use crate::tuning::NAME_BYTES;

/// What stands between a file's own name and what was drawn for the time that it is written.
const UNFINISHED: &str = ".unfinished-";

/// A file that is being written. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    directory: OwnedFd,
    name: OsString,
    /// Its name meanwhile; `None` once it has its own.
    unfinished: Option<OsString>,
}

impl DataPath {
    /// Begins a file that will have this path, in place of what is there.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(&self) -> io::Result<NewFile> {
        self.create_as(0o666)
    }

    /// Begins a file that will have this path and the rights `mode`, less those of the process's
    /// mask.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create_as(&self, mode: u32) -> io::Result<NewFile> {
        let EntryLocation { directory, name, .. } = self.locate_entry()?;
        if kind_at(&directory, &name).is_ok_and(|kind| kind == FileKind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        let unfinished = unfinished_name(&name);
        let flags = COMMON | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&directory, &unfinished, flags, Mode::from_raw_mode(mode))?;
        // By this lock others know that it is still written. It goes with the descriptor.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(NewFile { file: File::from(file), directory, name, unfinished: Some(unfinished) })
    }

    /// Writes a file of these bytes, in place of what is there.
    ///
    /// # Errors
    /// When the system refuses; what was there stays.
    pub fn write(&self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let mut file = self.create()?;
        file.write_all(bytes.as_ref())?;
        file.commit()
    }

    /// Path beside this one under which it can be written before it is whole: a name that nobody
    /// knows ahead. For what cannot keep a [`NewFile`] open; it is made by
    /// [`DataPath::create_new`].
    #[must_use]
    pub fn unfinished_path(&self) -> DataPath {
        let name = self.file_name().unwrap_or_default().to_owned();
        self.with_file_name(unfinished_name(&name))
    }

    /// Copies the file to another path, in place of what is there.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn copy_to(&self, to: &DataPath) -> io::Result<()> {
        let mut copy = to.create()?;
        io::copy(&mut self.open()?, &mut copy)?;
        copy.commit()
    }

    /// Temporary file without a name, in the directory at this path.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn temporary_file(&self) -> io::Result<File> {
        let directory = self.open_directory()?;
        let mode = Mode::RUSR | Mode::WUSR;
        match openat(&directory, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
            Ok(file) => Ok(file.into()),
            // Some file systems make none without a name.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let name = unfinished_name(&OsString::from("temporary"));
                let flags = COMMON | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
                let file = openat(&directory, &name, flags, mode)?;
                unlinkat(&directory, &name, AtFlags::empty())?;
                Ok(file.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the files in the directory at this path that a killed command was writing: all, or
    /// those that were to be called `of`.
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
            let flags = COMMON | OFlags::RDONLY | OFlags::NOFOLLOW;
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

    /// Gives the file its own name. What had that name before is replaced, and no link followed.
    ///
    /// # Errors
    /// When the system refuses; the file is gone then.
    pub fn commit(mut self) -> io::Result<()> {
        self.rename_into_place()
    }

    /// Makes the content durable, and gives the file its own name.
    ///
    /// # Errors
    /// When the system refuses; the file is gone then.
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

fn unfinished_name(name: &OsString) -> OsString {
    let mut drawn = [0; NAME_BYTES];
    // It fails on no kernel that Rust's own programs run on. Whatever is drawn, a file that is
    // there is never taken.
    let _ = getrandom(&mut drawn, GetRandomFlags::empty());
    let mut unfinished = name.clone();
    unfinished.push(format!("{UNFINISHED}{:016x}", u64::from_ne_bytes(drawn)));
    unfinished
}

/// The name that a file of an unfinished name would have had; `None` where it is no such name.
fn finished_name(name: &str) -> Option<&str> {
    let (finished, drawn) = name.rsplit_once(UNFINISHED)?;
    let is_drawn = drawn.len() == 16 && drawn.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_drawn.then_some(finished)
}
