//! Files that hold a private key: readable only for the owner, never overwritten by accident, and
//! never half written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use message_trace::PathError;

use super::KeyError;
use crate::tuning::MAX_KEY_FILE_BYTES;

/// Creates the directory of an authority, accessible only for its owner.
pub(super) fn make_directory(path: &Path) -> Result<(), KeyError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| PathError::io(path, error).into())
}

/// Writes a file that only its owner can read. An existing file is replaced only with `replace`,
/// whole or not at all.
pub(super) fn write_private(path: &Path, text: &str, replace: bool) -> Result<(), KeyError> {
    write_as(path, text, replace, 0o600)
}

/// Writes a file without secrets, whole or not at all.
pub(super) fn write_public(path: &Path, text: &str) -> Result<(), KeyError> {
    write_as(path, text, true, 0o644)
}

/// Writes a file with the permissions `mode`. An existing file is an error unless `replace` is set.
fn write_as(path: &Path, text: &str, replace: bool, mode: u32) -> Result<(), KeyError> {
    let at = if replace { replacement_path(path) } else { path.to_owned() };
    let file = |error| PathError::io(&at, error);
    // `create_new` does not follow a planted link, and the file has its mode from the first moment.
    let mut target = match OpenOptions::new().write(true).create_new(true).mode(mode).open(&at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(KeyError::Exists(at));
        }
        result => result.map_err(file)?,
    };
    let mut written = target.write_all(text.as_bytes()).and_then(|()| target.sync_all());
    if replace {
        written = written.and_then(|()| fs::rename(&at, path));
    }
    if written.is_err() {
        let _ = fs::remove_file(&at);
    }
    Ok(written.map_err(file)?)
}

/// Path at which the replacement of `path` is written.
fn replacement_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

/// Reads a key file; it is refused if others could have read it, too.
///
/// The rule is PostgreSQL's: only the user may read the user's own file. A file of root's may be
/// readable to a group, since root chooses its members; services (and systemd's credentials) get
/// keys in this way.
pub(super) fn read_private(path: &Path) -> Result<String, KeyError> {
    let file = |error| PathError::io(path, error);
    let opened = File::open(path).map_err(file)?;
    let metadata = opened.metadata().map_err(file)?;
    let user = rustix::process::geteuid();
    let of_root = metadata.uid() == 0 && !user.is_root();
    if metadata.mode() & forbidden_mode(of_root) != 0 {
        return Err(KeyError::Readable { path: path.to_owned(), mode: metadata.mode() & 0o7777 });
    }
    let mut text = String::new();
    opened.take(MAX_KEY_FILE_BYTES).read_to_string(&mut text).map_err(file)?;
    Ok(text)
}

/// The permissions that a key file may not have.
fn forbidden_mode(of_root: bool) -> u32 {
    if of_root { 0o037 } else { 0o077 }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_the_owner_can_read_a_written_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/er");
        make_directory(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let key = path.join("key.pem");
        write_private(&key, "one", false).unwrap();
        assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
        assert!(matches!(write_private(&key, "two", false), Err(KeyError::Exists(_))));
        assert_eq!(read_private(&key).unwrap(), "one");
        write_private(&key, "three", true).unwrap();
        assert_eq!(read_private(&key).unwrap(), "three");
        assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (link, far) = (directory.path().join("link"), directory.path().join("far"));
        symlink(&far, &link).unwrap();
        assert!(matches!(write_private(&link, "secret", false), Err(KeyError::Exists(_))));
        write_private(&link, "secret", true).unwrap();
        assert!(!far.exists() && fs::symlink_metadata(&link).unwrap().is_file());
    }

    #[test]
    fn files_that_others_can_read_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key.pem");
        write_private(&key, "secret", false).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610] {
            fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
            let error = read_private(&key).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && error.contains(&format!("{mode:o}")), "{error}");
        }
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read_private(&key).unwrap(), "secret");
    }

    #[test]
    fn a_group_may_read_a_file_of_root() {
        assert_eq!((0o440 & forbidden_mode(true), 0o640 & forbidden_mode(true)), (0, 0));
        for mode in [0o660, 0o644, 0o641, 0o650] {
            assert_ne!(mode & forbidden_mode(true), 0, "{mode:o}");
        }
    }
}
