//! Links and special files below a data directory are never followed, waited for or changed.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use data_files::{DataPath, FileKind, LinkError};
use tempfile::TempDir;

/// A data directory, and a secret outside it.
fn place() -> (TempDir, DataPath) {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("data/hosts/web1")).unwrap();
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    fs::write(place.path().join("elsewhere/secret"), "secret").unwrap();
    let data = DataPath::trusted(place.path().join("data"));
    (place, data)
}

fn fifo(path: &Path) {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path is a string that ends with zero.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
}

/// Whether every way to open the file is refused because of the file's kind.
fn is_refused(path: &DataPath) -> bool {
    [path.open(), path.open_to_write(), path.open_to_append(0o600), path.open_or_make(0o600)]
        .into_iter()
        .all(|opened| LinkError::is_link_error(&opened.unwrap_err()))
        && path.read().is_err()
}

#[test]
fn a_link_is_refused_at_every_step() {
    let (place, data) = place();
    let secret = place.path().join("elsewhere/secret");
    symlink(&secret, place.path().join("data/hosts/web1/1-2.sclog")).unwrap();
    symlink(place.path().join("elsewhere"), place.path().join("data/hosts/evil")).unwrap();
    assert!(is_refused(&data.join("hosts/web1/1-2.sclog")));
    assert!(is_refused(&data.join("hosts/evil/secret")));
    assert!(data.join("hosts/evil/new").create().is_err());
    assert!(data.join("hosts/evil/new").create_dir_all().is_err());
    assert!(data.join("hosts/evil").entries().is_err());
    assert!(data.join("hosts/evil/secret").remove_file().is_err());
    assert!(data.join("hosts/web1/x").rename_to(&data.join("hosts/evil/x")).is_err());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::read_dir(place.path().join("elsewhere")).unwrap().count(), 1);
    let why = data.join("hosts/evil/secret").open().unwrap_err().to_string();
    assert!(why.starts_with("evil is a symbolic link"), "{why}");
}

#[test]
fn the_users_path_may_be_a_link() {
    let (place, _) = place();
    symlink(place.path().join("data"), place.path().join("link")).unwrap();
    fs::write(place.path().join("data/hosts/web1/1-2.sclog"), "log").unwrap();
    let data = DataPath::trusted(place.path().join("link"));
    assert_eq!(data.join("hosts/web1/1-2.sclog").read().unwrap(), b"log");
    assert!(data.is_dir());
    symlink(place.path().join("elsewhere/secret"), place.path().join("named")).unwrap();
    assert_eq!(DataPath::from(place.path().join("named")).read().unwrap(), b"secret");
}

#[test]
fn a_fifo_is_refused_and_never_waited_for() {
    let (place, data) = place();
    fifo(&place.path().join("data/hosts/web1/1-2.sclog"));
    fifo(&place.path().join("data/hosts/web2"));
    let path = data.join("hosts/web1/1-2.sclog");
    assert!(is_refused(&path));
    assert_eq!(path.file_kind(), Some(FileKind::Special));
    assert!(data.join("hosts/web2/x").open().is_err());
    assert!(data.join("hosts/web2").entries().is_err());
}

#[test]
fn a_directory_or_socket_is_no_file() {
    let (place, data) = place();
    fs::create_dir(place.path().join("data/hosts/web1/1-2.sclog")).unwrap();
    assert!(is_refused(&data.join("hosts/web1/1-2.sclog")));
    assert!(data.join("hosts/web1/1-2.sclog").create().is_err());
    let _listener =
        std::os::unix::net::UnixListener::bind(place.path().join("data/hosts/web1/s")).unwrap();
    assert!(is_refused(&data.join("hosts/web1/s")));
}

#[test]
fn a_file_with_other_hard_links_is_read_and_not_changed() {
    let (place, data) = place();
    let path = data.join("hosts/web1/1-2.sclog");
    fs::hard_link(place.path().join("elsewhere/secret"), &path).unwrap();
    assert_eq!(path.read().unwrap(), b"secret");
    for opened in [path.open_to_write(), path.open_to_append(0o600), path.open_or_make(0o600)] {
        assert!(LinkError::is_link_error(&opened.unwrap_err()));
    }
}

