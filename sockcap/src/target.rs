//! Target of a result: a file that the user named, or standard output.
//!
//! A file is written completely or not at all: first under another name next to it, which is
//! renamed when everything is on the disk. A target that is not a regular file (a pipe, a terminal)
//! is written to directly.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use message_trace::{DataPath, NewFile};

use crate::error::CommandError;

/// The destination of a result. It is tried out before the work, so that a wrong name is reported
/// immediately.
pub(crate) struct ResultTarget {
    name: PathBuf,
    to: TargetKind,
}

enum TargetKind {
    Standard,
    /// A separate file, written completely or not at all.
    New(NewFile),
    /// Not a regular file.
    Direct(File),
    /// A regular file that cannot be replaced by another. It is truncated when its new content is
    /// written.
    InPlace(File),
}

impl ResultTarget {
    /// The file at `path`, or standard output.
    ///
    /// # Errors
    /// When nothing can be written at `path`.
    pub(crate) fn try_out(path: Option<&Path>) -> Result<ResultTarget, CommandError> {
        let Some(path) = path else {
            return Ok(ResultTarget {
                name: PathBuf::from("standard output"),
                to: TargetKind::Standard,
            });
        };
        let to = try_target(path).map_err(|source| CommandError::file_error(path, source))?;
        Ok(ResultTarget { name: path.to_owned(), to })
    }

    /// The file at a path below a data directory, without following links.
    ///
    /// # Errors
    /// When nothing can be written at `path`.
    pub(crate) fn below_path(path: &DataPath) -> Result<ResultTarget, CommandError> {
        let new =
            path.create().map_err(|source| CommandError::file_error(path.as_path(), source))?;
        Ok(ResultTarget { name: path.to_path_buf(), to: TargetKind::New(new) })
    }

    /// Path of the result, for errors.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// An error of writing to it.
    pub(crate) fn write_error(&self, source: io::Error) -> CommandError {
        match self.to {
            // A reader that closes the pipe (`| head`) is no error, and is recognised by the
            // error's kind.
            TargetKind::Standard => source.into(),
            _ => CommandError::file_error(&self.name, source),
        }
    }

    /// Removes the former content of a file that is written in place.
    fn truncate_content(&mut self) -> io::Result<()> {
        if let TargetKind::InPlace(file) = &self.to {
            file.set_len(0)?;
            self.to = TargetKind::Direct(file.try_clone()?);
        }
        Ok(())
    }

    /// Ends the result and gives the file its name.
    ///
    /// # Errors
    /// When the result cannot be written completely; the file is unchanged then.
    pub(crate) fn finish_target(mut self) -> Result<(), CommandError> {
        let flushed = self.truncate_content().and_then(|()| self.flush());
        flushed.map_err(|source| self.write_error(source))?;
        match self.to {
            TargetKind::New(new) => {
                new.commit_durably().map_err(|source| CommandError::file_error(&self.name, source))
            }
            _ => Ok(()),
        }
    }
}

/// Opens or creates the file at `path` in the way in which it can be written.
fn try_target(path: &Path) -> io::Result<TargetKind> {
    // Opened first, so that the kernel's rules apply to links that another user made in a directory
    // like /tmp.
    let there = match File::options().write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                // A dangling link: the file is made at its target, as by any tool.
                Ok(_) => {
                    let made = File::options().write(true).create(true).truncate(false).open(path);
                    Ok(TargetKind::InPlace(made?))
                }
                Err(_) => {
                    let path = DataPath::trusted(path);
                    // Removes what an earlier run left when a signal ended it.
                    path.parent().remove_unfinished(path.file_name());
                    Ok(TargetKind::New(path.create()?))
                }
            };
        }
        Err(error) => return Err(error),
    };
    let about = there.metadata()?;
    if !about.is_file() {
        return Ok(TargetKind::Direct(there));
    }
    Ok(replacement_file(path, &about).map_or(TargetKind::InPlace(there), TargetKind::New))
}

