//! Folders of the logs, made before the recording: processes with fewer rights than the recorder
//! could not make them.
//!
//! A recorder with rights lets processes of all users make logs in the folder of the host
//! ([`SHARED_MODE`]), and nowhere else: they can neither list it nor remove files of others, and
//! cannot make folders of other hosts. Without such rights, only the recorder's own user has
//! access.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fchmod, fstat, mkdirat, open, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Permissions of a host's folder with logs of several users: all users may make logs, but only the
/// folder's owner lists it, and no user removes a log of another.
const SHARED_MODE: Mode = Mode::from_raw_mode(0o1733);

/// Permissions of a host's folder with logs of one user.
const PRIVATE_MODE: Mode = Mode::from_raw_mode(0o750);

/// Permissions of the folder of all hosts.
const HOSTS_MODE: Mode = Mode::from_raw_mode(0o755);

/// Permissions for all users of folders made by earlier versions.
const FORMER_MODE: u32 = 0o1777;

/// Makes the folder of `host` in the data directory, if it is missing. No link is followed below
/// the data directory.
///
/// # Errors
/// When the system refuses, or there is a link.
pub(super) fn make_host_folder(directory: &Path, host: &str) -> io::Result<()> {
    let data = open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let is_root = geteuid().is_root();
    let hosts = make_folder(&data, "hosts", HOSTS_MODE, is_root)?;
    let folder = make_folder(
        &hosts,
        &folder_name(host),
        if is_root { SHARED_MODE } else { PRIVATE_MODE },
        is_root,
    )?;
    let (owner, of_folder) = (fstat(&data)?.st_uid, fstat(&folder)?);
    let lacks = SHARED_MODE.as_raw_mode() & !of_folder.st_mode;
    if is_root && lacks != 0 && of_folder.st_uid == owner {
        // The folder belongs to the owner of the data directory, who recorded alone before and
        // could put anything there.
        fchmod(
            &folder,
            Mode::from_raw_mode(of_folder.st_mode & 0o7777 | SHARED_MODE.as_raw_mode()),
        )?;
    }
    Ok(())
}

/// Path of a host's folder.
pub(super) fn host_folder(directory: &Path, host: &str) -> PathBuf {
    directory.join("hosts").join(folder_name(host))
}

/// Name of a host's folder, as the library names it.
pub(super) fn folder_name(host: &str) -> String {
    match host.replace('/', "_") {
        name if name == "." || name == ".." => "_".to_owned(),
        name => name,
    }
}

/// Makes the folder `name` if it is missing, and opens it. If `is_exact`, its permissions are
/// exactly `mode` whatever the umask, also if an earlier version made it with other ones.
fn make_folder(parent: impl AsFd, name: &str, mode: Mode, is_exact: bool) -> io::Result<OwnedFd> {
    let is_new = match mkdirat(&parent, name, mode) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(error.into()),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(&parent, name, flags, Mode::empty()) {
        // A folder of another user that cannot be listed; files can still be made in it.
        Err(Errno::ACCESS) => {
            return Ok(openat(&parent, name, flags | OFlags::PATH, Mode::empty())?);
        }
        folder => folder?,
    };
    let status = fstat(&folder)?;
    let is_of_before =
        status.st_mode & 0o7777 == FORMER_MODE && status.st_uid == geteuid().as_raw();
    if is_new && is_exact || is_of_before {
        fchmod(&folder, mode)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn only_the_folder_of_the_host_accepts_files_of_others() {
        let place = tempfile::tempdir().unwrap();
        make_host_folder(place.path(), "a/b").unwrap();
        let (hosts, host) = (place.path().join("hosts"), place.path().join("hosts/a_b"));
        let expected = if geteuid().is_root() { (0o755, 0o1733) } else { (0o755, 0o750) };
        assert_eq!((mode_of(&hosts), mode_of(&host)), expected);
        // Directories as earlier versions made them.
        for path in [&hosts, &host] {
            fs::set_permissions(path, Permissions::from_mode(FORMER_MODE)).unwrap();
        }
        make_host_folder(place.path(), "a/b").unwrap();
        assert_eq!((mode_of(&hosts), mode_of(&host)), expected);
    }

    #[test]
    fn no_folder_is_made_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), place.path().join("hosts")).unwrap();
        assert!(make_host_folder(place.path(), "a").is_err());
        fs::remove_file(place.path().join("hosts")).unwrap();
        fs::create_dir(place.path().join("hosts")).unwrap();
        symlink(elsewhere.path(), place.path().join("hosts/a")).unwrap();
        assert!(make_host_folder(place.path(), "a").is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