#[test]
fn a_new_file_replaces_a_link_and_has_an_unpredictable_name() {
    let (place, data) = place();
    let path = data.join("messages.parquet");
    let secret = place.path().join("elsewhere/secret");
    symlink(&secret, &path).unwrap();
    symlink(&secret, place.path().join("data/messages.parquet.unfinished")).unwrap();
    let mut names = Vec::new();
    for _ in 0..2 {
        let mut new = path.create_as(0o640).unwrap();
        new.write_all(b"table").unwrap();
        let there = data.entries().unwrap();
        let unfinished = there.iter().map(|entry| entry.path.file_name().unwrap().to_owned());
        names.extend(unfinished.filter(|name| name.to_str().unwrap().contains(".unfinished-")));
        new.commit().unwrap();
    }
    assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
    assert_eq!(path.read().unwrap(), b"table");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777 & !0o640, 0);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    // A dropped new file leaves nothing, and the old file stays.
    drop(path.create().unwrap());
    assert_eq!(path.read().unwrap(), b"table");
    assert_eq!(data.entries().unwrap().len(), 3);
}

#[test]
fn entries_describe_links_themselves() {
    let (place, data) = place();
    fs::write(place.path().join("data/hosts/web1/a"), "").unwrap();
    symlink("a", place.path().join("data/hosts/web1/b")).unwrap();
    fifo(&place.path().join("data/hosts/web1/c"));
    fs::create_dir(place.path().join("data/hosts/web1/d")).unwrap();
    let entries = data.join("hosts/web1").entries().unwrap();
    let kinds: Vec<FileKind> = entries.iter().map(|entry| entry.kind).collect();
    let expected = [FileKind::Regular, FileKind::Link, FileKind::Special, FileKind::Directory];
    assert_eq!(kinds, expected);
    assert!(entries[0].path.is_file() && !entries[1].path.is_file() && entries[1].path.exists());
    assert_eq!(data.join("none").entries().unwrap(), []);
}

#[test]
fn removing_a_directory_keeps_the_targets_of_its_links() {
    let (place, data) = place();
    symlink(place.path().join("elsewhere"), place.path().join("data/hosts/web1/x")).unwrap();
    fs::write(place.path().join("data/hosts/web1/y"), "").unwrap();
    symlink(place.path().join("elsewhere"), place.path().join("data/imports")).unwrap();
    data.join("hosts").remove_dir_all().unwrap();
    assert!(!data.join("hosts").exists());
    data.join("imports").remove_dir_all().unwrap();
    assert!(!data.join("imports").exists());
    assert_eq!(fs::read_dir(place.path().join("elsewhere")).unwrap().count(), 1);
}

#[test]
fn directories_are_made_below_and_never_through_links() {
    let (place, data) = place();
    data.join("a/b/c").create_dir_all_as(0o700).unwrap();
    assert_eq!(fs::metadata(place.path().join("data/a/b")).unwrap().mode() & 0o777, 0o700);
    symlink(place.path().join("elsewhere"), place.path().join("data/events")).unwrap();
    assert!(LinkError::is_link_error(&data.join("events/x").create_dir_all().unwrap_err()));
    assert!(data.join("../x").create_dir_all().is_err());
    assert!(!place.path().join("x").exists());
    DataPath::trusted(place.path().join("new/data")).create_dir_all().unwrap();
    assert!(place.path().join("new/data").is_dir());
}

#[test]
fn only_unfinished_files_of_killed_commands_are_removed() {
    let (place, data) = place();
    let stale = "x.unfinished-0123456789abcdef";
    fs::write(place.path().join("data").join(stale), "").unwrap();
    fs::write(place.path().join("data/x.unfinished-mine"), "").unwrap();
    let secret = place.path().join("elsewhere/secret");
    symlink(&secret, place.path().join("data/y.unfinished-0123456789abcdef")).unwrap();
    let written = data.join("z").create().unwrap();
    data.remove_unfinished(Some("other".as_ref()));
    assert!(data.join(stale).exists());
    data.remove_unfinished(None);
    assert!(!data.join(stale).exists());
    assert!(data.join("x.unfinished-mine").exists());
    assert!(data.join("y.unfinished-0123456789abcdef").exists());
    written.commit().unwrap();
    assert!(data.join("z").is_file());
}

#[test]
fn a_directory_without_read_permission_is_passed() {
    let (place, data) = place();
    fs::write(place.path().join("data/hosts/web1/a"), "log").unwrap();
    let hosts = place.path().join("data/hosts");
    fs::set_permissions(&hosts, fs::Permissions::from_mode(0o311)).unwrap();
    assert_eq!(data.join("hosts/web1/a").read().unwrap(), b"log");
    fs::set_permissions(&hosts, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_temporary_file_has_no_name() {
    let (place, data) = place();
    data.temporary_file().unwrap().write_all(b"some").unwrap();
    assert_eq!(data.entries().unwrap().len(), 1);
    symlink(place.path().join("elsewhere"), place.path().join("data/events")).unwrap();
    assert!(data.join("events").temporary_file().is_err());
}
