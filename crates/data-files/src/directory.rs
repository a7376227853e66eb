//! Directories: listing, making and removing them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;

use rustix::fs::{AtFlags, Dir, Mode, mkdirat, unlinkat};
use rustix::io::Errno;

use crate::data_path::DataPath;
use crate::file_kind::FileKind;
use crate::path_walk::{check_entry_name, kind_at, open_below, open_subdirectory};
use crate::tuning::MAX_DEPTH;

/// Entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// Path of the entry.
    pub path: DataPath,
    /// Kind of the entry itself; links are not followed.
    pub kind: FileKind,
}

impl DataPath {
    /// The entries of the directory, sorted by name; none if the directory does not exist.
    ///
    /// # Errors
    /// If the directory cannot be read, or the path is not a directory.
    pub fn entries(&self) -> io::Result<Vec<DirectoryEntry>> {
        let directory = match self.open_directory() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            directory => directory?,
        };
        let entries = read_names(&directory)?
            .into_iter()
            .map(|(name, kind)| DirectoryEntry { path: self.join(name), kind });
        let mut entries: Vec<DirectoryEntry> = entries.collect();
        entries.sort_unstable();
        Ok(entries)
    }

    /// Makes the directory and its missing parents.
    ///
    /// # Errors
    /// If the system refuses, or the path is something else.
    pub fn create_dir_all(&self) -> io::Result<()> {
        self.create_dir_all_as(0o777)
    }

    /// Makes the directory and its missing parents with the mode `mode`, less the process's umask.
    ///
    /// # Errors
    /// If the system refuses, or the path is something else.
    pub fn create_dir_all_as(&self, mode: u32) -> io::Result<()> {
        let (trusted, names) = self.split_trusted();
        // The part that the user named is made in the usual way, links followed.
        std::fs::DirBuilder::new().recursive(true).mode(mode).create(trusted)?;
        let mut directory = open_below(trusted, &[])?;
        for name in &names {
            let name = check_entry_name(name)?;
            directory = match open_subdirectory(&directory, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match mkdirat(&directory, name, Mode::from_raw_mode(mode)) {
                        Ok(()) | Err(Errno::EXIST) => open_subdirectory(&directory, name)?,
                        Err(error) => return Err(error.into()),
                    }
                }
                stepped => stepped?,
            };
        }
        Ok(())
    }

    /// Removes the directory with its contents, or the link at this path.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove_dir_all(&self) -> io::Result<()> {
        let place = self.locate_entry()?;
        remove_tree(&place.directory, &place.name, 0)
    }
}

/// The names in a directory, with the kind of each.
pub(crate) fn read_names(directory: &OwnedFd) -> io::Result<Vec<(OsString, FileKind)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        // A file that was removed meanwhile is skipped.
        let kind = FileKind::from_entry_type(entry.file_type());
        if let Some(kind) = kind.or_else(|| kind_at(directory, name).ok()) {
            found.push((name.to_owned(), kind));
        }
    }
    Ok(found)
}

/// Removes the file or the directory with its contents that the directory `above` has under `name`.
/// `depth` is the number of directories above it that are being removed.
fn remove_tree(above: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
    match kind_at(above, name)? {
        FileKind::Directory if depth < MAX_DEPTH => {
            let directory = open_subdirectory(above, name)?;
            for (name, _) in read_names(&directory)? {
                match remove_tree(&directory, &name, depth + 1) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(unlinkat(above, name, AtFlags::REMOVEDIR)?)
        }
        FileKind::Directory => Err(io::Error::other("directories are nested too deeply")),
        _ => Ok(unlinkat(above, name, AtFlags::empty())?),
    }
}