/// A new file that will replace the open one. `None` if the open file has other names, or is one
/// that other processes have open as the standard output of a shell (`-o /dev/stdout`), or is in a
/// directory that is not writable: the open file is then written in place.
fn replacement_file(path: &Path, about: &fs::Metadata) -> Option<NewFile> {
    let real = fs::canonicalize(path).ok()?;
    let is_same = |other: fs::Metadata| (other.dev(), other.ino()) == (about.dev(), about.ino());
    let is_named_itself = path.parent().is_none_or(|parent| !is_descriptor_directory(parent));
    if about.nlink() != 1 || !is_named_itself || !fs::symlink_metadata(&real).is_ok_and(is_same) {
        return None;
    }
    let real = DataPath::trusted(real);
    real.parent().remove_unfinished(real.file_name());
    let new = real.create().ok()?;
    // Users who could read and write the former file can read and write the new one; no other
    // permissions are copied.
    let mode = Permissions::from_mode(about.permissions().mode() & 0o777);
    if about.uid() != rustix::process::geteuid().as_raw() {
        fchown(new.file(), Some(about.uid()), Some(about.gid())).ok()?;
    }
    new.file().set_permissions(mode).ok()?;
    Some(new)
}

/// Whether the entries of a directory are descriptors of processes: `/dev/stdout` leads to one.
fn is_descriptor_directory(directory: &Path) -> bool {
    directory == Path::new("/dev")
        || ["/dev/fd", "/proc"].iter().any(|root| directory.starts_with(root))
}

impl Write for ResultTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.truncate_content()?;
        match &mut self.to {
            TargetKind::Standard => io::stdout().write(bytes),
            TargetKind::New(file) => file.write(bytes),
            TargetKind::Direct(file) | TargetKind::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            TargetKind::Standard => io::stdout().flush(),
            TargetKind::New(file) => file.flush(),
            TargetKind::Direct(file) | TargetKind::InPlace(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_target_keeps_its_content_until_the_result_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        fs::write(&old, "former").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o604)).unwrap();
        for path in [&old, &new] {
            let mut given_up = ResultTarget::try_out(Some(path)).unwrap();
            given_up.write_all(b"half").unwrap();
        }
        assert_eq!(fs::read_to_string(&old).unwrap(), "former");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        for path in [&old, &new] {
            let mut target = ResultTarget::try_out(Some(path)).unwrap();
            target.write_all(b"whole").unwrap();
            target.finish_target().unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "whole");
        }
        assert_eq!(fs::metadata(&old).unwrap().permissions().mode() & 0o777, 0o604);
        assert!(ResultTarget::try_out(Some(&directory.path().join("no/such"))).is_err());
        assert!(ResultTarget::try_out(Some(directory.path())).is_err());
    }

    #[test]
    fn a_link_that_the_user_named_is_followed_and_one_in_a_data_directory_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let (far, link) = (directory.path().join("far"), directory.path().join("link"));
        fs::write(&far, "former").unwrap();
        symlink(&far, &link).unwrap();
        let write = |mut target: ResultTarget| {
            target.write_all(b"result").unwrap();
            target.finish_target().unwrap();
        };
        write(ResultTarget::below_path(&DataPath::trusted(directory.path()).join("link")).unwrap());
        assert_eq!(fs::read_to_string(&far).unwrap(), "former");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        fs::remove_file(&link).unwrap();
        symlink(&far, &link).unwrap();
        write(ResultTarget::try_out(Some(&link)).unwrap());
        assert_eq!(fs::read_to_string(&far).unwrap(), "result");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_file_with_other_names_or_of_another_user_is_written_in_place() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("one"), directory.path().join("other"));
        fs::write(&one, "former and longer").unwrap();
        fs::hard_link(&one, &other).unwrap();
        let mut target = ResultTarget::try_out(Some(&one)).unwrap();
        target.write_all(b"result").unwrap();
        target.finish_target().unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "result");
        // An empty result leaves nothing of the former one.
        ResultTarget::try_out(Some(&one)).unwrap().finish_target().unwrap();
        assert_eq!(fs::read_to_string(&one).unwrap(), "");
        let (far, link) = (directory.path().join("far"), directory.path().join("link"));
        symlink(&far, &link).unwrap();
        let mut target = ResultTarget::try_out(Some(&link)).unwrap();
        target.write_all(b"result").unwrap();
        target.finish_target().unwrap();
        assert_eq!(fs::read_to_string(&far).unwrap(), "result");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn irregular_files_are_written_directly() {
        let mut target = ResultTarget::try_out(Some(Path::new("/dev/null"))).unwrap();
        target.write_all(b"result").unwrap();
        target.finish_target().unwrap();
        let mut full = ResultTarget::try_out(Some(Path::new("/dev/full"))).unwrap();
        assert!(full.write_all(b"result").is_err());
    }
}
