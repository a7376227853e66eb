//! Redirect: a private file of this user that leads the browser to the page. Every user of the
//! machine can read in `/proc` the arguments of programs. So the browser is started with the name
//! of this file, and only the file has the address with the token.

use std::env;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::places;

/// Name of the file. Its extension makes desktops open it in a browser.
const FILE_NAME: &str = "open.html";

/// The file, until this is dropped.
pub(super) struct BrowserRedirect {
    /// Directory of the file, which only this user may enter.
    directory: TempDir,
}

impl BrowserRedirect {
    /// A file that leads to `url`, which contains no characters that are special in HTML.
    ///
    /// # Errors
    /// When there is no place for the file.
    pub(super) fn new(url: &str) -> io::Result<BrowserRedirect> {
        let user = rustix::process::geteuid().as_raw();
        let own = own_directories().filter(|directory| belongs_to(directory, user));
        let mut made = Err(io::ErrorKind::NotFound.into());
        for directory in own.chain([env::temp_dir()]) {
            made = BrowserRedirect::new_below(&directory, url);
            if made.is_ok() {
                break;
            }
        }
        made
    }

    /// Writes the page that redirects the browser in a new directory below `directory`.
    fn new_below(directory: &Path, url: &str) -> io::Result<BrowserRedirect> {
        let mut private = tempfile::Builder::new();
        private.prefix("sockcap-").permissions(Permissions::from_mode(0o700));
        let redirect = BrowserRedirect { directory: private.tempdir_in(directory)? };
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        options.open(redirect.path())?.write_all(redirect_html(url).as_bytes())?;
        Ok(redirect)
    }

    /// Path of the file.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join(FILE_NAME)
    }
}

/// Directories of the user for temporary files. Sandboxed browsers have a private temporary
/// directory, and some of them can see these.
fn own_directories() -> impl Iterator<Item = PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|directory| directory.is_absolute());
    runtime.into_iter().chain(places::user_folder("XDG_DATA_HOME", ".local/share"))
}

/// Whether `directory` belongs to `user` and is one in which no other user can replace files.
/// `sudo` may leave the variables with the values of another user.
fn belongs_to(directory: &Path, user: u32) -> bool {
    fs::metadata(directory)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0)
}

fn redirect_html(url: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" \
         content=\"no-referrer\">\n<meta http-equiv=\"refresh\" content=\"0; \
         url={url}\">\n<title>sockcap view</title>\n<p><a href=\"{url}\" \
         rel=\"noreferrer\">Continue to the page of sockcap view</a></p>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_writable_by_others_are_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let user = directory.path().metadata().unwrap().uid();
        for (mode, is_place) in [(0o700, true), (0o755, true), (0o770, false), (0o1777, false)] {
            fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(belongs_to(directory.path(), user), is_place, "{mode:o}");
            assert!(!belongs_to(directory.path(), user + 1), "{mode:o}");
        }
        fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(!belongs_to(&file, user) && !belongs_to(&directory.path().join("none"), user));
    }

    #[test]
    fn only_its_user_can_read_it_while_it_exists() {
        let directory = tempfile::tempdir().unwrap();
        let url = "http://127.0.0.1:9714/?token=12ab";
        let redirect = BrowserRedirect::new_below(directory.path(), url).unwrap();
        let path = redirect.path();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_to_string(&path).unwrap().matches(url).count(), 2);
        drop(redirect);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
